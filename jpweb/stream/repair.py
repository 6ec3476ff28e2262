"""JP's ``sanitize``: what makes a stream fit for a provider (jp-storage-format, section 18).

All seven steps, with RFD 082's turn-scoped matching by count. Where JP and this differ:

* steps 2 and 3 match within the turn too, as RFD 023 asks, not by ids over the whole stream: a
  call whose id a later turn uses again is not taken for answered
* a response before its request is none (JP counts, and does not look which came first)
* steps 6 and 7 leave nothing for a second time
* broken, unknown and legacy elements and overlays are never removed; a legacy element, which
  holds a message itself, stands where a chat_request could

An incomplete last turn is split off before (``turns.unfinished``): repair would close its calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from jpweb.stream import identity, timestamps, wire
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
from jpweb.stream.turns import Matches, Place, is_event, match, placed, split

INTERRUPTED = "Tool call was interrupted."
_EPOCH = "1970-01-01 00:00:00.0"

_Events: TypeAlias = Sequence[tuple[Place, ConversationEvent]]
Step: TypeAlias = Literal[1, 2, 3, 4, 5, 6, 7]
#: Why, for people, by step and by what was done.
_WHY: dict[tuple[Step, str], str] = {
    (1, "removed"): "it stands before the first message",
    (2, "removed"): "no call in its turn waits for it",
    (3, "inserted"): "the call had no result",
    (4, "removed"): "no question in its turn waits for it",
    (5, "removed"): "nothing in its turn answers it",
    (6, "removed"): "nothing follows it",
    (7, "removed"): "another one opens the first turn",
    (7, "inserted"): "nothing opened the first turn",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that a repair does. ``tag`` is that of the element which goes or comes.

    Position and anchor are of the element as it was before: the one that goes, or the one that
    makes the new one necessary.
    """

    step: Step
    done: Literal["removed", "inserted"]
    position: int
    anchor: str
    tag: str

    @property
    def what(self) -> str:
        """Say what was done and why."""
        return f"{self.tag} {self.done}: {_WHY[self.step, self.done]}"


@dataclass(frozen=True, slots=True)
class Repair:
    """The repaired stream, untouched elements being the same objects, and what was done."""

    elements: tuple[Element, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class _Slot:
    element: Element
    position: int
    anchor: str


def repair(elements: Sequence[Element]) -> Repair:
    """Return the stream as JP would make it before it sends it. Idempotent, never fails."""
    anchors = identity.anchors(elements)
    work = _Work([_Slot(element, i, anchors[i]) for i, element in enumerate(elements)])
    work.drop_before_first_message()
    work.close_what_is_open()
    work.drop_last_turn_start()
    work.open_first_turn()
    return Repair(tuple(slot.element for slot in work.slots), tuple(work.changes))


class _Work:
    """A stream under repair."""

    def __init__(self, slots: list[_Slot]) -> None:
        self.slots = slots
        self.changes: list[Change] = []

    def drop_before_first_message(self) -> None:
        """Take step 1; turn_starts, and what is no event, stay."""
        first = self._first_message()
        head = {
            at
            for at in range(first or 0)
            if _happened(self.slots[at]) and not _is(TurnStart, self.slots[at])
        }
        self._remove(dict.fromkeys(head, 1))

    def close_what_is_open(self) -> None:
        """Take steps 2 to 5, turn by turn."""
        elements = [slot.element for slot in self.slots]
        doomed: dict[int, Step] = {}
        fresh: dict[int, list[_Slot]] = {}
        for turn in split(elements):
            events = list(placed(elements, turn))
            found = match(events)
            alone = _unpaired(events, found)
            doomed |= {at: step for at, step in alone if elements[at].kind is not None}
            for behind, at, answer in _missing(events, found):
                fresh.setdefault(behind, []).append(self._insert(3, at, answer))
        self._remove(doomed, fresh)

    def drop_last_turn_start(self) -> None:
        """Take step 6, as often as there is something to take."""
        doomed: dict[int, Step] = {}
        for at in reversed(range(len(self.slots))):
            if _is(TurnStart, self.slots[at]):
                doomed[at] = 6
            elif is_event(self.slots[at].element):
                break
        self._remove(doomed)

    def open_first_turn(self) -> None:
        """Take step 7; without a chat_request, for the first event."""
        first = self._first_message()
        if first is None:
            first = next((at for at, slot in enumerate(self.slots) if _begins(slot)), None)
        if first is None:
            return
        starts = [at for at in range(first) if self.slots[at].element.tag == TurnStart.TAG]
        if not starts:
            self.slots.insert(first, self._insert(7, first, TurnStart()))
        self._remove({at: 7 for at in starts[:-1] if _is(TurnStart, self.slots[at])})

    def _first_message(self) -> int | None:
        """Return the index of the first chat_request, or of what may hold one."""
        for at, slot in enumerate(self.slots):
            if _is(ChatRequest, slot) or isinstance(slot.element.body, LegacyEvents):
                return at
        return None

    def _insert(self, step: Step, at: int, kind: EventKind) -> _Slot:
        """Return the slot of a new event, which has the time of the element at this index."""
        here = self.slots[at]
        times = [event.timestamp for event in here.element.events if event.timestamp]
        stamp = times[0] if times and timestamps.parse(times[0]) else _EPOCH
        self.changes.append(Change(step, "inserted", here.position, here.anchor, kind.TAG))
        made = wire.write(ConversationEvent(stamp, kind))
        return _Slot(made, here.position, here.anchor)

    def _remove(self, doomed: dict[int, Step], fresh: dict[int, list[_Slot]] | None = None) -> None:
        self.changes += [
            Change(step, "removed", slot.position, slot.anchor, slot.element.tag)
            for at, step in sorted(doomed.items())
            for slot in [self.slots[at]]
        ]
        self.slots = list(self._kept(doomed, fresh or {}))

    def _kept(self, doomed: dict[int, Step], fresh: dict[int, list[_Slot]]) -> Iterator[_Slot]:
        for at, slot in enumerate(self.slots):
            if at not in doomed:
                yield slot
            yield from fresh.get(at, ())


def _unpaired(events: _Events, found: Matches) -> Iterator[tuple[int, Step]]:
    """Return where steps 2, 4 and 5 find a half without the other."""
    for place, event in events:
        match event.kind:
            case ToolCallResponse() if place in found.orphans:
                yield place[0], 2
            case InquiryResponse() if place in found.orphans:
                yield place[0], 4
            case InquiryRequest() if place not in found.responses:
                yield place[0], 5
            case _:
                pass


def _missing(events: _Events, found: Matches) -> Iterator[tuple[int, int, ToolCallResponse]]:
    """Return the results that step 3 makes: behind which element, for which, and what.

    They go behind the results of calls of the same id, which came before and are matched first.
    """
    last = {
        event.kind.id: place[0]
        for place, event in events
        if isinstance(event.kind, ToolCallResponse) and place not in found.orphans
    }
    for place, event in events:
        if isinstance(call := event.kind, ToolCallRequest) and place not in found.responses:
            behind = max(place[0], last.get(call.id, 0))
            yield behind, place[0], ToolCallResponse(call.id, INTERRUPTED, is_error=True)


def _is(kind: type[EventKind], slot: _Slot) -> bool:
    return isinstance(slot.element.kind, kind)


def _happened(slot: _Slot) -> bool:
    kind = slot.element.kind
    return kind is not None and not kind.OVERLAY


def _begins(slot: _Slot) -> bool:
    return is_event(slot.element) and slot.element.tag != TurnStart.TAG
