"""Events laid into items, in stream order: of a whole turn, or of some of its items alone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from jpweb.stream import identity
from jpweb.stream.events import Element, LegacyEvents, ToolCallRequest
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse
from jpweb.stream.layout.items import Entry, Inquiry, Item, Placed, State, StrayInquiry, ToolCall
from jpweb.stream.turns import Matches, Place, match, owners


class Row(NamedTuple):
    """An element with its position in the stream and its anchor."""

    position: int
    anchor: str
    element: Element


class Shown(NamedTuple):
    """An item, and the index of its turn."""

    turn: int
    item: Item


def items(
    rows: Iterable[Row], turns: Sequence[tuple[int, int]], states: Mapping[int, State]
) -> list[Shown]:
    """Return the items that these elements make, in order.

    ``rows`` are all elements of some items (of the same ``places.heads``), by position; ``turns``
    are the index and the first position of each turn that they are in, in order; ``states`` are
    those of questions without an outcome, by the position of the request.
    """
    starts = [first for _, first in turns]
    shown: list[Shown] = []
    by_turn = groupby(rows, key=lambda row: bisect_right(starts, row.position) - 1)
    for number, own in by_turn:
        here: dict[Place, Placed] = {}
        for row in own:
            here |= parts(row.position, row.anchor, row.element)
        index = turns[number][0]
        shown.extend(Shown(index, item) for item in _excerpt(here, states))
    return shown


def lay(
    here: dict[Place, Placed],
    found: Matches,
    owned: dict[Place, Place],
    unfinished: bool,
    states: Mapping[int, State] | None = None,
) -> tuple[Item, ...]:
    """Return the items of events that are matched, in order; ``unfinished`` is their turn."""
    builder = _Builder(here, found, owned, unfinished, states or {})
    for place in here:
        builder.add(place)
    return tuple(builder.items)


def parts(position: int, anchor: str, element: Element) -> dict[Place, Placed]:
    """Return every part of an element by its place."""
    return {
        (position, part): Placed(position, identity.part(anchor, part), own, part, layout)
        for part, (own, layout) in enumerate(_parts(element))
    }


def _excerpt(here: dict[Place, Placed], states: Mapping[int, State]) -> tuple[Item, ...]:
    """Return the items of a part of one turn: of the places of all elements of some of its items.

    They are those of ``outline``. How a question without an outcome stands only the whole turn can
    say: ``states`` does, by the position of its request.
    """
    events = [(place, event) for place, own in here.items() for event in own.element.events]
    found = match(events)
    return lay(here, found, owners(events, found), False, states)


def _parts(element: Element) -> list[tuple[Element, str]]:
    if isinstance(element.body, LegacyEvents):
        return [(Element(element.raw, event), element.tag) for event in element.body.events]
    return [(element, "")]


class _Builder:
    """Lays the events of one turn into items, in stream order."""

    def __init__(
        self,
        here: dict[Place, Placed],
        found: Matches,
        owned: dict[Place, Place],
        unfinished: bool,
        states: Mapping[int, State],
    ) -> None:
        self.items: list[Item] = []
        self._here = here
        self._found = found
        self._owned = owned
        self._unfinished = unfinished
        self._states = states
        self._calls: dict[Place, ToolCall] = {}
        self._requests = {end: start for start, end in found.responses.items()}

    def add(self, place: Place) -> None:
        here = self._here[place]
        kind = here.element.kind
        if isinstance(kind, ToolCallRequest):
            call = self._calls[place] = ToolCall(here, kind)
            self.items.append(call)
        elif isinstance(kind, InquiryRequest):
            self._ask(place)
        elif place not in self._requests:
            self.items.append(Entry(here, orphan=place in self._found.orphans))
        elif done := self._calls.get(self._requests[place]):
            done.response = here
        # else it is the response of an inquiry, which holds it already

    def _ask(self, place: Place) -> None:
        owner = self._owned.get(place)
        end = self._found.responses.get(place)
        response = None if end is None else self._here[end]
        inquiry = Inquiry(
            self._here[place], response, self._state(self._here[place], response, owner)
        )
        if owner is None:
            self.items.append(StrayInquiry(inquiry))
        else:
            self._calls[owner].inquiries.append(inquiry)

    def _state(self, here: Placed, response: Placed | None, owner: Place | None) -> State:
        if response is not None and isinstance(response.element.kind, InquiryResponse):
            return response.element.kind.outcome.TAG
        running = owner is None or owner not in self._found.responses
        if noted := self._states.get(here.position):
            return noted if running else "unanswered"
        return "open" if self._unfinished and running else "unanswered"
