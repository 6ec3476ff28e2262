"""Turns, and which response belongs to which request (jp-storage-format, section 18)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jpweb.stream.events import (
    KINDS,
    ChatResponse,
    Element,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse

_EVENTS = frozenset(tag for tag, kind in KINDS.items() if not kind.OVERLAY)


@dataclass(frozen=True, slots=True)
class Turn:
    """The elements ``start`` to ``end`` (exclusive) of a stream; ``index`` counts from 0."""

    index: int
    start: int
    end: int


def split(elements: Sequence[Element]) -> list[Turn]:
    """Return the turns. Overlays and unknown elements belong to the turn they follow.

    A ``turn_start`` opens a turn only where the current one already has an event. Broken events
    count by their tag, so that one of them does not move the turns after it.
    """
    starts: list[int] = []
    has_event = False
    for position, element in enumerate(elements):
        if element.tag not in _EVENTS:
            continue
        if element.tag == TurnStart.TAG and has_event:
            starts.append(position)
        has_event = True
    edges = [0, *starts, len(elements)] if elements else []
    return [Turn(i, a, b) for i, (a, b) in enumerate(pairwise(edges))]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Positions of requests and of the responses that belong to them, within one turn."""

    responses: dict[int, int]
    orphans: frozenset[int]


def pair(elements: Sequence[Element], turn: Turn) -> Pairs:
    """Match by count: the nth response of an id belongs to its nth request.

    A response that finds no waiting request is an orphan.
    """
    waiting: dict[tuple[str, str], deque[int]] = defaultdict(deque)
    responses: dict[int, int] = {}
    orphans: set[int] = set()
    for position, kind in _kinds(elements, turn):
        match kind:
            case ToolCallRequest(id=key):
                waiting["tool", key].append(position)
            case InquiryRequest(id=key):
                waiting["inquiry", key].append(position)
            case ToolCallResponse(id=key) | InquiryResponse(id=key):
                family = "tool" if isinstance(kind, ToolCallResponse) else "inquiry"
                if waiting[family, key]:
                    responses[waiting[family, key].popleft()] = position
                else:
                    orphans.add(position)
            case _:
                pass
    return Pairs(responses, frozenset(orphans))


def incomplete(elements: Sequence[Element], turn: Turn, pairs: Pairs) -> bool:
    """Tell whether the turn stopped half-way (RFD 023).

    It lacks a reply, or a tool request has no response, or no reply follows the last response.
    Without any event there is nothing to complete.
    """
    if not any(element.tag in _EVENTS for element in elements[turn.start : turn.end]):
        return False
    last_reply = last_result = -1
    for position, kind in _kinds(elements, turn):
        if isinstance(kind, ToolCallRequest) and position not in pairs.responses:
            return True
        if isinstance(kind, ChatResponse):
            last_reply = position
        elif isinstance(kind, ToolCallResponse):
            last_result = position
    return last_reply <= last_result


def _kinds(elements: Sequence[Element], turn: Turn) -> Iterator[tuple[int, object]]:
    for position in range(turn.start, turn.end):
        kind = elements[position].kind
        if kind is not None:
            yield position, kind
