"""Turns of a conversation for its outline, a slice at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Value

from jpweb.store.models import Inquiry, JournalEntry, Turn
from jpweb.store.sql.compiled_query import CompiledQuery

#: Turns listed on each side of the current one.
TURNS_PER_SIDE = 20
#: Items of one turn listed in the outline.
MAX_LISTED_ITEMS = 100


@dataclass(frozen=True, slots=True)
class TurnSlice:
    """Consecutive turns, and how many are before and after them."""

    turns: Sequence[Turn]
    earlier_count: int
    later_count: int


def get_slice(conversation_id: int, number: int, total: int) -> TurnSlice:
    """Return a turn, by its number from 0, with its neighbours; ``total`` counts all turns."""
    first_number = max(min(number - TURNS_PER_SIDE, total - 2 * TURNS_PER_SIDE - 1), 0)
    turns = _slice_query([conversation_id], [first_number], [first_number + 2 * TURNS_PER_SIDE])
    return TurnSlice(turns, first_number, max(total - first_number - len(turns), 0))


#: The ORM takes 0.4 ms longer, for each page of a conversation.
_slice_query = CompiledQuery(
    lambda conversation_ids, first_numbers, last_numbers: Turn.objects.filter(
        conversation_id__in=conversation_ids,
        number__gte=Value(first_numbers[0]),
        number__lte=Value(last_numbers[0]),
    ).order_by("number")
)


def find_turn(conversation_id: int, positions: int) -> Turn | None:
    """Return the turn that a position is in."""
    return next(iter(_turn_query([conversation_id], [positions])), None)


#: The ORM takes 0.4 ms longer, for each step through a compacted conversation.
_turn_query = CompiledQuery(
    lambda conversation_ids, positions: Turn.objects.filter(
        conversation_id__in=conversation_ids, position__lte=Value(positions[0])
    ).order_by("-position")[:1]
)


def get_starts(conversation_id: int, *numbers: int) -> dict[int, int]:
    """Return the start positions of turns, by their numbers from 0; unknown ones are omitted."""
    rows = Turn.objects.filter(conversation_id=conversation_id, number__in=numbers)
    return dict(rows.values_list("number", "position"))


def find_next_start(conversation_id: int, positions: int) -> int | None:
    """Return the start of the first turn that starts at a position or later, or None."""
    rows = Turn.objects.filter(conversation_id=conversation_id, position__gte=positions)
    return rows.order_by("position").values_list("position", flat=True).first()


def get_start(conversation_id: int, number: int) -> int | None:
    """Return the start position of a turn, or None where there is no such turn."""
    return get_starts(conversation_id, number).get(number)


def list_item_positions(conversation_id: int, number: int) -> tuple[list[int], int]:
    """Return the positions of a turn's tool calls and stray questions, and the number omitted."""
    turn_starts = get_starts(conversation_id, number, number + 1)
    if number not in turn_starts:
        return [], 0
    rows = JournalEntry.objects.filter(
        conversation_id=conversation_id, item_position__gte=turn_starts[number]
    )
    if number + 1 in turn_starts:
        rows = rows.filter(item_position__lt=turn_starts[number + 1])
    item_rows = rows.filter(category__in=("call", "question")).order_by("item_position")
    item_positions = item_rows.values_list("item_position", flat=True).distinct()
    listed_item_positions = list(item_positions[:MAX_LISTED_ITEMS])
    return listed_item_positions, item_positions.count() - len(listed_item_positions) if len(
        listed_item_positions
    ) == MAX_LISTED_ITEMS else 0


def list_open_item_positions(conversation_id: int, start: int) -> list[int]:
    """Return the positions of items of the previous turn that hold a question without an outcome.

    The start of a turn makes those questions unanswered.
    """
    previous_turn = find_turn(conversation_id, start - 1)
    if previous_turn is None:
        return []
    open_inquiries = Inquiry.objects.filter(
        conversation_id=conversation_id,
        response_position=None,
        position__gte=previous_turn.position,
        position__lt=start,
    )
    rows = JournalEntry.objects.filter(
        conversation_id=conversation_id,
        position__in=open_inquiries.values("position")[:MAX_LISTED_ITEMS],
    )
    return sorted(set(rows.values_list("item_position", flat=True)))


def list_pending_call_positions(conversation_id: int, number: int) -> list[int]:
    """Return the positions of calls without a result, of a turn and of later ones; the newest."""
    start = get_start(conversation_id, number)
    if start is None:
        return []
    entries = JournalEntry.objects.filter(conversation_id=conversation_id)
    results = entries.filter(item_position=OuterRef("item_position"), kind="tool_call_response")
    calls = entries.filter(~Exists(results), category="call", item_position__gte=start)
    item_positions = calls.order_by("-item_position").values_list("item_position", flat=True)
    return list(item_positions.distinct()[:MAX_LISTED_ITEMS])
