"""Loads the items of a transcript within a size budget: sizes first, then only the shown text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, NamedTuple, cast

from django.db.models import QuerySet, Value
from django.db.models.functions import Length

from jpweb.store.masking import masks
from jpweb.store.models import Inquiry, JournalEntry, Turn
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.store.transcript import call_decisions
from jpweb.store.transcript.call_decisions import CallDecision
from jpweb.stream.transcript import builder
from jpweb.stream.transcript.builder import ElementRow, TurnItem
from jpweb.stream.transcript.items import InquiryState, ToolCall

#: Elements of one item whose text is read; a hostile tool call may ask thousands of questions.
MAX_ITEM_ELEMENTS = 120
#: Elements whose category and size are looked up on each side of a position.
_MAX_LOOKED_UP = 20_000
#: Characters of an element that a page shows at first, by category; ``_MAX_CHARS`` for others.
_MAX_CHARS_BY_CATEGORY = {"call": 2_000, "result": 2_000, "failure": 2_000}
_MAX_CHARS = 12_000
#: Weight of an element's markup in characters, by category; ``_MARKUP_CHARS`` for others.
_MARKUP_CHARS_BY_CATEGORY = {"question": 3_000, "outcome": 1_000, "dropped": 1_000}
_MARKUP_CHARS = 400
#: Of elements that belong to a question.
_OUTCOME_CATEGORIES = ("outcome", "dropped")


@dataclass(frozen=True, slots=True)
class LoadedItems:
    """Items in order.

    ``unread_counts`` has, by position, the number of an item's elements that were not read;
    ``question_ids`` has the keys of question rows, by anchor; ``call_decisions`` the approvals of
    tool calls, by the anchor of the call.
    """

    items: list[TurnItem] = field(default_factory=list)
    turns: dict[int, Turn] = field(default_factory=dict)
    unread_counts: dict[int, int] = field(default_factory=dict)
    question_ids: dict[str, int] = field(default_factory=dict)
    call_decisions: dict[str, list[CallDecision]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _ElementInfo:
    """The position, category and size of an item's element, whose text is not read yet."""

    position: int
    category: str
    char_count: int

    @property
    def weight(self) -> int:
        frame = _MARKUP_CHARS_BY_CATEGORY.get(self.category, _MARKUP_CHARS)
        return min(self.char_count, _MAX_CHARS_BY_CATEGORY.get(self.category, _MAX_CHARS)) + frame


class ItemLoader:
    """Loads items by their positions; one query for each side of a position.

    ``earlier_item_positions`` are before the position and ``later_item_positions`` from it on;
    on each side the nearest are looked up first, up to a limit.
    """

    def __init__(
        self,
        conversation_id: int,
        earlier_item_positions: Collection[int],
        later_item_positions: Collection[int],
    ) -> None:
        self._conversation_id = conversation_id
        self._elements_by_item_position: dict[int, list[_ElementInfo]] = {}
        if earlier_item_positions:
            self._look_up_elements(earlier_item_positions, "-item_position")
        if later_item_positions:
            self._look_up_elements(later_item_positions, "item_position")

    def get_weight(self, item_position: int) -> float:
        """Return the approximate size of an item on a page, in characters; inf if not looked up."""
        if item_position not in self._elements_by_item_position:
            return inf
        return sum(element.weight for element in self._list_shown_elements(item_position))

    def load_items(self, item_positions: Sequence[int]) -> LoadedItems:
        """Return items whose elements were looked up, in order; six queries at most."""
        elements = [
            element
            for item_position in item_positions
            for element in self._list_shown_elements(item_position)
        ]
        if not elements:
            return LoadedItems()
        question_positions = [
            element.position for element in elements if element.category in ("question", "legacy")
        ]
        question_positions += self._find_asked_positions(item_positions)
        questions = _load_question_states(self._conversation_id, question_positions)
        # A question or its outcome may be among the elements of its item that are not read.
        positions = {element.position for element in elements}
        positions |= {*question_positions, *questions.response_positions}
        unread_counts = {
            item_position: unread_count
            for item_position in item_positions
            if (unread_count := self._count_unread(item_position, positions))
        }
        turns = _load_turns(self._conversation_id, item_positions[0], item_positions[-1])
        turn_starts = [(turn.number, turn.position) for turn in turns]
        items = builder.build_items(self._load_rows(positions), turn_starts, questions.states)
        items.sort(key=lambda shown_item: shown_item.item.first)
        calls = [row.item for row in items if isinstance(row.item, ToolCall)]
        return LoadedItems(
            items,
            {turn.number: turn for turn in turns},
            unread_counts,
            questions.get_ids_by_anchor,
            call_decisions.load_decisions(self._conversation_id, calls),
        )

    def _find_asked_positions(self, item_positions: Sequence[int]) -> list[int]:
        """Return the positions of questions whose outcomes are last in items that are cut."""
        last_elements = [
            elements[-1]
            for item_position in item_positions
            if len(elements := self._elements_by_item_position.get(item_position, []))
            > MAX_ITEM_ELEMENTS
        ]
        outcome_positions = [
            element.position for element in last_elements if element.category in _OUTCOME_CATEGORIES
        ]
        if not outcome_positions:
            return []
        rows = _asked_position_query([self._conversation_id], outcome_positions)
        return [position for (position,) in rows]

    def _look_up_elements(self, item_positions: Collection[int], order: str) -> None:
        elements_by_item_position: dict[int, list[_ElementInfo]] = defaultdict(list)
        rows = _ELEMENT_QUERIES[order]([self._conversation_id], list(item_positions))
        for item_position, *columns in rows:
            elements_by_item_position[item_position].append(_ElementInfo(*columns))
        if len(rows) == _MAX_LOOKED_UP and len(elements_by_item_position) > 1:
            del elements_by_item_position[rows[-1][0]]  # the limit may have cut it off
        self._elements_by_item_position |= elements_by_item_position

    def _list_shown_elements(self, item_position: int) -> list[_ElementInfo]:
        """Return the elements of an item that are read: the first ones and the last one."""
        elements = self._elements_by_item_position.get(item_position, [])
        return (
            elements
            if len(elements) <= MAX_ITEM_ELEMENTS
            else [*elements[: MAX_ITEM_ELEMENTS - 1], elements[-1]]
        )

    def _count_unread(self, item_position: int, read_positions: Collection[int]) -> int:
        elements = self._elements_by_item_position.get(item_position, ())
        if len(elements) <= MAX_ITEM_ELEMENTS:
            return 0
        return sum(element.position not in read_positions for element in elements)

    def _load_rows(self, positions: Collection[int]) -> list[ElementRow]:
        rows = _text_query([self._conversation_id], list(positions))
        event_masks = masks.load_masks(self._conversation_id, [anchor for _, anchor, _ in rows])
        return [
            ElementRow(position, anchor, event_masks.read_element(anchor, text))
            for position, anchor, text in rows
        ]


def _load_element_rows(
    order: str, conversation_ids: list[int], item_positions: list[int]
) -> QuerySet[JournalEntry, Any]:
    """Return position, category and size of the elements of items, in the order of the items."""
    rows = JournalEntry.objects.filter(
        conversation_id__in=conversation_ids, item_position__in=item_positions
    )
    ordered_rows = rows.order_by(order, "position")
    return ordered_rows.values_list("item_position", "position", "category", Length("text"))[
        :_MAX_LOOKED_UP
    ]


#: The ORM takes 0.2 to 0.9 ms longer for each query of this module, five of them a window.
_ELEMENT_QUERIES = {
    order: CompiledQuery(partial(_load_element_rows, order))
    for order in ("-item_position", "item_position")
}
_text_query = CompiledQuery(
    lambda conversation_ids, positions: (
        JournalEntry.objects.filter(conversation_id__in=conversation_ids, position__in=positions)
        .order_by("position")
        .values_list("position", "anchor", "text")
    )
)


def _load_turns(conversation_id: int, first_position: int, last_position: int) -> list[Turn]:
    """Return the turns from one position to another."""
    return _turns_query([conversation_id], [first_position], [last_position])


def _query_spanned_turns(
    conversation_ids: list[int], first_positions: list[int], last_positions: list[int]
) -> QuerySet[Turn]:
    turns_before_end = Turn.objects.filter(
        conversation_id__in=conversation_ids, position__lte=Value(last_positions[0])
    )
    first_turn = (
        turns_before_end.filter(position__lte=Value(first_positions[0]))
        .order_by("-position")
        .values("position")[:1]
    )
    return turns_before_end.filter(position__gte=first_turn).order_by("position")


_turns_query = CompiledQuery(_query_spanned_turns)


class _QuestionRow(NamedTuple):
    """The columns of a question's row that items show."""

    position: int
    anchor: str
    pk: int
    state: str
    response_position: int | None


class _QuestionStates(NamedTuple):
    """The states of questions without an outcome, by position; outcome positions; ids by anchor."""

    states: dict[int, InquiryState]
    response_positions: frozenset[int]
    get_ids_by_anchor: dict[str, int]


def _load_question_states(conversation_id: int, positions: Sequence[int]) -> _QuestionStates:
    """Return the states of the questions at these positions.

    A row is open until its run ends; the transcript shows it as unanswered once another turn
    begins.
    """
    if not positions:
        return _QuestionStates({}, frozenset(), {})
    rows = [_QuestionRow(*row) for row in _question_query([conversation_id], positions)]
    states = {row.position: row.state for row in rows if row.response_position is None}
    if "open" in states.values():
        last_turn_start = next((position for (position,) in _last_turn_query([conversation_id])), 0)
        states = {
            asked_position: state if asked_position >= last_turn_start else "unanswered"
            for asked_position, state in states.items()
        }
    response_positions = {
        row.response_position for row in rows if row.response_position is not None
    }
    return _QuestionStates(
        cast(dict[int, InquiryState], states),
        frozenset(response_positions),
        {row.anchor: row.pk for row in rows},
    )


_question_query = CompiledQuery(
    lambda conversation_ids, positions: Inquiry.objects.filter(
        conversation_id__in=conversation_ids, position__in=positions
    ).values_list(*_QuestionRow._fields)
)
_asked_position_query = CompiledQuery(
    lambda conversation_ids, response_positions: Inquiry.objects.filter(
        conversation_id__in=conversation_ids, response_position__in=response_positions
    ).values_list("position")
)
_last_turn_query = CompiledQuery(
    lambda conversation_ids: (
        Turn.objects.filter(conversation_id__in=conversation_ids)
        .order_by("-number")
        .values_list("position")[:1]
    )
)
