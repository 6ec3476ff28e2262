"""The outline that a reader sees: turn > tool call > inquiries, each event at exactly one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from jpweb.stream import anchor_ids
from jpweb.stream.events import Element, ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse
from jpweb.stream.transcript.builder import build_turn_items, split_parts
from jpweb.stream.transcript.items import InquiryPair, Item, OrphanInquiry, PlacedElement, ToolCall
from jpweb.stream.turns import (
    EventLike,
    Place,
    TurnSpan,
    find_owners,
    is_turn_incomplete,
    iter_events,
    match_events,
    split_turns,
)
from jpweb.stream.wire.partial import PartialElement

#: A turn without them has no inquiries; NoneType: a legacy element has no kind of its own.
_INQUIRY_TYPES = frozenset({InquiryRequest, type(None)})
#: The kinds of which tool calls and inquiries consist (``build_inquiry_outline``).
_PAIRED_TYPES = frozenset({ToolCallRequest, ToolCallResponse, InquiryRequest, InquiryResponse})


@dataclass(frozen=True, slots=True)
class OutlineTurn:
    """A turn with its items."""

    index: int
    anchor: str
    first: int
    items: tuple[Item, ...]
    is_incomplete: bool


@dataclass(frozen=True, slots=True)
class Outline:
    """The whole conversation as turns and items."""

    turns: tuple[OutlineTurn, ...]
    anchors: tuple[str, ...]

    def count_states(self) -> dict[str, int]:
        """Return the number of inquiries by state, of the states that occur."""
        return dict(Counter(inquiry.state for inquiry, _ in self.list_inquiries()))

    def list_inquiries(self) -> list[tuple[InquiryPair, ToolCall | None]]:
        """Return every inquiry, in the order of the outline, with the tool call it belongs to."""
        pairs: list[tuple[InquiryPair, ToolCall | None]] = []
        for turn in self.turns:
            for item in turn.items:
                if isinstance(item, ToolCall):
                    pairs.extend((inquiry, item) for inquiry in item.inquiries)
                elif isinstance(item, OrphanInquiry):
                    pairs.append((item.inquiry, None))
        return pairs


def build_outline(elements: Sequence[Element]) -> Outline:
    """Return the outline of a whole stream."""
    element_anchors = anchor_ids.make_anchors(elements)
    turns = split_turns(elements)
    last_index = turns[-1].index if turns else -1
    outline_turns = tuple(
        _build_turn(elements, element_anchors, turn, turn.index == last_index) for turn in turns
    )
    return Outline(outline_turns, tuple(element_anchors))


def build_inquiry_outline(
    partial_elements: Sequence[PartialElement], element_anchors: Sequence[str]
) -> Outline:
    """Return the outline with only inquiries and the tool calls that ask them.

    Its turns, anchors and inquiries are those of ``build_outline``, for a fraction of the time.
    """
    turns = split_turns(partial_elements)
    outline_turns = tuple(
        _build_inquiry_turn(partial_elements, element_anchors, turn, turn is turns[-1])
        for turn in turns
    )
    return Outline(outline_turns, tuple(element_anchors))


def _build_turn(
    elements: Sequence[Element], element_anchors: Sequence[str], turn: TurnSpan, is_last: bool
) -> OutlineTurn:
    events = list(iter_events(elements, turn))
    is_incomplete = is_last and is_turn_incomplete(elements, turn)
    parts_by_place: dict[Place, PlacedElement] = {}
    for position in range(turn.start, turn.end):
        parts_by_place |= split_parts(position, element_anchors[position], elements[position])
    matches = match_events(events)
    items = build_turn_items(parts_by_place, matches, find_owners(events, matches), is_incomplete)
    return OutlineTurn(turn.index, element_anchors[turn.start], turn.start, items, is_incomplete)


def _build_inquiry_turn(
    partial_elements: Sequence[PartialElement],
    element_anchors: Sequence[str],
    turn: TurnSpan,
    is_last: bool,
) -> OutlineTurn:
    """Return a turn of ``build_inquiry_outline``."""
    is_incomplete = is_last and is_turn_incomplete(partial_elements, turn)
    kinds = {type(partial_elements[position].kind) for position in range(turn.start, turn.end)}
    if kinds.isdisjoint(_INQUIRY_TYPES):
        return OutlineTurn(turn.index, element_anchors[turn.start], turn.start, (), is_incomplete)
    events = _list_paired_events(partial_elements, turn)
    matches = match_events(events)
    owner_by_inquiry = find_owners(events, matches)
    questions = [place for place, event in events if type(event.kind) is InquiryRequest]
    ends = (matches.responses.get(place) for place in questions)
    visible_places = {*questions, *ends, *owner_by_inquiry.values()}
    parts_by_place: dict[Place, PlacedElement] = {}
    for place, _ in events:
        if place in visible_places:
            parts_by_place[place] = split_parts(
                place[0], element_anchors[place[0]], partial_elements[place[0]].element
            )[place]
    items = build_turn_items(parts_by_place, matches, owner_by_inquiry, is_incomplete)
    return OutlineTurn(turn.index, element_anchors[turn.start], turn.start, items, is_incomplete)


def _list_paired_events(
    partial_elements: Sequence[PartialElement], turn: TurnSpan
) -> list[tuple[Place, EventLike]]:
    """Return the events of tool calls and inquiries, and every event of legacy elements."""
    return [
        ((position, part), event)
        for position in range(turn.start, turn.end)
        if (kind := partial_elements[position].kind) is None or type(kind) in _PAIRED_TYPES
        for part, event in enumerate(partial_elements[position].events)
    ]
