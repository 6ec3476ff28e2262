"""What a reader sees: turn > tool call > inquiries. Every element has exactly one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from jpweb.stream import identity
from jpweb.stream.events import (
    ConversationEvent,
    Element,
    ToolCallRequest,
)
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse, Outcome
from jpweb.stream.turns import Pairs, Turn, incomplete, pair, split


@dataclass(frozen=True, slots=True)
class Placed:
    """An element with its position in the stream and the anchor of its permalink."""

    position: int
    anchor: str
    element: Element


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
    placed = [Placed(i, anchors[i], element) for i, element in enumerate(elements)]
    turns = split(elements)
    last = turns[-1].index if turns else -1
    shown = tuple(_turn(placed, elements, turn, turn.index == last) for turn in turns)
    return Outline(shown, tuple(anchors))


def _turn(
    placed: Sequence[Placed], elements: Sequence[Element], turn: Turn, is_last: bool
) -> OutlineTurn:
    pairs = pair(elements, turn)
    unfinished = is_last and incomplete(elements, turn, pairs)
    builder = _Builder(placed, pairs, unfinished)
    for position in range(turn.start, turn.end):
        builder.add(placed[position])
    return OutlineTurn(
        turn.index, placed[turn.start].anchor, turn.start, tuple(builder.items), unfinished
    )


class _Builder:
    """Lays the elements of one turn into items, in stream order."""

    def __init__(self, placed: Sequence[Placed], pairs: Pairs, unfinished: bool) -> None:
        self.items: list[Item] = []
        self._placed = placed
        self._pairs = pairs
        self._unfinished = unfinished
        self._calls: dict[int, ToolCall] = {}
        self._requests = {end: start for start, end in pairs.responses.items()}

    def add(self, here: Placed) -> None:
        kind = here.element.kind
        if isinstance(kind, ToolCallRequest):
            call = self._calls[here.position] = ToolCall(here, kind)
            self.items.append(call)
        elif isinstance(kind, InquiryRequest):
            self._ask(here, kind)
        elif here.position not in self._requests:
            self.items.append(Entry(here, orphan=here.position in self._pairs.orphans))
        elif done := self._calls.get(self._requests[here.position]):
            done.response = here
        # else it is the response of an inquiry, which holds it already

    def _ask(self, here: Placed, asked: InquiryRequest) -> None:
        call = _owner(here, asked, list(self._calls.values()))
        end = self._pairs.responses.get(here.position)
        response = None if end is None else self._placed[end]
        inquiry = Inquiry(here, response, self._state(here, response, call))
        if call is None:
            self.items.append(StrayInquiry(inquiry))
        else:
            call.inquiries.append(inquiry)

    def _state(self, here: Placed, response: Placed | None, call: ToolCall | None) -> State:
        if response is not None and isinstance(response.element.kind, InquiryResponse):
            return response.element.kind.outcome.TAG
        running = call is None or call.first not in self._pairs.responses
        return "open" if self._unfinished and running else "unanswered"


def _owner(here: Placed, asked: InquiryRequest, calls: Sequence[ToolCall]) -> ToolCall | None:
    """Return the call that asked: as jpweb noted it, else the likeliest of those that run.

    Inquiry ids are opaque, so a shared beginning only ever decides between running calls; the
    longest wins, for ids of calls may hold dots. Of equals, the last.
    """
    running = [call for call in calls if call.response is None]
    body = here.element.body
    noted = body.metadata.get("jpweb") if isinstance(body, ConversationEvent) else None
    tool_call_id = noted.get("tool_call_id") if isinstance(noted, dict) else None
    guesses = (
        [call for call in calls if call.call.id == tool_call_id],
        sorted(
            (call for call in running if asked.id.startswith(f"{call.call.id}.")),
            key=lambda call: len(call.call.id),
        ),
        [call for call in running if call.call.name == asked.source.name],
        running,
    )
    return next((found[-1] for found in guesses if found), None)
