"""Turns, and which response belongs to which request (jp-storage-format, section 18).

A *place* is an element's position and which of its events is meant, from 0: more than one only in
legacy elements.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

from jpweb.stream.events import (
    KINDS,
    ChatResponse,
    ConversationEvent,
    Element,
    EventKind,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse

_EVENTS = frozenset(tag for tag, kind in KINDS.items() if not kind.OVERLAY)
Place: TypeAlias = tuple[int, int]


class Happening(Protocol):
    """What pairing needs to know of an event."""

    @property
    def kind(self) -> EventKind | None:
        """What happened."""

    @property
    def note(self) -> dict[str, Any]:
        """What jpweb noted beside it."""


class Seen(Protocol):
    """What turns need to know of an element: an ``Element``, or a glance at one."""

    @property
    def tag(self) -> str:
        """The wire tag."""

    @property
    def kind(self) -> EventKind | None:
        """The kind, or None for legacy, unknown and broken elements."""

    @property
    def events(self) -> Sequence[Happening]:
        """The events in it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The elements ``start`` to ``end`` (exclusive) of a stream; ``index`` counts from 0."""

    index: int
    start: int
    end: int


def is_event(element: Seen) -> bool:
    """Tell whether an element happens in a turn; a broken one tells by its tag."""
    kind = element.kind
    if kind is not None:
        return not kind.OVERLAY
    inside = element.events
    if inside:
        return any(event.kind is not None and not event.kind.OVERLAY for event in inside)
    return element.tag in _EVENTS


def split(elements: Sequence[Seen]) -> list[Turn]:
    """Return the turns. Overlays and unknown elements belong to the turn they follow.

    A ``turn_start`` opens a turn only where the current one already has an event. Broken events
    count by their tag, so that one of them does not move the turns after it.
    """
    starts: list[int] = []
    has_event = False
    for position, element in enumerate(elements):
        if not is_event(element):
            continue
        if element.tag == TurnStart.TAG and has_event:
            starts.append(position)
        has_event = True
    edges = [0, *starts, len(elements)] if elements else []
    return [Turn(i, a, b) for i, (a, b) in enumerate(pairwise(edges))]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Positions of requests and of the responses that belong to them, within one turn.

    A legacy element counts as one: it is among the requests when each of its calls is answered,
    and never an orphan.
    """

    responses: dict[int, int]
    orphans: frozenset[int]


@dataclass(frozen=True, slots=True)
class Matches:
    """As ``Pairs``, place by place."""

    responses: dict[Place, Place]
    orphans: frozenset[Place]


def placed(elements: Sequence[Element], turn: Turn) -> Iterator[tuple[Place, ConversationEvent]]:
    """Return the events of a turn with their places, in order."""
    for position in range(turn.start, turn.end):
        for part, event in enumerate(elements[position].events):
            yield (position, part), event


def match(events: Iterable[tuple[Place, Happening]]) -> Matches:
    """Match within one turn by count: the nth response of an id belongs to its nth request.

    A response that finds no waiting request is an orphan. Ids are opaque (RFD 082 *Inquiry ID
    format*), and legacy duplicates pair by order.
    """
    calls: dict[str, deque[Place]] = defaultdict(deque)
    questions: dict[str, deque[Place]] = defaultdict(deque)
    responses: dict[Place, Place] = {}
    orphans: set[Place] = set()
    for place, event in events:
        kind = event.kind
        if isinstance(kind, ToolCallRequest):
            calls[kind.id].append(place)
        elif isinstance(kind, InquiryRequest):
            questions[kind.id].append(place)
        elif isinstance(kind, (ToolCallResponse, InquiryResponse)):
            waiting = (calls if isinstance(kind, ToolCallResponse) else questions)[kind.id]
            if waiting:
                responses[waiting.popleft()] = place
            else:
                orphans.add(place)
    return Matches(responses, frozenset(orphans))


def pair(elements: Sequence[Seen], turn: Turn) -> Pairs:
    """Match the elements of a turn by count, as ``match`` does."""
    events = list(_happenings(elements, turn))
    found = match(events)
    asked = ToolCallRequest | InquiryRequest
    unanswered = {
        place[0]
        for place, event in events
        if isinstance(event.kind, asked) and place not in found.responses
    }
    return Pairs(
        {a: b for (a, _), (b, _) in found.responses.items() if a not in unanswered},
        frozenset(a for a, _ in found.orphans if elements[a].kind is not None),
    )


def owners(events: Iterable[tuple[Place, Happening]], found: Matches) -> dict[Place, Place]:
    """Return, for each inquiry of a turn that a tool call asks, that call.

    As jpweb noted it, else the likeliest of the calls that run at that time. Inquiry ids are
    opaque (RFD 082), so a shared beginning only ever decides between running calls; the longest
    wins, for ids of calls may hold dots. Of equals, the last.
    """
    running = _Running()
    ended = {end: start for start, end in found.responses.items()}
    owned: dict[Place, Place] = {}
    for place, event in events:
        kind = event.kind
        if isinstance(kind, ToolCallRequest):
            running.add(place, kind)
        elif isinstance(kind, ToolCallResponse):
            if place in ended:
                running.end(ended[place])
        elif isinstance(kind, InquiryRequest):
            owner = running.asking(kind, event.note.get("tool_call_id"))
            if owner is not None:
                owned[place] = owner
    return owned


def _happenings(elements: Sequence[Seen], turn: Turn) -> Iterator[tuple[Place, Happening]]:
    """As ``placed``, of what may be no more than seen."""
    for position in range(turn.start, turn.end):
        for part, event in enumerate(elements[position].events):
            yield (position, part), event


class _Running:
    """The calls that run, found without looking at each: a hostile file may have very many."""

    def __init__(self) -> None:
        self._calls: dict[Place, ToolCallRequest] = {}
        self._ever: dict[str, Place] = {}
        self._ids: dict[str, dict[Place, None]] = defaultdict(dict)
        self._names: dict[str, dict[Place, None]] = defaultdict(dict)
        self._lengths: dict[int, int] = defaultdict(int)

    def add(self, place: Place, call: ToolCallRequest) -> None:
        self._calls[place] = call
        self._ever[call.id] = place
        self._ids[call.id][place] = self._names[call.name][place] = None
        self._lengths[len(call.id)] += 1

    def end(self, place: Place) -> None:
        call = self._calls.pop(place)
        del self._ids[call.id][place], self._names[call.name][place]
        self._lengths[len(call.id)] -= 1

    def asking(self, asked: InquiryRequest, noted: Any) -> Place | None:
        if isinstance(noted, str) and noted in self._ever:
            return self._ever[noted]
        name = asked.source.name
        by_name = None if name is None else self._names.get(name)
        guesses = (self._beginning(asked.id), by_name, self._calls)
        return next((next(reversed(guess)) for guess in guesses if guess), None)

    def _beginning(self, inquiry_id: str) -> dict[Place, None] | None:
        lengths = [length for length, count in self._lengths.items() if count]
        for length in sorted(lengths, reverse=True):
            running = self._ids.get(inquiry_id[:length])
            if running and inquiry_id[length : length + 1] == ".":
                return running
        return None


class TurnCompleteness:
    """Tells whether a turn stopped half-way (RFD 023), element by element.

    A turn did where it lacks a reply, where a tool call has no response, or where no reply follows
    the last response. A turn without any event has nothing to complete. The ids of calls that wait
    for a response are all that is kept, so a turn may have any length.
    """

    def __init__(self) -> None:
        self._has_event = False
        self._ends_with_reply = False
        self._open_calls: Counter[str] = Counter()

    def add(self, element: Seen) -> None:
        """Take the next element of the turn."""
        self._has_event = self._has_event or is_event(element)
        for event in element.events:
            match event.kind:
                case ToolCallRequest(id=key):
                    self._open_calls[key] += 1
                case ToolCallResponse(id=key):
                    self._settle(key)
                    self._ends_with_reply = False
                case ChatResponse():
                    self._ends_with_reply = True
                case _:
                    pass

    @property
    def is_incomplete(self) -> bool:
        """Whether the elements so far are those of an incomplete turn."""
        return self._has_event and (bool(self._open_calls) or not self._ends_with_reply)

    def _settle(self, key: str) -> None:
        """Count one call of this id less; a response without a call is an orphan."""
        if self._open_calls[key] > 1:
            self._open_calls[key] -= 1
        else:
            del self._open_calls[key]


def incomplete(elements: Sequence[Seen], turn: Turn) -> bool:
    """Tell whether the turn stopped half-way, as ``TurnCompleteness`` does."""
    completeness = TurnCompleteness()
    for element in elements[turn.start : turn.end]:
        completeness.add(element)
    return completeness.is_incomplete


@dataclass(frozen=True, slots=True)
class Streaming:
    """The provider is to be asked: no reply yet, or none after the results."""


@dataclass(frozen=True, slots=True)
class Executing:
    """These calls are to be run; no question of theirs is open."""

    calls: tuple[tuple[int, ToolCallRequest], ...]


@dataclass(frozen=True, slots=True)
class WaitingForInput:
    """These calls are to be run, and these questions of theirs wait for an answer."""

    calls: tuple[tuple[int, ToolCallRequest], ...]
    inquiries: tuple[tuple[int, InquiryRequest], ...]


Phase: TypeAlias = Streaming | Executing | WaitingForInput


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A last turn that stopped half-way, and the phase to resume it from."""

    turn: Turn
    phase: Phase


def unfinished(elements: Sequence[Element]) -> Unfinished | None:
    """Return the last turn where it is incomplete (RFD 023), else None.

    It is to be split off and resumed, not repaired: ``repair(elements[: turn.start])`` is safe.
    A question that no unanswered call owns holds up nothing and is not waited for.
    """
    turns = split(elements)
    if not turns or not incomplete(elements, turns[-1]):
        return None
    events = list(placed(elements, turns[-1]))
    found = match(events)
    owned = owners(events, found)
    calls = [(p, e.kind) for p, e in events if isinstance(e.kind, ToolCallRequest)]
    open_calls = {p: call for p, call in calls if p not in found.responses}
    questions = [(p, e.kind) for p, e in events if isinstance(e.kind, InquiryRequest)]
    unmatched = tuple((p[0], call) for p, call in open_calls.items())
    waiting = tuple(
        (p[0], asked)
        for p, asked in questions
        if p not in found.responses and owned.get(p) in open_calls
    )
    if waiting:
        return Unfinished(turns[-1], WaitingForInput(unmatched, waiting))
    return Unfinished(turns[-1], Executing(unmatched) if unmatched else Streaming())
