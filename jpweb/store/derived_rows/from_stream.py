"""Derives rows from a stream, as plain values: without a database, so usable in any process."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from jpweb.store import db_text
from jpweb.store.database import clock
from jpweb.stream import timestamps
from jpweb.stream.events import ConversationEvent, Element
from jpweb.stream.inquiry import Answered, Cancelled, InquiryRequest, InquiryResponse
from jpweb.stream.markdown import outcome_texts
from jpweb.stream.outline import Outline
from jpweb.stream.transcript.categories import categorize_element
from jpweb.stream.transcript.grouping import ElementGroups, group_elements
from jpweb.stream.transcript.items import InquiryPair, ToolCall
from jpweb.stream.wire.partial import PartialElement

#: A journal entry: text, kind, anchor, item position, category; its position is its index.
EntryColumns: TypeAlias = tuple[str, str, str, int, str]
#: A turn: the position of its first entry, and the beginning of the person's request.
TurnColumns: TypeAlias = tuple[int, str]
#: An inquiry, in the order of ``INQUIRY_COLUMNS``.
InquiryColumns: TypeAlias = tuple[Any, ...]

INQUIRY_COLUMNS = (
    "anchor", "position", "response_position", "inquiry_id", "source", "asker", "label", "question",
    "answer_type", "state", "reason", "answer", "note", "decided_by", "decider_name", "channel",
    "asked_at", "settled_at",
)  # fmt: skip
#: Characters of a person's note beside a decline; longer ones are cut.
MAX_NOTE_CHARS = 2000
_UNSETTLED_COLUMNS: dict[str, Any] = {
    "response_position": None, "reason": "", "answer": None, "note": "", "decided_by": "",
    "decider_name": "", "channel": "", "settled_at": None,
}  # fmt: skip


class StreamRows(msgspec.Struct, array_like=True, frozen=True):
    """The rows of a whole stream, except its inquiries."""

    entries: list[EntryColumns]
    turns: list[TurnColumns]


def derive_stream_rows(
    elements: Sequence[Element | PartialElement],
    anchors: Sequence[str],
    groups: ElementGroups | None = None,
) -> StreamRows:
    """Return the journal entries and the turns of a stream with these groups."""
    item_places = groups or group_elements(elements)
    kinds: dict[str, str] = {}
    entry_rows = []
    for element, anchor, item_position in zip(
        elements, anchors, item_places.item_positions, strict=True
    ):
        tag = element.tag
        kind = kinds.get(tag) or kinds.setdefault(tag, db_text.clean_text(tag)[:100])
        entry_rows.append((element.raw, kind, anchor, item_position, categorize_element(element)))
    return StreamRows(
        entry_rows, [(turn.position, db_text.clean_text(turn.title)) for turn in item_places.turns]
    )


def derive_inquiry_rows(outline: Outline) -> list[InquiryColumns]:
    """Return the inquiry rows of a stream; documents are JSON text, times are instants."""
    return [_make_inquiry_row(inquiry, call) for inquiry, call in outline.list_inquiries()]


def make_question_columns(request: InquiryRequest) -> dict[str, Any]:
    """Return the columns of a question."""
    return {
        "inquiry_id": db_text.clean_text(request.id),
        "source": request.source.tag.value,
        "question": db_text.clean_json(request.question.to_fields()),
        "answer_type": request.question.answer_type.TAG,
    }


def make_outcome_columns(
    event: ConversationEvent, response: InquiryResponse, position: int
) -> dict[str, Any]:
    """Return the columns of an outcome, but not the person's key, which a file could forge."""
    decider = event.note.get("by")
    decider = decider if isinstance(decider, dict) else {}
    outcome = response.outcome
    return {
        "state": outcome.TAG,
        "reason": db_text.clean_text(outcome.reason.tag)[:200]
        if isinstance(outcome, Cancelled)
        else "",
        "answer": db_text.clean_json(outcome.answer) if isinstance(outcome, Answered) else None,
        "note": get_note(event),
        "response_position": position,
        "settled_at": timestamps.parse_timestamp(event.timestamp),
        "decided_by": db_text.clean_text(str(decider.get("kind") or ""))[:20],
        "decider_name": db_text.clean_text(str(decider.get("name") or ""))[:200],
        "channel": db_text.clean_text(outcome_texts.read_channel(outcome, event.note))[:20],
    }


def get_label(event: ConversationEvent) -> str:
    """Return the prompt's label from the event's note."""
    return db_text.clean_text(str(event.note.get("label") or ""))[:200]


def get_note(event: ConversationEvent) -> str:
    """Return the person's note beside a decline from the response's own note."""
    return clean_note(str(event.note.get("note") or ""))


def clean_note(text: str) -> str:
    """Return the note beside a decline with normal line ends, cut to its maximum."""
    return db_text.clean_text(text.replace("\r\n", "\n")).strip()[:MAX_NOTE_CHARS]


def get_time(event: ConversationEvent) -> datetime:
    """Return the time of an event; the wire accepts no event whose time cannot be read."""
    return timestamps.parse_timestamp(event.timestamp) or clock.now()


def _make_inquiry_row(inquiry: InquiryPair, call: ToolCall | None) -> InquiryColumns:
    request = inquiry.inquiry_request
    (event,) = inquiry.request.element.events
    asker = call.call.name if call else request.source.name or request.source.tag.value
    values = make_question_columns(request) | _UNSETTLED_COLUMNS
    if inquiry.response is not None:
        (answer,) = inquiry.response.element.events
        if isinstance(answer.kind, InquiryResponse):
            values |= make_outcome_columns(answer, answer.kind, inquiry.response.position)
    values |= {
        "anchor": inquiry.request.anchor,
        "position": inquiry.request.position,
        "label": get_label(event),
        "state": inquiry.state,
        "asked_at": get_time(event),
        "asker": db_text.clean_text(asker)[:200],
        "question": encode_json(values["question"]),
        "answer": None if values["answer"] is None else encode_json(values["answer"]),
    }
    return tuple([values[name] for name in INQUIRY_COLUMNS])


def encode_json(value: Any) -> str:
    """Return the JSON text of a document in a column."""
    return msgspec.json.encode(value).decode()
