"""Grouping of elements: the turn and the item that each element belongs to.

The position of an item is that of its first element. Any part of a transcript can be built from
the elements of its items alone (``build_items``), because the elements of an item name the same
position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from jpweb.stream import turns
from jpweb.stream.events import (
    ChatRequest,
    ConversationEvent,
    ElementBody,
    LegacyEvents,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.inquiry import InquiryRequest
from jpweb.stream.turns import TurnMatches, TurnSpan, match_turn, split_turns

#: Limit of a turn's title, taken from the person's message.
MAX_TITLE_CHARS = 200
#: Characters of the message in which the title is searched.
_MAX_SCANNED_CHARS = 4 * MAX_TITLE_CHARS


class ElementWithBody(turns.ElementLike, Protocol):
    """The part of an element that grouping reads: an ``Element`` or a ``PartialElement``."""

    @property
    def body(self) -> ElementBody:
        """The body."""


class TurnOpening(NamedTuple):
    """A turn: the position of its first element, and the first line that the person wrote."""

    position: int
    title: str


class ElementGroups(NamedTuple):
    """The item position of each element, and the turns in order."""

    item_positions: list[int]
    turns: list[TurnOpening]


def group_elements(elements: Sequence[ElementWithBody]) -> ElementGroups:
    """Return the groups of the elements of a whole stream."""
    return group_and_match(elements)[0]


def group_and_match(
    elements: Sequence[ElementWithBody],
) -> tuple[ElementGroups, dict[int, TurnMatches]]:
    """Return the groups, and the matches of turns with inquiries or legacy elements by start."""
    item_positions = list(range(len(elements)))
    turn_spans = split_turns(elements)
    turn_matches: dict[int, TurnMatches] = {}
    for turn in turn_spans:
        if not _link_calls(elements, turn, item_positions):
            turn_matches[turn.start] = turn_match = match_turn(elements, turn)
            _link_matched(turn_match, turn, item_positions)
    openings = [TurnOpening(turn.start, _make_opening_title(elements, turn)) for turn in turn_spans]
    return ElementGroups(item_positions, openings), turn_matches


def extract_title(text: str) -> str:
    """Return the first line that is not empty, as the outline shows it."""
    lines = (line.strip() for line in text[:_MAX_SCANNED_CHARS].splitlines())
    return next((line for line in lines if line), "")[:MAX_TITLE_CHARS]


def _link_calls(
    elements: Sequence[ElementWithBody], turn: TurnSpan, item_positions: list[int]
) -> bool:
    """Set the item positions of a turn's elements; False where it has other than calls to match."""
    calls: dict[str, list[int]] = {}
    answered_counts: dict[str, int] = {}
    for position in range(turn.start, turn.end):
        kind = elements[position].kind
        # type() is faster than isinstance: this runs for each element of an import.
        if type(kind) is ToolCallRequest:
            calls.setdefault(kind.id, []).append(position)
        elif type(kind) is ToolCallResponse:
            answered_count = answered_counts.get(kind.id, 0)
            call_positions = calls.get(kind.id, ())
            if answered_count < len(call_positions):
                item_positions[position] = call_positions[answered_count]
                answered_counts[kind.id] = answered_count + 1
        elif kind is None or type(kind) is InquiryRequest:
            if kind is None and not isinstance(elements[position].body, LegacyEvents):
                continue
            return False
    return True


def _link_matched(turn_match: TurnMatches, turn: TurnSpan, item_positions: list[int]) -> None:
    """Set them as ``_link_calls`` does, for turns with inquiries or legacy elements."""
    links = [(end[0], start[0]) for start, end in turn_match.matches.responses.items()]
    links += [(request[0], call[0]) for request, call in turn_match.owner_by_inquiry.items()]
    for position in range(turn.start, turn.end):
        item_positions[position] = position
    for later_position, earlier_position in links:
        _union_items(item_positions, later_position, earlier_position)
    for position in range(turn.start, turn.end):
        item_positions[position] = _find_item_position(item_positions, position)


def _union_items(item_positions: list[int], first_position: int, second_position: int) -> None:
    lower_position, higher_position = sorted(
        (
            _find_item_position(item_positions, first_position),
            _find_item_position(item_positions, second_position),
        )
    )
    item_positions[higher_position] = lower_position


def _find_item_position(item_positions: list[int], position: int) -> int:
    while item_positions[position] != position:
        # Path halving (union-find).
        item_positions[position] = item_positions[item_positions[position]]
        position = item_positions[position]
    return position


def _make_opening_title(elements: Sequence[ElementWithBody], turn: TurnSpan) -> str:
    """Return the title of a turn: that of its first request that says anything."""
    for position in range(turn.start, turn.end):
        element = elements[position]
        if type(element.kind) is ChatRequest or element.kind is None:
            for event in _get_body_events(element.body):
                if isinstance(event.kind, ChatRequest):
                    title = extract_title(event.kind.content)
                    if title:
                        return title
    return ""


def _get_body_events(body: ElementBody) -> Sequence[ConversationEvent]:
    match body:
        case ConversationEvent():
            return (body,)
        case LegacyEvents(events=events):
            return events
        case _:
            return ()
