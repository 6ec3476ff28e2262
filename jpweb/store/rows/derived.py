"""What of a stream goes into rows, as plain values: knows no database, so any process can do it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from jpweb.store import plain
from jpweb.store.database import clock
from jpweb.stream import timestamps
from jpweb.stream.events import ConversationEvent, Element
from jpweb.stream.inquiry import Answered, Cancelled, InquiryRequest, InquiryResponse
from jpweb.stream.layout.facets import facet
from jpweb.stream.layout.items import Inquiry, ToolCall
from jpweb.stream.layout.places import places
from jpweb.stream.outline import Outline
from jpweb.stream.wire.glances import Glance

#: A journal entry, its position left to its place in the list: text, kind, anchor, head, facet.
Entry: TypeAlias = tuple[str, str, str, int, str]
#: The turns of a stream, in order: the position where each begins, how what was asked begins.
Begun: TypeAlias = tuple[int, str]
#: An inquiry, in the order of ``INQUIRY``.
Asked: TypeAlias = tuple[Any, ...]

INQUIRY = (
    "anchor", "position", "response_position", "inquiry_id", "source", "asker", "label", "question",
    "answer_type", "state", "reason", "answer", "decided_by", "decider_name", "asked_at",
    "settled_at",
)  # fmt: skip
_UNSETTLED: dict[str, Any] = {
    "response_position": None, "reason": "", "answer": None, "decided_by": "", "decider_name": "",
    "settled_at": None,
}  # fmt: skip


class Laid(msgspec.Struct, array_like=True, frozen=True):
    """What goes into rows of a whole stream, its inquiries left out."""

    entries: list[Entry]
    turns: list[Begun]


def laid(elements: Sequence[Element | Glance], anchors: Sequence[str]) -> Laid:
    """Return the journal entries and the turns of a stream."""
    found = places(elements)
    kinds: dict[str, str] = {}
    made = []
    for element, anchor, head in zip(elements, anchors, found.heads, strict=True):
        tag = element.tag
        kind = kinds.get(tag) or kinds.setdefault(tag, plain.text(tag)[:100])
        made.append((element.raw, kind, anchor, head, facet(element)))
    return Laid(made, [(turn.position, plain.text(turn.words)) for turn in found.turns])


def inquiries(outline: Outline) -> list[Asked]:
    """Return the inquiry rows of a stream; documents are JSON text, times are instants."""
    return [_inquiry(each, call) for each, call in outline.inquiries()]


def asked(request: InquiryRequest) -> dict[str, Any]:
    """Return the columns of a question."""
    return {
        "inquiry_id": plain.text(request.id),
        "source": request.source.tag.value,
        "question": plain.deep(request.question.to_fields()),
        "answer_type": request.question.answer_type.TAG,
    }


def settled(event: ConversationEvent, given: InquiryResponse, position: int) -> dict[str, Any]:
    """Return the columns of an outcome, but not the person: their key may be anybody's."""
    by = event.note.get("by")
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
    }


def label(event: ConversationEvent) -> str:
    """Return the prompt's label that jpweb noted."""
    return plain.text(str(event.note.get("label") or ""))[:200]


def moment(event: ConversationEvent) -> datetime:
    """Return when an event was; the wire lets no event through whose time cannot be read."""
    return timestamps.parse(event.timestamp) or clock.now()


def _inquiry(found: Inquiry, call: ToolCall | None) -> Asked:
    request = found.asked
    (event,) = found.request.element.events
    asker = call.call.name if call else request.source.name or request.source.tag.value
    values = asked(request) | _UNSETTLED
    if found.response is not None:
        (answer,) = found.response.element.events
        if isinstance(answer.kind, InquiryResponse):
            values |= settled(answer, answer.kind, found.response.position)
    values |= {
        "anchor": found.request.anchor,
        "position": found.request.position,
        "label": label(event),
        "state": found.state,
        "asked_at": moment(event),
        "asker": plain.text(asker)[:200],
        "question": _document(values["question"]),
        "answer": None if values["answer"] is None else _document(values["answer"]),
    }
    return tuple([values[name] for name in INQUIRY])


def _document(value: Any) -> str:
    return msgspec.json.encode(value).decode()
