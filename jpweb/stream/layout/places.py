"""Where each element of a stream is shown: in which turn, and in which item.

An item begins with its *head*, the position of its first element. What a reader sees of any part
of a stream can be laid out from the elements of the items in it alone (``laying.items``), because
the elements of an item name the same head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from jpweb.stream import turns
from jpweb.stream.events import (
    Body,
    ChatRequest,
    ConversationEvent,
    LegacyEvents,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.inquiry import InquiryRequest
from jpweb.stream.turns import Happening, Place, Turn, match, owners, split

#: Characters that are kept of what a person asked.
WORDS = 200
#: Characters that are looked at for them.
_LOOK = 4 * WORDS


class Seen(turns.Seen, Protocol):
    """What this needs to know of an element: an ``Element``, or a glance at one."""

    @property
    def body(self) -> Body:
        """All that it says."""


class Begun(NamedTuple):
    """A turn: the position of its first element, and the beginning of what the person asked."""

    position: int
    words: str


class Places(NamedTuple):
    """The head of each element, and the turns in order."""

    heads: list[int]
    turns: list[Begun]


def places(elements: Sequence[Seen]) -> Places:
    """Return where the elements of a whole stream are shown."""
    heads = list(range(len(elements)))
    begun = split(elements)
    for turn in begun:
        _link(elements, turn, heads)
    return Places(heads, [Begun(turn.start, _asked(elements, turn)) for turn in begun])


def words(text: str) -> str:
    """Return the first line that says something, as the outline shows it."""
    lines = (line.strip() for line in text[:_LOOK].splitlines())
    return next((line for line in lines if line), "")[:WORDS]


def _link(elements: Sequence[Seen], turn: Turn, heads: list[int]) -> None:
    """Give the elements of a turn the heads of the items that they are part of."""
    calls: dict[str, list[int]] = {}
    answered: dict[str, int] = {}
    for position in range(turn.start, turn.end):
        kind = elements[position].kind
        # By exact type: this runs for each element of an import.
        if type(kind) is ToolCallRequest:
            calls.setdefault(kind.id, []).append(position)
        elif type(kind) is ToolCallResponse:
            done = answered.get(kind.id, 0)
            asking = calls.get(kind.id, ())
            if done < len(asking):
                heads[position] = asking[done]
                answered[kind.id] = done + 1
        elif kind is None or type(kind) is InquiryRequest:
            if kind is None and not isinstance(elements[position].body, LegacyEvents):
                continue
            return _join(elements, turn, heads)
    return None


def _join(elements: Sequence[Seen], turn: Turn, heads: list[int]) -> None:
    """As ``_link``, for turns that ask, or whose elements may be part of several items."""
    events: list[tuple[Place, Happening]] = [
        ((position, part), event)
        for position in range(turn.start, turn.end)
        for part, event in enumerate(elements[position].events)
    ]
    found = match(events)
    links = [(end[0], start[0]) for start, end in found.responses.items()]
    links += [(asked[0], call[0]) for asked, call in owners(events, found).items()]
    for position in range(turn.start, turn.end):
        heads[position] = position
    for later, earlier in links:
        _unite(heads, later, earlier)
    for position in range(turn.start, turn.end):
        heads[position] = _head(heads, position)


def _unite(heads: list[int], one: int, other: int) -> None:
    low, high = sorted((_head(heads, one), _head(heads, other)))
    heads[high] = low


def _head(heads: list[int], position: int) -> int:
    while heads[position] != position:
        heads[position] = heads[heads[position]]  # the next look is shorter
        position = heads[position]
    return position


def _asked(elements: Sequence[Seen], turn: Turn) -> str:
    for position in range(turn.start, turn.end):
        seen = elements[position]
        if type(seen.kind) is ChatRequest or seen.kind is None:
            for event in _events(seen.body):
                if isinstance(event.kind, ChatRequest):
                    return words(event.kind.content)
    return ""


def _events(body: Body) -> Sequence[ConversationEvent]:
    match body:
        case ConversationEvent():
            return (body,)
        case LegacyEvents(events=events):
            return events
        case _:
            return ()
