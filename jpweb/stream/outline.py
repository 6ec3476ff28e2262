"""What a reader sees: turn > tool call > inquiries. Every event has exactly one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from jpweb.stream import identity
from jpweb.stream.events import Element, ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse
from jpweb.stream.layout.items import Inquiry, Item, Placed, StrayInquiry, ToolCall
from jpweb.stream.layout.laying import lay, parts
from jpweb.stream.turns import (
    Happening,
    Place,
    Turn,
    incomplete,
    match,
    owners,
    placed,
    split,
)
from jpweb.stream.wire.glances import Glance

#: The kinds without which a turn asks nothing; legacy elements have none, whatever they hold.
_ASKING = frozenset({InquiryRequest, type(None)})
#: What is part of a tool call or an inquiry, and so of what ``asked`` shows.
_PAIRED = frozenset({ToolCallRequest, ToolCallResponse, InquiryRequest, InquiryResponse})


@dataclass(frozen=True, slots=True)
class OutlineTurn:
    """A turn as a reader sees it."""

    index: int
    anchor: str
    first: int
    items: tuple[Item, ...]
    incomplete: bool


@dataclass(frozen=True, slots=True)
class Outline:
    """The whole conversation as a reader sees it."""

    turns: tuple[OutlineTurn, ...]
    anchors: tuple[str, ...]

    def states(self) -> dict[str, int]:
        """Return how many inquiries are in each state, those that occur."""
        return dict(Counter(inquiry.state for inquiry, _ in self.inquiries()))

    def inquiries(self) -> list[tuple[Inquiry, ToolCall | None]]:
        """Return every inquiry, in the order of the outline, with the tool call it belongs to."""
        found: list[tuple[Inquiry, ToolCall | None]] = []
        for turn in self.turns:
            for item in turn.items:
                if isinstance(item, ToolCall):
                    found.extend((inquiry, item) for inquiry in item.inquiries)
                elif isinstance(item, StrayInquiry):
                    found.append((item.inquiry, None))
        return found


def outline(elements: Sequence[Element]) -> Outline:
    """Return the outline of a whole stream."""
    anchors = identity.anchors(elements)
    turns = split(elements)
    last = turns[-1].index if turns else -1
    shown = tuple(_turn(elements, anchors, turn, turn.index == last) for turn in turns)
    return Outline(shown, tuple(anchors))


def asked(glances: Sequence[Glance], anchors: Sequence[str]) -> Outline:
    """Return the outline with nothing but inquiries and the tool calls that ask them.

    Its turns, anchors and inquiries are those of ``outline``, for a fraction of the time.
    """
    turns = split(glances)
    shown = tuple(_asked(glances, anchors, turn, turn is turns[-1]) for turn in turns)
    return Outline(shown, tuple(anchors))


def _turn(
    elements: Sequence[Element], anchors: Sequence[str], turn: Turn, is_last: bool
) -> OutlineTurn:
    events = list(placed(elements, turn))
    unfinished = is_last and incomplete(elements, turn)
    here: dict[Place, Placed] = {}
    for position in range(turn.start, turn.end):
        here |= parts(position, anchors[position], elements[position])
    found = match(events)
    items = lay(here, found, owners(events, found), unfinished)
    return OutlineTurn(turn.index, anchors[turn.start], turn.start, items, unfinished)


def _asked(
    glances: Sequence[Glance], anchors: Sequence[str], turn: Turn, is_last: bool
) -> OutlineTurn:
    """Return a turn as ``asked`` shows it."""
    unfinished = is_last and incomplete(glances, turn)
    kinds = {type(glances[position].kind) for position in range(turn.start, turn.end)}
    if kinds.isdisjoint(_ASKING):
        return OutlineTurn(turn.index, anchors[turn.start], turn.start, (), unfinished)
    events = _paired(glances, turn)
    found = match(events)
    owned = owners(events, found)
    questions = [place for place, event in events if type(event.kind) is InquiryRequest]
    ends = (found.responses.get(place) for place in questions)
    shown = {*questions, *ends, *owned.values()}
    here: dict[Place, Placed] = {}
    for place, _ in events:
        if place in shown:
            here[place] = parts(place[0], anchors[place[0]], glances[place[0]].element)[place]
    items = lay(here, found, owned, unfinished)
    return OutlineTurn(turn.index, anchors[turn.start], turn.start, items, unfinished)


def _paired(glances: Sequence[Glance], turn: Turn) -> list[tuple[Place, Happening]]:
    """Return the events of tool calls and inquiries, and all of legacy elements."""
    return [
        ((position, part), event)
        for position in range(turn.start, turn.end)
        if (kind := glances[position].kind) is None or type(kind) in _PAIRED
        for part, event in enumerate(glances[position].events)
    ]
