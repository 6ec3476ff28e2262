"""Inquiry rows: what was asked, how it ended, who decided.

They are derived from the journal, except that the row of an open question is also what decides
who answers first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet
from django.utils import timezone

from jpweb.store import plain, rows
from jpweb.store.errors import AlreadySettled, UnknownInquiry
from jpweb.store.models import Conversation, Inquiry, JournalEntry, Membership, Run
from jpweb.store.terms import Role, RunState
from jpweb.stream import timestamps, wire
from jpweb.stream.answers import Boolean
from jpweb.stream.events import ConversationEvent, ToolCallRequest
from jpweb.stream.inquiry import (
    Answered,
    AnswerReusePolicy,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
)
from jpweb.stream.outline import Inquiry as Outlined
from jpweb.stream.outline import Outline, ToolCall

OPEN = "open"
#: Every state a row can have, in the order in which people list them.
STATES = ("open", "answered", "redacted", "cancelled", "unanswered")

#: The columns of a derived row; the first two are its key.
DERIVED = (
    "conversation_id", "anchor", "position", "response_position", "inquiry_id", "source", "asker",
    "label", "question", "answer_type", "state", "reason", "answer", "decided_by", "decider_name",
    "asked_at", "settled_at",
)  # fmt: skip
_DOCUMENTS = ("question", "answer")
_MOMENTS = ("asked_at", "settled_at")
_UNSETTLED: dict[str, Any] = {
    "response_position": None, "reason": "", "answer": None, "decided_by": "", "decider_name": "",
    "settled_at": None,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decider:
    """Who or what made a decision. ``kind``: person, configuration, memory, assistant, system."""

    kind: str
    name: str = ""
    person_id: int | None = None

    def note(self, *, remember: bool = False) -> dict[str, Any]:
        """Return what is written to ``metadata.jpweb`` of the response."""
        by: dict[str, Any] = {"kind": self.kind}
        if self.name:
            by["name"] = self.name
        if self.person_id is not None:
            by["id"] = self.person_id
        return {"jpweb": {"by": by} | ({"remember": True} if remember else {})}


def get(inquiry_id: int) -> Inquiry:
    """Return a row with its conversation. Raises UnknownInquiry."""
    found = Inquiry.objects.select_related("conversation__workspace", "run", "decider")
    row = found.filter(pk=inquiry_id).first()
    if row is None:
        raise UnknownInquiry("There is no such question.")
    return row


def by_stream_id(conversation_id: int, inquiry_id: str) -> Inquiry:
    """Return the newest row of a conversation with this inquiry id. Raises UnknownInquiry."""
    found = Inquiry.objects.filter(
        conversation_id=conversation_id, inquiry_id=plain.text(inquiry_id)
    )
    row = found.select_related("conversation").order_by("-position").first()
    if row is None:
        raise UnknownInquiry("There is no such question.")
    return row


def waiting(person_id: int) -> QuerySet[Inquiry]:
    """Return the questions that a run holds open and that this person may answer, oldest first."""
    return (
        _answerable(person_id)
        .filter(state=OPEN, run__state=RunState.RUNNING)
        .order_by("asked_at", "id")
    )


def closed_unasked(person_id: int, limit: int = 20) -> list[Inquiry]:
    """Return the newest questions that ended without anybody deciding."""
    ended = _answerable(person_id).filter(run__isnull=False, reason__in=("lost", "expired"))
    return list(ended.order_by("-settled_at", "-id")[:limit])


def decided_by(person_id: int, limit: int = 20) -> list[Inquiry]:
    """Return the newest questions that this person answered or declined."""
    mine = _answerable(person_id).filter(decider_id=person_id)
    return list(mine.order_by("-settled_at", "-id")[:limit])


def counts(conversation_ids: Iterable[int]) -> dict[int, dict[str, int]]:
    """Return the inquiries by state, a conversation each; one query."""
    every = Inquiry.objects.filter(conversation_id__in=list(conversation_ids))
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for row in every.values("conversation_id", "state").annotate(n=Count("id")):
        found[row["conversation_id"]][row["state"]] = row["n"]
    return found


def open_row(
    entry: JournalEntry, event: ConversationEvent, asked: InquiryRequest, run: Run | None
) -> Inquiry:
    """Insert the row of a question that jpweb asks."""
    note = _note(event)
    row = Inquiry(
        conversation_id=entry.conversation_id,
        run=run,
        anchor=entry.anchor,
        position=entry.position,
        label=plain.text(str(note.get("label") or ""))[:200],
        state=OPEN,
        asked_at=_at(event),
        asker=plain.text(_asking_tool(entry, note) or asked.source.name or asked.source.tag)[:200],
        **_asked_values(asked),
    )
    row.save(force_insert=True)
    return row


def settle_row(entry: JournalEntry, event: ConversationEvent, given: InquiryResponse) -> None:
    """Settle the oldest open row of this inquiry id by compare-and-set. Raises AlreadySettled."""
    own = Inquiry.objects.filter(
        conversation_id=entry.conversation_id, inquiry_id=plain.text(given.id)
    )
    target = own.filter(state=OPEN).order_by("position").values_list("pk", flat=True).first()
    values = _settled_values(event, given, entry.position, trusted=True)
    if target is None or not own.filter(pk=target, state=OPEN).update(**values):
        first = own.order_by("-position").select_related("decider").first()
        if first is None:
            raise UnknownInquiry(f"No question has the id {given.id}.")
        raise AlreadySettled(first)


def derive(conversation: Conversation, outline: Outline, *, fresh: bool = False) -> Counter[str]:
    """Make the rows of a mirrored conversation follow its stream; returns them by state.

    A row keeps its key while its question keeps its anchor. A ``fresh`` conversation has no rows.
    """
    found = [_derived(conversation.pk, each, call) for each, call in outline.inquiries()]
    if not fresh:
        known = Inquiry.objects.filter(conversation=conversation)
        stale = set(known.values_list("anchor", flat=True)) - {row["anchor"] for row in found}
        for anchor in stale:
            known.filter(anchor=anchor).delete()
    rows.upsert(Inquiry.TABLE, DERIVED, [_row(values) for values in found], DERIVED[:2])
    return Counter(row["state"] for row in found)


def waiting_time(row: Inquiry) -> float | None:
    """Return the seconds between question and outcome, or None."""
    if row.settled_at is None:
        return None
    return max((row.settled_at - row.asked_at).total_seconds(), 0.0)


def may_be_remembered(row: Inquiry) -> bool:
    """Tell whether a person may let an answer count for the rest of the turn.

    As in JP's terminal (y, Y, n, N) that is said of booleans alone.
    """
    policy = row.question.get("persistence", AnswerReusePolicy.TURN)
    return row.answer_type == Boolean.TAG and policy == AnswerReusePolicy.TURN


def remembered(row: Inquiry) -> bool:
    """Tell whether the person who answered let the answer count for the rest of the turn."""
    if row.response_position is None or not may_be_remembered(row):
        return False
    entries = JournalEntry.objects.filter(conversation_id=row.conversation_id)
    response = wire.read(entries.get(position=row.response_position).text)
    return _note(response.body).get("remember") is True


def _answerable(person_id: int) -> QuerySet[Inquiry]:
    workspaces = Membership.objects.filter(person_id=person_id, role__gte=Role.RESPONDER)
    return Inquiry.objects.filter(
        conversation__workspace__in=workspaces.values("workspace_id")
    ).select_related("conversation__workspace", "run", "decider")


def _derived(conversation_id: int, found: Outlined, call: ToolCall | None) -> dict[str, Any]:
    asked, event = found.asked, found.request.element.body
    source = asked.source.name or asked.source.tag.value
    values = {
        "conversation_id": conversation_id,
        "anchor": found.request.anchor,
        "position": found.request.position,
        "label": plain.text(str(_note(event).get("label") or ""))[:200],
        "state": found.state,
        "asked_at": _at(event),
        "asker": plain.text(call.call.name if call else source)[:200],
    }
    values |= _asked_values(asked) | _UNSETTLED
    if found.response is not None:
        body, given = found.response.element.body, found.response.element.kind
        if isinstance(body, ConversationEvent) and isinstance(given, InquiryResponse):
            values |= _settled_values(body, given, found.response.position, trusted=False)
    return values


def _row(values: dict[str, Any]) -> list[Any]:
    taken = values | {name: rows.document(values[name]) for name in _DOCUMENTS}
    taken |= {name: rows.moment(values[name]) for name in _MOMENTS}
    return [taken[name] for name in DERIVED]


def _asking_tool(entry: JournalEntry, note: dict[str, Any]) -> str:
    """Return the name of the tool whose call asks: the newest call of the noted id."""
    calls = JournalEntry.objects.filter(
        conversation_id=entry.conversation_id, kind=ToolCallRequest.TAG
    ).order_by("-position")
    for text in calls.values_list("text", flat=True).iterator(chunk_size=20):
        kind = wire.read(text).kind
        if isinstance(kind, ToolCallRequest) and kind.id == note.get("tool_call_id"):
            return kind.name
    return ""


def _asked_values(asked: InquiryRequest) -> dict[str, Any]:
    return {
        "inquiry_id": plain.text(asked.id),
        "source": asked.source.tag.value,
        "question": plain.deep(asked.question.to_fields()),
        "answer_type": asked.question.answer_type.TAG,
    }


def _settled_values(
    event: ConversationEvent, given: InquiryResponse, position: int, *, trusted: bool
) -> dict[str, Any]:
    """Return the columns of an outcome; a person's key is only believed in our own events."""
    by = _note(event).get("by")
    by = by if isinstance(by, dict) else {}
    outcome = given.outcome
    return {
        "state": outcome.TAG,
        "reason": plain.text(outcome.reason.tag)[:200] if isinstance(outcome, Cancelled) else "",
        "answer": plain.deep(outcome.answer) if isinstance(outcome, Answered) else None,
        "response_position": position,
        "settled_at": timestamps.parse(event.timestamp),
        "decided_by": plain.text(str(by.get("kind") or ""))[:20],
        "decider_name": plain.text(str(by.get("name") or ""))[:200],
        "decider_id": by.get("id") if trusted else None,
    }


def _note(event: Any) -> dict[str, Any]:
    note = event.metadata.get("jpweb") if isinstance(event, ConversationEvent) else None
    return note if isinstance(note, dict) else {}


def _at(event: Any) -> datetime:
    """Return when an event was; the wire lets no event through whose time cannot be read."""
    moment = timestamps.parse(event.timestamp) if isinstance(event, ConversationEvent) else None
    return moment or timezone.now()
