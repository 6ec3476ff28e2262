"""JP's ``sanitize``: makes a stream valid for a provider (docs/jp-format.md, Sanitize).

All seven steps, with RFD 082's turn-scoped matching by count. Differences from JP:

* steps 2 and 3 match within the turn too, as RFD 023 asks, not by ids over the whole stream: a
  call whose id a later turn uses again does not count as answered
* a response before its request does not answer it (JP counts, and ignores the order)
* steps 6 and 7 are idempotent
* broken, unknown and legacy elements and overlays are never removed; a legacy element, which
  holds a message itself, counts as a chat_request

An incomplete last turn is split off before (``turns.find_unfinished_turn``): sanitizing would
close its calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from jpweb.stream import anchor_ids, timestamps, wire
from jpweb.stream.events import (
    ChatRequest,
    ConversationEvent,
    Element,
    EventKind,
    LegacyEvents,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse
from jpweb.stream.turns import EventMatches, Place, is_event, iter_events, match_events, split_turns

INTERRUPTED = "Tool call was interrupted."
_EPOCH = "1970-01-01 00:00:00.0"

_Events: TypeAlias = Sequence[tuple[Place, ConversationEvent]]
SanitizeStep: TypeAlias = Literal[1, 2, 3, 4, 5, 6, 7]
#: Reasons for people, by step and action.
_REASONS: dict[tuple[SanitizeStep, str], str] = {
    (1, "removed"): "it comes before the first message",
    (2, "removed"): "no call in its turn waits for it",
    (3, "inserted"): "the call had no result",
    (4, "removed"): "no question in its turn waits for it",
    (5, "removed"): "nothing in its turn answers it",
    (6, "removed"): "nothing follows it",
    (7, "removed"): "another one opens the first turn",
    (7, "inserted"): "nothing opened the first turn",
}


@dataclass(frozen=True, slots=True)
class SanitizeChange:
    """One removal or insertion. ``tag`` is that of the removed or inserted element.

    Position and anchor are of the original element: the removed one, or the one that makes the
    insertion necessary.
    """

    step: SanitizeStep
    action: Literal["removed", "inserted"]
    position: int
    anchor: str
    tag: str

    @property
    def description(self) -> str:
        """The change and its reason, for people."""
        return f"{self.tag} {self.action}: {_REASONS[self.step, self.action]}"


@dataclass(frozen=True, slots=True)
class SanitizeResult:
    """The sanitized stream, untouched elements being the same objects, and the changes."""

    elements: tuple[Element, ...]
    changes: tuple[SanitizeChange, ...]


@dataclass(frozen=True, slots=True)
class _SanitizeSlot:
    element: Element
    position: int
    anchor: str


def sanitize_stream(elements: Sequence[Element]) -> SanitizeResult:
    """Return the stream as JP would sanitize it before sending. Idempotent, never fails."""
    element_anchors = anchor_ids.make_anchors(elements)
    sanitizer = _Sanitizer(
        [
            _SanitizeSlot(element, index, element_anchors[index])
            for index, element in enumerate(elements)
        ]
    )
    sanitizer.drop_before_first_message()
    sanitizer.pair_requests()
    sanitizer.drop_last_turn_start()
    sanitizer.open_first_turn()
    return SanitizeResult(tuple(slot.element for slot in sanitizer.slots), tuple(sanitizer.changes))


class _Sanitizer:
    """A stream while it is sanitized."""

    def __init__(self, slots: list[_SanitizeSlot]) -> None:
        self.slots = slots
        self.changes: list[SanitizeChange] = []

    def drop_before_first_message(self) -> None:
        """Run step 1; turn_starts, and elements without an event, stay."""
        message_index = self._find_first_message_index()
        positions = {
            index
            for index in range(message_index or 0)
            if _is_turn_event(self.slots[index]) and not _has_kind(TurnStart, self.slots[index])
        }
        self._apply_changes(dict.fromkeys(positions, 1))

    def pair_requests(self) -> None:
        """Run steps 2 to 5, turn by turn."""
        elements = [slot.element for slot in self.slots]
        removals: dict[int, SanitizeStep] = {}
        insertions: dict[int, list[_SanitizeSlot]] = {}
        for turn in split_turns(elements):
            events = list(iter_events(elements, turn))
            matches = match_events(events)
            unpaired_places = _find_unpaired(events, matches)
            removals |= {
                index: step for index, step in unpaired_places if elements[index].kind is not None
            }
            for after_index, index, answer in _make_missing_results(events, matches):
                insertions.setdefault(after_index, []).append(self._make_slot(3, index, answer))
        self._apply_changes(removals, insertions)

    def drop_last_turn_start(self) -> None:
        """Run step 6 until nothing is left to remove."""
        removals: dict[int, SanitizeStep] = {}
        for index in reversed(range(len(self.slots))):
            if _has_kind(TurnStart, self.slots[index]):
                removals[index] = 6
            elif is_event(self.slots[index].element):
                break
        self._apply_changes(removals)

    def open_first_turn(self) -> None:
        """Run step 7; without a chat_request, for the first event."""
        message_index = self._find_first_message_index()
        if message_index is None:
            message_index = next(
                (index for index, slot in enumerate(self.slots) if _can_open_turn(slot)), None
            )
        if message_index is None:
            return
        starts = [
            index
            for index in range(message_index)
            if self.slots[index].element.tag == TurnStart.TAG
        ]
        if not starts:
            self.slots.insert(message_index, self._make_slot(7, message_index, TurnStart()))
        self._apply_changes(
            {index: 7 for index in starts[:-1] if _has_kind(TurnStart, self.slots[index])}
        )

    def _find_first_message_index(self) -> int | None:
        """Return the index of the first chat_request, or of an element that may hold one."""
        for index, slot in enumerate(self.slots):
            if _has_kind(ChatRequest, slot) or isinstance(slot.element.body, LegacyEvents):
                return index
        return None

    def _make_slot(self, step: SanitizeStep, index: int, kind: EventKind) -> _SanitizeSlot:
        """Return the slot of a new event, with the time of the element at this index."""
        slot = self.slots[index]
        times = [event.timestamp for event in slot.element.events if event.timestamp]
        stamp = times[0] if times and timestamps.parse_timestamp(times[0]) else _EPOCH
        self.changes.append(SanitizeChange(step, "inserted", slot.position, slot.anchor, kind.TAG))
        element = wire.write_element(ConversationEvent(stamp, kind))
        return _SanitizeSlot(element, slot.position, slot.anchor)

    def _apply_changes(
        self,
        removals: dict[int, SanitizeStep],
        insertions: dict[int, list[_SanitizeSlot]] | None = None,
    ) -> None:
        self.changes += [
            SanitizeChange(step, "removed", slot.position, slot.anchor, slot.element.tag)
            for index, step in sorted(removals.items())
            for slot in [self.slots[index]]
        ]
        self.slots = list(self._iterate_remaining_slots(removals, insertions or {}))

    def _iterate_remaining_slots(
        self, removals: dict[int, SanitizeStep], insertions: dict[int, list[_SanitizeSlot]]
    ) -> Iterator[_SanitizeSlot]:
        for index, slot in enumerate(self.slots):
            if index not in removals:
                yield slot
            yield from insertions.get(index, ())


def _find_unpaired(events: _Events, matches: EventMatches) -> Iterator[tuple[int, SanitizeStep]]:
    """Return the elements that steps 2, 4 and 5 remove because they have no counterpart."""
    for place, event in events:
        match event.kind:
            case ToolCallResponse() if place in matches.orphans:
                yield place[0], 2
            case InquiryResponse() if place in matches.orphans:
                yield place[0], 4
            case InquiryRequest() if place not in matches.responses:
                yield place[0], 5
            case _:
                pass


def _make_missing_results(
    events: _Events, matches: EventMatches
) -> Iterator[tuple[int, int, ToolCallResponse]]:
    """Return the results that step 3 inserts: the index to insert after, the call's, the result.

    They follow the results of calls of the same id, which came before and are matched first.
    """
    last_result = {
        event.kind.id: place[0]
        for place, event in events
        if isinstance(event.kind, ToolCallResponse) and place not in matches.orphans
    }
    for place, event in events:
        if isinstance(call := event.kind, ToolCallRequest) and place not in matches.responses:
            after_index = max(place[0], last_result.get(call.id, 0))
            yield after_index, place[0], ToolCallResponse(call.id, INTERRUPTED, is_error=True)


def _has_kind(kind: type[EventKind], slot: _SanitizeSlot) -> bool:
    return isinstance(slot.element.kind, kind)


def _is_turn_event(slot: _SanitizeSlot) -> bool:
    kind = slot.element.kind
    return kind is not None and not kind.OVERLAY


def _can_open_turn(slot: _SanitizeSlot) -> bool:
    return is_event(slot.element) and slot.element.tag != TurnStart.TAG
