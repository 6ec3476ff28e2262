"""What a reader sees: turn > tool call > inquiries. Every event has exactly one place."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, cast

from jpweb.stream import identity
from jpweb.stream.events import (
    BrokenEvent,
    Element,
    LegacyEvents,
    ToolCallRequest,
    ToolCallResponse,
    UnknownEvent,
)
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse, Outcome
from jpweb.stream.turns import (
    Happening,
    Matches,
    Place,
    Seen,
    Turn,
    incomplete,
    match,
    owners,
    pair,
    placed,
    split,
)
from jpweb.stream.wire.glances import Glance

#: The kinds without which a turn asks nothing; legacy elements have none, whatever they hold.
_ASKING = frozenset({InquiryRequest, type(None)})
#: What is part of a tool call or an inquiry, and so of what ``asked`` shows.
_PAIRED = frozenset({ToolCallRequest, ToolCallResponse, InquiryRequest, InquiryResponse})


@dataclass(frozen=True, slots=True)
class Placed:
    """An element with its position in the stream and the anchor of its permalink.

    Of a legacy element there is one for each of its events, in ``element`` as if it stood alone;
    ``part`` counts them from 0 and ``layout`` is the tag of the whole.
    """

    position: int
    anchor: str
    element: Element
    part: int = 0
    layout: str = ""

    @property
    def account(self) -> str:
        """What it is counted under: its tag, its layout, ``unknown`` or ``broken``."""
        match self.element.body:
            case UnknownEvent():
                return "unknown"
            case BrokenEvent():
                return "broken"
            case _:
                return self.layout or self.element.tag


State: TypeAlias = Literal["answered", "redacted", "cancelled", "open", "unanswered"]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One question and how it ended.

    ``state`` is the outcome's tag; ``open`` while its tool call may still end it;
    ``unanswered`` where the turn went on without it.
    """

    request: Placed
    response: Placed | None
    state: State

    @property
    def asked(self) -> InquiryRequest:
        """The request's kind."""
        return cast(InquiryRequest, self.request.element.kind)

    @property
    def outcome(self) -> Outcome | None:
        """The outcome, or None where there is no response."""
        kind = self.response.element.kind if self.response else None
        return kind.outcome if isinstance(kind, InquiryResponse) else None

    @property
    def last(self) -> int:
        """The last position that changed it."""
        return self.response.position if self.response else self.request.position


class Question(NamedTuple):
    """A question of a tool call, with every attempt to have it answered, in order."""

    key: str
    attempts: list[Inquiry]


@dataclass(slots=True)
class ToolCall:
    """A tool call with its inquiries and, once it is there, its result."""

    request: Placed
    call: ToolCallRequest
    response: Placed | None = None
    inquiries: list[Inquiry] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The position of the request."""
        return self.request.position

    @property
    def last(self) -> int:
        """The last position that changed what is shown of it."""
        ends = [self.first, *(inquiry.last for inquiry in self.inquiries)]
        return max([*ends, self.response.position] if self.response else ends)

    @property
    def groups(self) -> list[Question]:
        """The inquiries by question, in the order in which each was first asked.

        The same question has the same id as jpweb noted it, else the same text and answer type.
        """
        found: dict[str, list[Inquiry]] = defaultdict(list)
        for inquiry in self.inquiries:
            found[_question_key(inquiry)].append(inquiry)
        return [Question(key, attempts) for key, attempts in found.items()]


@dataclass(frozen=True, slots=True)
class Entry:
    """Anything that stands alone: chat, overlays, unknown, broken, orphaned."""

    placed: Placed
    orphan: bool = False

    @property
    def first(self) -> int:
        """Its position."""
        return self.placed.position

    last = first


@dataclass(frozen=True, slots=True)
class StrayInquiry:
    """An inquiry that no tool call can claim; it stays where it stood."""

    inquiry: Inquiry

    @property
    def first(self) -> int:
        """The position of the request."""
        return self.inquiry.request.position

    @property
    def last(self) -> int:
        """The last position that changed it."""
        return self.inquiry.last


Item: TypeAlias = Entry | ToolCall | StrayInquiry


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

    @property
    def length(self) -> int:
        """How many elements there are."""
        return len(self.anchors)

    def accounts(self) -> dict[str, int]:
        """Return how many elements there are of each tag; they add up to ``length``.

        Elements of unknown kinds are counted as ``unknown``, those that cannot be read as
        ``broken``, legacy ones under their layout, each once.
        """
        return dict(Counter(here.account for here in self.placed() if not here.part))

    def placed(self) -> Iterator[Placed]:
        """Return everything that has a place, in the order of the outline."""
        for turn in self.turns:
            for item in turn.items:
                match item:
                    case Entry(placed=here):
                        yield here
                    case StrayInquiry(inquiry=inquiry):
                        yield from _of_inquiry(inquiry)
                    case ToolCall():
                        yield item.request
                        for inquiry in item.inquiries:
                            yield from _of_inquiry(inquiry)
                        if item.response:
                            yield item.response

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
    unfinished = _unfinished(elements, turn, is_last)
    here: dict[Place, Placed] = {}
    for position in range(turn.start, turn.end):
        here |= _placed(position, anchors[position], elements[position])
    found = match(events)
    items = _items(here, found, owners(events, found), unfinished)
    return OutlineTurn(turn.index, anchors[turn.start], turn.start, items, unfinished)


def _asked(
    glances: Sequence[Glance], anchors: Sequence[str], turn: Turn, is_last: bool
) -> OutlineTurn:
    """Return a turn as ``asked`` shows it."""
    unfinished = _unfinished(glances, turn, is_last)
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
            here[place] = _placed(place[0], anchors[place[0]], glances[place[0]].element)[place]
    items = _items(here, found, owned, unfinished)
    return OutlineTurn(turn.index, anchors[turn.start], turn.start, items, unfinished)


def _paired(glances: Sequence[Glance], turn: Turn) -> list[tuple[Place, Happening]]:
    """Return the events of tool calls and inquiries, and all of legacy elements."""
    return [
        ((position, part), event)
        for position in range(turn.start, turn.end)
        if (kind := glances[position].kind) is None or type(kind) in _PAIRED
        for part, event in enumerate(glances[position].events)
    ]


def _unfinished(elements: Sequence[Seen], turn: Turn, is_last: bool) -> bool:
    return is_last and incomplete(elements, turn, pair(elements, turn))


def _items(
    here: dict[Place, Placed], found: Matches, owned: dict[Place, Place], unfinished: bool
) -> tuple[Item, ...]:
    builder = _Builder(here, found, owned, unfinished)
    for place in here:
        builder.add(place)
    return tuple(builder.items)


def _placed(position: int, anchor: str, element: Element) -> dict[Place, Placed]:
    """Return every part of an element by its place."""
    return {
        (position, part): Placed(position, identity.part(anchor, part), own, part, layout)
        for part, (own, layout) in enumerate(_parts(element))
    }


def _parts(element: Element) -> list[tuple[Element, str]]:
    if isinstance(element.body, LegacyEvents):
        return [(Element(element.raw, event), element.tag) for event in element.body.events]
    return [(element, "")]


def _of_inquiry(inquiry: Inquiry) -> list[Placed]:
    return [inquiry.request, inquiry.response] if inquiry.response else [inquiry.request]


def _question_key(inquiry: Inquiry) -> str:
    (event,) = inquiry.request.element.events
    noted = event.note.get("question_id")
    if isinstance(noted, str):
        return noted
    question = inquiry.asked.question
    return json.dumps([question.text, question.answer_type.to_fields()])


class _Builder:
    """Lays the events of one turn into items, in stream order."""

    def __init__(
        self,
        here: dict[Place, Placed],
        found: Matches,
        owned: dict[Place, Place],
        unfinished: bool,
    ) -> None:
        self.items: list[Item] = []
        self._here = here
        self._found = found
        self._owned = owned
        self._unfinished = unfinished
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
        inquiry = Inquiry(self._here[place], response, self._state(response, owner))
        if owner is None:
            self.items.append(StrayInquiry(inquiry))
        else:
            self._calls[owner].inquiries.append(inquiry)

    def _state(self, response: Placed | None, owner: Place | None) -> State:
        if response is not None and isinstance(response.element.kind, InquiryResponse):
            return response.element.kind.outcome.TAG
        running = owner is None or owner not in self._found.responses
        return "open" if self._unfinished and running else "unanswered"
