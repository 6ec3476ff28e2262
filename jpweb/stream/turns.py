"""Turns, and which response belongs to which request (docs/jp-format.md, Turns).

A *place* is an element's position and which of its events is meant, from 0: more than one only in
legacy elements.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

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

_TURN_EVENT_TAGS = frozenset(tag for tag, kind in KINDS.items() if not kind.OVERLAY)
#: Dots of an inquiry's id, from its end, before which the id of its call is looked for. A lookup
#: for each running call took 19 s for 2,000 calls and 8,000 inquiries.
MAX_PREFIX_DOTS = 64
Place: TypeAlias = tuple[int, int]


class EventLike(Protocol):
    """The part of an event that pairing reads."""

    @property
    def kind(self) -> EventKind | None:
        """The event's kind."""

    @property
    def note(self) -> dict[str, Any]:
        """The note of jpweb in the event's metadata."""


class ElementLike(Protocol):
    """The part of an element that turns read: an ``Element`` or a ``PartialElement``."""

    @property
    def tag(self) -> str:
        """The wire tag."""

    @property
    def kind(self) -> EventKind | None:
        """The kind, or None for legacy, unknown and broken elements."""

    @property
    def events(self) -> Sequence[EventLike]:
        """The events in it."""


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """The elements ``start`` to ``end`` (exclusive) of a stream; ``index`` counts from 0."""

    index: int
    start: int
    end: int


def is_event(element: ElementLike) -> bool:
    """Tell whether an element belongs in a turn; a broken one is judged by its tag."""
    kind = element.kind
    if kind is not None:
        return not kind.OVERLAY
    events = element.events
    if events:
        return any(event.kind is not None and not event.kind.OVERLAY for event in events)
    return element.tag in _TURN_EVENT_TAGS


def split_turns(elements: Sequence[ElementLike]) -> list[TurnSpan]:
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
    return [TurnSpan(i, a, b) for i, (a, b) in enumerate(pairwise(edges))]


@dataclass(frozen=True, slots=True)
class ElementPairs:
    """Positions of requests and of the responses that belong to them, within one turn.

    A legacy element counts as one: it is among the requests when each of its calls is answered,
    and never an orphan.
    """

    responses: dict[int, int]
    orphans: frozenset[int]


@dataclass(frozen=True, slots=True)
class EventMatches:
    """The matches of ``ElementPairs``, place by place."""

    responses: dict[Place, Place]
    orphans: frozenset[Place]


def iter_events(
    elements: Sequence[Element], turn: TurnSpan
) -> Iterator[tuple[Place, ConversationEvent]]:
    """Return the events of a turn with their places, in order."""
    for position in range(turn.start, turn.end):
        for part, event in enumerate(elements[position].events):
            yield (position, part), event


def match_events(events: Iterable[tuple[Place, EventLike]]) -> EventMatches:
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
            open_requests = (calls if isinstance(kind, ToolCallResponse) else questions)[kind.id]
            if open_requests:
                responses[open_requests.popleft()] = place
            else:
                orphans.add(place)
    return EventMatches(responses, frozenset(orphans))


def pair_elements(elements: Sequence[ElementLike], turn: TurnSpan) -> ElementPairs:
    """Match the elements of a turn by count, as ``match_events`` does."""
    events = list(_iter_event_likes(elements, turn))
    matches = match_events(events)
    request_types = ToolCallRequest | InquiryRequest
    unanswered_positions = {
        place[0]
        for place, event in events
        if isinstance(event.kind, request_types) and place not in matches.responses
    }
    return ElementPairs(
        {a: b for (a, _), (b, _) in matches.responses.items() if a not in unanswered_positions},
        frozenset(a for a, _ in matches.orphans if elements[a].kind is not None),
    )


def find_owners(
    events: Iterable[tuple[Place, EventLike]], matches: EventMatches
) -> dict[Place, Place]:
    """Return, for each inquiry that a tool call of the turn asks, that call.

    The call is the one that jpweb noted, else the likeliest of those running at that time. Inquiry
    ids are opaque (RFD 082), so a shared prefix only ever decides between running calls; the
    longest wins, because ids of calls may hold dots. Of equals, the last.
    """
    running_calls = _RunningCalls()
    requests_by_response = {end: start for start, end in matches.responses.items()}
    owner_by_inquiry: dict[Place, Place] = {}
    for place, event in events:
        kind = event.kind
        if isinstance(kind, ToolCallRequest):
            running_calls.add_call(place, kind)
        elif isinstance(kind, ToolCallResponse):
            if place in requests_by_response:
                running_calls.end_call(requests_by_response[place])
        elif isinstance(kind, InquiryRequest):
            owner = running_calls.find_asking_call(kind, event.note.get("tool_call_id"))
            if owner is not None:
                owner_by_inquiry[place] = owner
    return owner_by_inquiry


#: The kinds of which tool calls and inquiries consist.
_PAIRED_TYPES = frozenset({ToolCallRequest, ToolCallResponse, InquiryRequest, InquiryResponse})


class TurnMatches(NamedTuple):
    """The events of a turn's calls and inquiries and of its legacy elements, and their matches."""

    events: list[tuple[Place, EventLike]]
    matches: EventMatches
    owner_by_inquiry: dict[Place, Place]


def match_turn(elements: Sequence[ElementLike], turn: TurnSpan) -> TurnMatches:
    """Return the matches and the owners of a turn: other events have none."""
    events = [
        ((position, part), event)
        for position in range(turn.start, turn.end)
        if (kind := elements[position].kind) is None or type(kind) in _PAIRED_TYPES
        for part, event in enumerate(elements[position].events)
    ]
    matches = match_events(events)
    return TurnMatches(events, matches, find_owners(events, matches))


def _iter_event_likes(
    elements: Sequence[ElementLike], turn: TurnSpan
) -> Iterator[tuple[Place, EventLike]]:
    """Yield the events of a turn with their places, of elements that may be partial."""
    for position in range(turn.start, turn.end):
        for part, event in enumerate(elements[position].events):
            yield (position, part), event


class _RunningCalls:
    """The running calls, indexed: a hostile file may have very many."""

    def __init__(self) -> None:
        self._calls: dict[Place, ToolCallRequest] = {}
        self._places_by_id: dict[str, Place] = {}
        self._running_by_id: dict[str, dict[Place, None]] = defaultdict(dict)
        self._running_by_name: dict[str, dict[Place, None]] = defaultdict(dict)

    def add_call(self, place: Place, call: ToolCallRequest) -> None:
        self._calls[place] = call
        self._places_by_id[call.id] = place
        self._running_by_id[call.id][place] = self._running_by_name[call.name][place] = None

    def end_call(self, place: Place) -> None:
        call = self._calls.pop(place)
        del self._running_by_id[call.id][place], self._running_by_name[call.name][place]

    def find_asking_call(self, request: InquiryRequest, recorded_call_id: Any) -> Place | None:
        if isinstance(recorded_call_id, str) and recorded_call_id in self._places_by_id:
            return self._places_by_id[recorded_call_id]
        name = request.source.name
        by_name = None if name is None else self._running_by_name.get(name)
        guesses = (self._find_calls_with_prefix(request.id), by_name, self._calls)
        return next((next(reversed(guess)) for guess in guesses if guess), None)

    def _find_calls_with_prefix(self, inquiry_id: str) -> dict[Place, None] | None:
        """Return the running calls whose id precedes a dot; the longest such id decides."""
        end = len(inquiry_id)
        for _ in range(MAX_PREFIX_DOTS):
            end = inquiry_id.rfind(".", 0, end)
            if end < 0:
                break
            running_calls = self._running_by_id.get(inquiry_id[:end])
            if running_calls:
                return running_calls
        return None


class TurnCompleteness:
    """Tells whether a turn is incomplete (RFD 023), element by element.

    A turn is incomplete where it lacks a reply, where a tool call has no response, or where no
    reply follows the last response. A turn without any event is complete. Only the ids of calls
    without a response are kept, so a turn may have any length.
    """

    def __init__(self) -> None:
        self._has_event = False
        self._ends_with_reply = False
        self._open_calls: Counter[str] = Counter()

    def add_element(self, element: ElementLike) -> None:
        """Process the next element of the turn."""
        self._has_event = self._has_event or is_event(element)
        for event in element.events:
            match event.kind:
                case ToolCallRequest(id=key):
                    self._open_calls[key] += 1
                case ToolCallResponse(id=key):
                    self._close_call(key)
                    self._ends_with_reply = False
                case ChatResponse():
                    self._ends_with_reply = True
                case _:
                    pass

    @property
    def is_incomplete(self) -> bool:
        """Whether the elements so far are those of an incomplete turn."""
        return self._has_event and (bool(self._open_calls) or not self._ends_with_reply)

    def _close_call(self, key: str) -> None:
        """Remove one call of this id; a response without a call is an orphan."""
        if self._open_calls[key] > 1:
            self._open_calls[key] -= 1
        else:
            del self._open_calls[key]


def is_turn_incomplete(elements: Sequence[ElementLike], turn: TurnSpan) -> bool:
    """Tell whether the turn is incomplete, as ``TurnCompleteness`` does."""
    completeness = TurnCompleteness()
    for element in elements[turn.start : turn.end]:
        completeness.add_element(element)
    return completeness.is_incomplete


@dataclass(frozen=True, slots=True)
class Streaming:
    """The provider has to reply: there is no reply yet, or none after the results."""


@dataclass(frozen=True, slots=True)
class Executing:
    """These calls have to run; they have no open question."""

    calls: tuple[tuple[int, ToolCallRequest], ...]


@dataclass(frozen=True, slots=True)
class WaitingForInput:
    """These calls have to run, and these are their open questions."""

    calls: tuple[tuple[int, ToolCallRequest], ...]
    inquiries: tuple[tuple[int, InquiryRequest], ...]


TurnPhase: TypeAlias = Streaming | Executing | WaitingForInput


@dataclass(frozen=True, slots=True)
class UnfinishedTurn:
    """An incomplete last turn, and the phase to resume it from."""

    turn: TurnSpan
    phase: TurnPhase


def find_unfinished_turn(elements: Sequence[Element]) -> UnfinishedTurn | None:
    """Return the last turn where it is incomplete (RFD 023), else None.

    The caller splits it off and resumes it; ``sanitize_stream(elements[: turn.start])`` is safe.
    A question that no unanswered call owns is left out: it blocks nothing.
    """
    turns = split_turns(elements)
    if not turns or not is_turn_incomplete(elements, turns[-1]):
        return None
    events = list(iter_events(elements, turns[-1]))
    matches = match_events(events)
    owner_by_inquiry = find_owners(events, matches)
    calls = [(p, e.kind) for p, e in events if isinstance(e.kind, ToolCallRequest)]
    open_calls = {p: call for p, call in calls if p not in matches.responses}
    questions = [(p, e.kind) for p, e in events if isinstance(e.kind, InquiryRequest)]
    unmatched_calls = tuple((p[0], call) for p, call in open_calls.items())
    waiting_calls = tuple(
        (p[0], request)
        for p, request in questions
        if p not in matches.responses and owner_by_inquiry.get(p) in open_calls
    )
    if waiting_calls:
        return UnfinishedTurn(turns[-1], WaitingForInput(unmatched_calls, waiting_calls))
    return UnfinishedTurn(turns[-1], Executing(unmatched_calls) if unmatched_calls else Streaming())
