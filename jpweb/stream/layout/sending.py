"""What of the items of a turn the model is sent, and what not.

All turns together are what ``Thread`` sends of a stream that is not compacted, made well-formed:
each call is answered exactly once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from jpweb.stream.events import ChatRequest, EventKind, ToolCallResponse
from jpweb.stream.layout.facets import facet
from jpweb.stream.layout.items import Entry, Item, Placed, StrayInquiry, ToolCall
from jpweb.stream.repair import INTERRUPTED

Role: TypeAlias = Literal["user", "assistant", "tool"]


class Sent(NamedTuple):
    """An event as the model gets it.

    ``made`` tells that it is not on record: it stands for the result that a call never had, and
    ``placed`` is that call.
    """

    role: Role
    placed: Placed
    kind: EventKind
    made: bool = False


def sent(items: Iterable[Item]) -> list[Sent]:
    """Return what the model gets of some items of one turn, in order."""
    found = [each for item in items for each in _sent(item)]
    return sorted(found, key=order)


def order(each: Sent) -> tuple[int, int, bool]:
    """Return by what the events of a turn are sorted."""
    return each.placed.position, each.placed.part, each.made


def requests(found: Iterable[Sent]) -> Iterator[list[Sent]]:
    """Yield it in pieces: each but the last ends where the model was asked to go on.

    That is where something of the assistant follows something of somebody else.
    """
    piece: list[Sent] = []
    for each in found:
        if piece and each.role == "assistant" and piece[-1].role != "assistant":
            yield piece
            piece = []
        piece.append(each)
    if piece:
        yield piece


def withheld(items: Iterable[Item]) -> Counter[str]:
    """Count what the model does not get: elements by facet, ``stray`` results, ``turn`` left out.

    A question counts with its outcome as one ``question``.
    """
    found: Counter[str] = Counter()
    for item in items:
        match item:
            case ToolCall():
                found["question"] += len(item.inquiries)
            case StrayInquiry():
                found["question"] += 1
            case Entry(placed=here):
                if not any(_sent(item)):
                    own = facet(here.element)
                    found["stray" if own in ("result", "failure") else own] += 1
    del found["turn"]
    return +found


def _sent(item: Item) -> Iterator[Sent]:
    match item:
        case StrayInquiry():
            return
        case ToolCall(request=request, response=response):
            yield Sent("assistant", request, item.call)
            if response is not None:
                yield from _visible(response)
            elif not request.layout:
                told = ToolCallResponse(item.call.id, INTERRUPTED, is_error=True)
                yield Sent("tool", request, told, made=True)
        case Entry(placed=here, orphan=orphan):
            if here.layout or not orphan:
                yield from _visible(here)


def _visible(placed: Placed) -> Iterator[Sent]:
    kind = placed.element.kind
    if kind is not None and kind.PROVIDER_VISIBLE:
        yield Sent(_role(kind), placed, kind)


def _role(kind: EventKind) -> Role:
    match kind:
        case ChatRequest():
            return "user"
        case ToolCallResponse():
            return "tool"
        case _:
            return "assistant"
