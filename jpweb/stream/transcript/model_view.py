"""The events of a turn's items that the model is sent, and counts of those withheld.

All turns together are what ``Thread`` sends of a stream that is not compacted, normalized:
each call is answered exactly once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from jpweb.stream.events import ChatRequest, EventKind, ToolCallResponse
from jpweb.stream.sanitize import INTERRUPTED
from jpweb.stream.transcript.categories import categorize_element
from jpweb.stream.transcript.items import (
    Item,
    OrphanInquiry,
    PlacedElement,
    StandaloneItem,
    ToolCall,
)

Role: TypeAlias = Literal["user", "assistant", "tool"]


class SentEvent(NamedTuple):
    """An event as the model gets it.

    ``is_synthetic`` tells that it is not on record: it replaces the missing result of a call, and
    ``placed`` is that call.
    """

    role: Role
    placed: PlacedElement
    kind: EventKind
    is_synthetic: bool = False


def list_sent_events(items: Iterable[Item]) -> list[SentEvent]:
    """Return the events that the model gets of some items of one turn, in order."""
    events = [event for item in items for event in _iter_sent(item)]
    return sorted(events, key=get_sort_key)


def get_sort_key(event: SentEvent) -> tuple[int, int, bool]:
    """Return the sort key of an event within its turn."""
    return event.placed.position, event.placed.part, event.is_synthetic


def split_requests(events: Iterable[SentEvent]) -> Iterator[list[SentEvent]]:
    """Yield the events in pieces: each but the last ends where the model was asked to continue.

    That is where an event of the assistant follows one of another role.
    """
    piece: list[SentEvent] = []
    for event in events:
        if piece and event.role == "assistant" and piece[-1].role != "assistant":
            yield piece
            piece = []
        piece.append(event)
    if piece:
        yield piece


def count_withheld(items: Iterable[Item]) -> Counter[str]:
    """Count the elements withheld from the model, by category and ``stray``; ``turn`` is left out.

    A question counts with its outcome as one ``question``.
    """
    counts: Counter[str] = Counter()
    for item in items:
        match item:
            case ToolCall():
                counts["question"] += len(item.inquiries)
            case OrphanInquiry():
                counts["question"] += 1
            case StandaloneItem(placed=placed_element):
                if not any(_iter_sent(item)):
                    category = categorize_element(placed_element.element)
                    counts["stray" if category in ("result", "failure") else category] += 1
    del counts["turn"]
    return +counts


def _iter_sent(item: Item) -> Iterator[SentEvent]:
    match item:
        case OrphanInquiry():
            return
        case ToolCall(request=request, response=response):
            yield SentEvent("assistant", request, item.call)
            if response is not None:
                yield from _iter_visible(response)
            elif not request.legacy_tag:
                result = ToolCallResponse(item.call.id, INTERRUPTED, is_error=True)
                yield SentEvent("tool", request, result, is_synthetic=True)
        case StandaloneItem(placed=placed_element, orphan=orphan):
            if placed_element.legacy_tag or not orphan:
                yield from _iter_visible(placed_element)


def _iter_visible(placed_element: PlacedElement) -> Iterator[SentEvent]:
    kind = placed_element.element.kind
    if kind is not None and kind.PROVIDER_VISIBLE:
        yield SentEvent(_get_role(kind), placed_element, kind)


def _get_role(kind: EventKind) -> Role:
    match kind:
        case ChatRequest():
            return "user"
        case ToolCallResponse():
            return "tool"
        case _:
            return "assistant"
