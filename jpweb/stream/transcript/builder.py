"""Builds the items of events in stream order: of a whole turn, or of some of its items alone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from jpweb.stream import anchor_ids
from jpweb.stream.events import Element, LegacyEvents, ToolCallRequest
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse
from jpweb.stream.transcript.items import (
    InquiryPair,
    InquiryState,
    Item,
    OrphanInquiry,
    PlacedElement,
    StandaloneItem,
    ToolCall,
)
from jpweb.stream.turns import EventMatches, Place, find_owners, match_events


class ElementRow(NamedTuple):
    """An element with its position in the stream and its anchor."""

    position: int
    anchor: str
    element: Element


class TurnItem(NamedTuple):
    """An item, and the index of its turn."""

    turn: int
    item: Item


def build_items(
    rows: Iterable[ElementRow], turns: Sequence[tuple[int, int]], states: Mapping[int, InquiryState]
) -> list[TurnItem]:
    """Return the items that these elements make, in order.

    ``rows`` are all elements of some items (see ``ElementGroups.item_positions``), by position;
    ``turns`` are the index and the first position of each turn that they are in, in order;
    ``states`` are those of questions without an outcome, by the position of the request.
    """
    starts = [first_position for _, first_position in turns]
    turn_items: list[TurnItem] = []
    by_turn = groupby(rows, key=lambda row: bisect_right(starts, row.position) - 1)
    for turn_number, turn_rows in by_turn:
        parts_by_place: dict[Place, PlacedElement] = {}
        for row in turn_rows:
            parts_by_place |= split_parts(row.position, row.anchor, row.element)
        index = turns[turn_number][0]
        turn_items.extend(TurnItem(index, item) for item in _build_excerpt(parts_by_place, states))
    return turn_items


def build_turn_items(
    parts_by_place: dict[Place, PlacedElement],
    matches: EventMatches,
    owner_by_inquiry: dict[Place, Place],
    is_incomplete: bool,
    states: Mapping[int, InquiryState] | None = None,
) -> tuple[Item, ...]:
    """Return the items of matched events, in order; ``is_incomplete`` is about their turn."""
    builder = _ItemBuilder(parts_by_place, matches, owner_by_inquiry, is_incomplete, states or {})
    for place in parts_by_place:
        builder.add_part(place)
    return tuple(builder.items)


def split_parts(position: int, anchor: str, element: Element) -> dict[Place, PlacedElement]:
    """Return every part of an element by its place."""
    return {
        (position, part): PlacedElement(
            position, anchor_ids.make_event_anchor(anchor, part), part_element, part, legacy_tag
        )
        for part, (part_element, legacy_tag) in enumerate(_split_legacy(element))
    }


def _build_excerpt(
    parts_by_place: dict[Place, PlacedElement], states: Mapping[int, InquiryState]
) -> tuple[Item, ...]:
    """Return the items of a part of one turn: of the places of all elements of some of its items.

    They are those of ``build_outline``. The state of a question without an outcome depends on the
    whole turn: ``states`` holds it, by the position of its request.
    """
    events = [
        (place, event)
        for place, placed_element in parts_by_place.items()
        for event in placed_element.element.events
    ]
    matches = match_events(events)
    return build_turn_items(parts_by_place, matches, find_owners(events, matches), False, states)


def _split_legacy(element: Element) -> list[tuple[Element, str]]:
    if isinstance(element.body, LegacyEvents):
        return [
            (Element(element.raw, event, element.is_shortened), element.tag)
            for event in element.body.events
        ]
    return [(element, "")]


class _ItemBuilder:
    """Builds the items of one turn's events, in stream order."""

    def __init__(
        self,
        parts_by_place: dict[Place, PlacedElement],
        matches: EventMatches,
        owner_by_inquiry: dict[Place, Place],
        is_incomplete: bool,
        states: Mapping[int, InquiryState],
    ) -> None:
        self.items: list[Item] = []
        self._parts = parts_by_place
        self._matches = matches
        self._owners = owner_by_inquiry
        self._is_incomplete = is_incomplete
        self._states = states
        self._calls: dict[Place, ToolCall] = {}
        self._requests = {end: start for start, end in matches.responses.items()}

    def add_part(self, place: Place) -> None:
        placed_element = self._parts[place]
        kind = placed_element.element.kind
        if isinstance(kind, ToolCallRequest):
            call = self._calls[place] = ToolCall(placed_element, kind)
            self.items.append(call)
        elif isinstance(kind, InquiryRequest):
            self._add_inquiry(place)
        elif place not in self._requests:
            self.items.append(StandaloneItem(placed_element, orphan=place in self._matches.orphans))
        elif owner_call := self._calls.get(self._requests[place]):
            owner_call.response = placed_element
        # Otherwise it is the response of an inquiry, whose InquiryPair holds it already.

    def _add_inquiry(self, place: Place) -> None:
        owner = self._owners.get(place)
        end = self._matches.responses.get(place)
        response = None if end is None else self._parts[end]
        inquiry = InquiryPair(
            self._parts[place],
            response,
            self._get_inquiry_state(self._parts[place], response, owner),
        )
        if owner is None:
            self.items.append(OrphanInquiry(inquiry))
        else:
            self._calls[owner].inquiries.append(inquiry)

    def _get_inquiry_state(
        self, request: PlacedElement, response: PlacedElement | None, owner: Place | None
    ) -> InquiryState:
        if response is not None and isinstance(response.element.kind, InquiryResponse):
            return response.element.kind.outcome.TAG
        is_running = owner is None or owner not in self._matches.responses
        if given_state := self._states.get(request.position):
            return given_state if is_running else "unanswered"
        return "open" if self._is_incomplete and is_running else "unanswered"
