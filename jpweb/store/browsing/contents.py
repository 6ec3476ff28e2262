"""What items are made of: weighed before it is read, and read no further than it is shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, NamedTuple, cast

from django.db.models import QuerySet, Value
from django.db.models.functions import Length

from jpweb.store.models import Inquiry, JournalEntry, Turn
from jpweb.store.rows.prepared import Prepared
from jpweb.stream import wire
from jpweb.stream.layout import laying
from jpweb.stream.layout.items import State
from jpweb.stream.layout.laying import Row, Shown

#: Elements of one item that are read; a hostile call may ask thousands of questions.
MEMBERS = 120
#: Elements of all items on one side of a place of which it is looked up what they are.
_LOOKED_UP = 20_000
#: Characters that a page shows of an element at once, by its facet; of others ``_HEAVY``.
_HEAVIEST = {"call": 2_000, "result": 2_000, "failure": 2_000}
_HEAVY = 12_000
#: What the markup around an element counts as, by its facet; that of others is ``_FRAME``.
_FRAMES = {"question": 3_000, "outcome": 1_000, "dropped": 1_000}
_FRAME = 400


@dataclass(frozen=True, slots=True)
class Contents:
    """Items in order.

    ``more`` counts, by head, the elements of an item that were not read; ``questions`` has the
    keys of the rows of questions, by their anchors.
    """

    items: list[Shown] = field(default_factory=list)
    turns: dict[int, Turn] = field(default_factory=dict)
    more: dict[int, int] = field(default_factory=dict)
    questions: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Member:
    """An element of an item, not read yet."""

    position: int
    facet: str
    length: int

    @property
    def weight(self) -> int:
        frame = _FRAMES.get(self.facet, _FRAME)
        return min(self.length, _HEAVIEST.get(self.facet, _HEAVY)) + frame


class Members:
    """The elements of some items, by the items' heads; a query for each side of a place.

    ``back`` are the heads before the place and ``on`` those from it on; of each side the nearest
    are looked up first, and what is too far away for that is not known.
    """

    def __init__(self, conversation_id: int, back: Collection[int], on: Collection[int]) -> None:
        self._conversation = conversation_id
        self._by_head: dict[int, list[_Member]] = {}
        if back:
            self._look_up(back, "-head")
        if on:
            self._look_up(on, "head")

    def weight(self, head: int) -> float:
        """Return how much an item weighs on a page, about in characters."""
        if head not in self._by_head:
            return inf
        return sum(member.weight for member in self._shown(head))

    def read(self, heads: Sequence[int]) -> Contents:
        """Return items that this knows, in order; four queries at most."""
        wanted = [member for head in heads for member in self._shown(head)]
        if not wanted:
            return Contents()
        asked = [member.position for member in wanted if member.facet in ("question", "legacy")]
        questions = _asked(self._conversation, asked)
        # An item of which not all is read may have the outcome of what it asks in the rest.
        read = {member.position for member in wanted} | questions.ended
        more = {head: left for head in heads if (left := self._left(head, read))}
        turns = _turns(self._conversation, heads[0], heads[-1])
        starts = [(turn.number, turn.position) for turn in turns]
        shown = laying.items(self._rows(read), starts, questions.states)
        shown.sort(key=lambda one: one.item.first)
        return Contents(shown, {turn.number: turn for turn in turns}, more, questions.keys)

    def _look_up(self, heads: Collection[int], nearest: str) -> None:
        found: dict[int, list[_Member]] = defaultdict(list)
        looked = _MEMBERS[nearest]([self._conversation], list(heads))
        for head, *about in looked:
            found[head].append(_Member(*about))
        if len(looked) == _LOOKED_UP and len(found) > 1:
            del found[looked[-1][0]]  # of which there may be more
        self._by_head |= found

    def _shown(self, head: int) -> list[_Member]:
        """Return what is read of an item: its beginning, and its end, which may be the result."""
        every = self._by_head.get(head, [])
        return every if len(every) <= MEMBERS else [*every[: MEMBERS - 1], every[-1]]

    def _left(self, head: int, read: Collection[int]) -> int:
        every = self._by_head.get(head, ())
        if len(every) <= MEMBERS:
            return 0
        return sum(member.position not in read for member in every)

    def _rows(self, positions: Collection[int]) -> list[Row]:
        rows = _texts([self._conversation], list(positions))
        return [Row(position, anchor, wire.read(text)) for position, anchor, text in rows]


def _members(nearest: str, talks: list[int], heads: list[int]) -> QuerySet[JournalEntry, Any]:
    """Return what is known of the elements of items, in the order of their heads."""
    rows = JournalEntry.objects.filter(conversation_id__in=talks, head__in=heads)
    ordered = rows.order_by(nearest, "position")
    return ordered.values_list("head", "position", "facet", Length("text"))[:_LOOKED_UP]


_MEMBERS = {nearest: Prepared(partial(_members, nearest)) for nearest in ("-head", "head")}
_texts = Prepared(
    lambda talks, positions: (
        JournalEntry.objects.filter(conversation_id__in=talks, position__in=positions)
        .order_by("position")
        .values_list("position", "anchor", "text")
    )
)


def _turns(conversation_id: int, first: int, last: int) -> list[Turn]:
    """Return the turns that two positions and all between them are in."""
    return _between([conversation_id], [first], [last])


def _spanned(talks: list[int], first: list[int], last: list[int]) -> QuerySet[Turn]:
    every = Turn.objects.filter(conversation_id__in=talks, position__lte=Value(last[0]))
    begun = every.filter(position__lte=Value(first[0])).order_by("-position").values("position")[:1]
    return every.filter(position__gte=begun).order_by("position")


_between = Prepared(_spanned)


class _Question(NamedTuple):
    """What a question's row says of it."""

    position: int
    anchor: str
    pk: int
    state: str
    response_position: int | None


class _Asked(NamedTuple):
    """How questions stand that have no outcome, by position; where the others have it; their keys.

    The keys are by the anchors.
    """

    states: dict[int, State]
    ended: frozenset[int]
    keys: dict[str, int]


def _asked(conversation_id: int, positions: Sequence[int]) -> _Asked:
    """Return what is on record of the questions at these positions.

    A row is open until its run ends; a reader is told that it was left as soon as a turn begins.
    """
    if not positions:
        return _Asked({}, frozenset(), {})
    rows = [_Question(*row) for row in _questions([conversation_id], positions)]
    states = {row.position: row.state for row in rows if row.response_position is None}
    if "open" in states.values():
        last = next((position for (position,) in _last_turn([conversation_id])), 0)
        states = {at: state if at >= last else "unanswered" for at, state in states.items()}
    ended = {row.response_position for row in rows if row.response_position is not None}
    return _Asked(
        cast(dict[int, State], states), frozenset(ended), {row.anchor: row.pk for row in rows}
    )


_questions = Prepared(
    lambda talks, positions: Inquiry.objects.filter(
        conversation_id__in=talks, position__in=positions
    ).values_list(*_Question._fields)
)
_last_turn = Prepared(
    lambda talks: (
        Turn.objects.filter(conversation_id__in=talks)
        .order_by("-number")
        .values_list("position")[:1]
    )
)
