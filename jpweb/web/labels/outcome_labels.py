"""The outcome of an inquiry as pages show it: the answer, the decider and the duration."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from jpweb.store.derived_rows import from_stream
from jpweb.stream import durations
from jpweb.stream.answer_type import format_answer
from jpweb.stream.inquiry import Answered, Cancelled
from jpweb.stream.markdown import outcome_texts
from jpweb.stream.transcript.items import InquiryPair

#: Characters of a reason's or a decider's tag, and of a decider's name, as in rows of inquiries.
_MAX_TAG_CHARS, _MAX_NAME_CHARS = 200, 200


class OutcomeLabel(NamedTuple):
    """The texts of an inquiry's outcome; "" where the record has none.

    ``is_reply``: the note is the reply with which a person interrupted the turn. ``channel`` is
    the tag of the way of an answer, ``channel_text`` its words.
    """

    answer: str
    reason: str
    decider: str
    waited: str
    settled_at: datetime | None
    note: str
    is_remembered: bool
    channel: str
    channel_text: str
    is_reply: bool


def describe_outcome(inquiry: InquiryPair) -> OutcomeLabel:
    """Return the texts of an inquiry's outcome, all empty while it is open."""
    outcome = inquiry.outcome
    event_note = inquiry.response.note if inquiry.response else {}
    decider = event_note.get("by")
    decider = decider if isinstance(decider, dict) else {}
    asked_at, settled_at = inquiry.asked_at, inquiry.settled_at
    channel = outcome_texts.read_channel(outcome, event_note)
    waited_seconds = (settled_at - asked_at).total_seconds() if asked_at and settled_at else None
    return OutcomeLabel(
        answer=format_answer(outcome.answer) if isinstance(outcome, Answered) else "",
        reason=outcome.reason.tag[:_MAX_TAG_CHARS] if isinstance(outcome, Cancelled) else "",
        decider=outcome_texts.describe_decider(
            str(decider.get("kind") or "")[:_MAX_TAG_CHARS],
            str(decider.get("name") or "")[:_MAX_NAME_CHARS],
        )
        if decider
        else "",
        waited="" if waited_seconds is None else durations.format_duration(max(waited_seconds, 0)),
        settled_at=settled_at,
        note=from_stream.clean_note(str(event_note.get("note") or "")),
        is_remembered=event_note.get("remember") is True,
        channel=channel,
        channel_text=outcome_texts.ANSWER_CHANNELS.get(channel, ""),
        is_reply=channel == outcome_texts.REPLY_CHANNEL,
    )
