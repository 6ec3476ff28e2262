"""Windows: consecutive items of a conversation, at a cost independent of its length.

Items are identified by their positions (``stream.transcript.grouping``). A window is selected by
these alone; then only its visible content is read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Count, F, QuerySet, Value

from jpweb.store.errors import UnknownAnchor
from jpweb.store.models import JournalEntry
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.store.transcript.item_loader import ItemLoader, LoadedItems
from jpweb.stream import anchor_ids, timestamps, wire
from jpweb.stream.events import ConversationEvent
from jpweb.stream.transcript.categories import CATEGORIES

#: Items of a window, and their approximate characters; a single item may exceed them.
MAX_ITEMS = 50
MAX_WEIGHT_CHARS = 100_000
#: Items before a window whose last event is looked up; as many parallel calls may overlap.
MAX_PREVIOUS_ITEMS = 20
#: New entries read at most to find the changed items.
_MAX_CHANGED_ENTRIES = 5_000
#: A position beyond all others.
_AFTER_ALL = 2**40

#: Categories to show; None for all.
CategoryFilter = Collection[str] | None


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive items; ``has_earlier`` and ``has_later`` tell whether others are on that side.

    ``previous_item_positions`` are those of the items before them, up to ``MAX_PREVIOUS_ITEMS``.
    """

    item_positions: list[int] = field(default_factory=list)
    contents: LoadedItems = field(default_factory=LoadedItems)
    has_earlier: bool = False
    has_later: bool = False
    previous_item_positions: list[int] = field(default_factory=list)

    @property
    def previous_item_position(self) -> int | None:
        """The position of the item before them."""
        return self.previous_item_positions[-1] if self.previous_item_positions else None


def get_position(conversation_id: int, anchor: str) -> int:
    """Return the position of the element that a permalink names. Raises UnknownAnchor."""
    element_anchor, _ = anchor_ids.split_anchor(anchor)
    entries = JournalEntry.objects.filter(conversation_id=conversation_id, anchor=element_anchor)
    position = entries.values_list("position", flat=True).first()
    if position is None:
        raise UnknownAnchor(f"There is no event {anchor} in this conversation.")
    return position


def load_first(conversation_id: int, categories: CategoryFilter = None) -> Window:
    """Return the first items."""
    return load_after(conversation_id, -1, categories)


def load_last(conversation_id: int, categories: CategoryFilter = None) -> Window:
    """Return the last items."""
    return load_before(conversation_id, None, categories)


def load_after(
    conversation_id: int, item_position: int, categories: CategoryFilter = None
) -> Window:
    """Return the items that follow one, by its position."""
    later_item_positions = _find_later_item_positions(conversation_id, item_position, categories)
    window_fit = _fit_window(
        ItemLoader(conversation_id, [], later_item_positions), [], later_item_positions
    )
    earlier_item_positions = (
        _find_earlier_item_positions(
            conversation_id, item_position + 1, categories, MAX_PREVIOUS_ITEMS
        )
        if item_position >= 0
        else []
    )
    return _make_window(window_fit, earlier_item_positions, later_item_positions)


def load_before(
    conversation_id: int, item_position: int | None, categories: CategoryFilter = None
) -> Window:
    """Return the items before one, by its position; the last ones where that is None."""
    earlier_item_positions = _find_earlier_item_positions(
        conversation_id, item_position, categories, MAX_ITEMS + MAX_PREVIOUS_ITEMS
    )
    loader = ItemLoader(conversation_id, earlier_item_positions[-MAX_ITEMS:], [])
    window_fit = _fit_window(loader, earlier_item_positions, [])
    later_item_positions = (
        []
        if item_position is None
        else _find_later_item_positions(conversation_id, item_position - 1, categories, 1)
    )
    return _make_window(window_fit, earlier_item_positions, later_item_positions)


def load_around(conversation_id: int, position: int, categories: CategoryFilter = None) -> Window:
    """Return the item that holds a position, with its neighbours.

    The item is included even if it has none of ``categories``. The window is empty for an unknown
    position.
    """
    entries = JournalEntry.objects.filter(conversation_id=conversation_id, position=position)
    item_position = entries.values_list("item_position", flat=True).first()
    if item_position is None:
        return Window()
    # Nearly all of a window may be earlier items; further ones set ``has_earlier``.
    earlier_item_positions = _find_earlier_item_positions(
        conversation_id, item_position, categories, MAX_ITEMS + MAX_PREVIOUS_ITEMS
    )
    later_item_positions = [
        item_position,
        *_find_later_item_positions(conversation_id, item_position, categories),
    ]
    window_fit = _fit_window(
        ItemLoader(conversation_id, earlier_item_positions[-MAX_ITEMS:], later_item_positions),
        earlier_item_positions,
        later_item_positions,
    )
    return _make_window(window_fit, earlier_item_positions, later_item_positions)


def load_items(conversation_id: int, item_positions: Collection[int]) -> LoadedItems:
    """Return exactly these items."""
    return ItemLoader(conversation_id, [], item_positions).load_items(sorted(item_positions))


def list_earlier(
    conversation_id: int, item_position: int, categories: CategoryFilter, limit: int
) -> list[int]:
    """Return up to ``limit`` positions of items before one, the nearest, in order."""
    return _find_earlier_item_positions(conversation_id, item_position, categories, limit)


def find_changed_item_positions(conversation_id: int, length: int) -> list[int] | None:
    """Return the positions of the items with entries from ``length`` on, in order.

    None for more than ``MAX_ITEMS`` items or ``_MAX_CHANGED_ENTRIES`` entries.
    """
    item_positions = [
        item_position for (item_position,) in _new_item_positions_query([conversation_id], [length])
    ]
    if len(item_positions) > _MAX_CHANGED_ENTRIES:
        return None
    changed_item_positions = sorted(set(item_positions))
    return changed_item_positions if len(changed_item_positions) <= MAX_ITEMS else None


#: The ORM takes 0.2 to 0.4 ms longer for each query of this module, up to four of them a page.
_new_item_positions_query = CompiledQuery(
    lambda conversation_ids, lengths: (
        JournalEntry.objects.filter(
            conversation_id__in=conversation_ids, position__gte=Value(lengths[0])
        )
        .order_by("position")
        .values_list("item_position")[: _MAX_CHANGED_ENTRIES + 1]
    )
)


def find_continued_item_positions(conversation_id: int, length: int) -> list[int]:
    """Return up to ``MAX_ITEMS`` positions of items before ``length`` with entries from it on."""
    new_entries = JournalEntry.objects.filter(conversation_id=conversation_id, position__gte=length)
    older_item_positions = (
        new_entries.filter(item_position__lt=length)
        .order_by("item_position")
        .values_list("item_position", flat=True)
    )
    return list(older_item_positions.distinct()[:MAX_ITEMS])


def get_neighbors(
    conversation_id: int, item_position: int, categories: CategoryFilter, later_count: int
) -> tuple[list[int], list[int]]:
    """Return ``MAX_PREVIOUS_ITEMS`` positions before one, and ``later_count`` after it."""
    return (
        _find_earlier_item_positions(
            conversation_id, item_position, categories, MAX_PREVIOUS_ITEMS
        ),
        _find_later_item_positions(conversation_id, item_position, categories, later_count),
    )


def get_end_time(conversation_id: int, item_positions: Sequence[int]) -> datetime | None:
    """Return the time of the last event of items; None where there is none or it has none.

    The last item need not end last: parallel calls return in any order.
    """
    rows = _last_text_query([conversation_id], item_positions) if item_positions else []
    return _parse_time(rows[0][0]) if rows else None


def get_event_times(conversation_id: int, positions: Collection[int]) -> dict[int, datetime | None]:
    """Return the times of events by position, without unknown positions; None for no time."""
    rows = _text_query([conversation_id], list(positions)) if positions else []
    return {position: _parse_time(text) for position, text in rows}


# Ordered by an expression, or SQLite walks the index of positions back from the conversation's end.
_last_text_query = CompiledQuery(
    lambda conversation_ids, item_positions: (
        JournalEntry.objects.filter(
            conversation_id__in=conversation_ids, item_position__in=item_positions
        )
        .order_by((F("position") + 0).desc())
        .values_list("text")[:1]
    )
)
_text_query = CompiledQuery(
    lambda conversation_ids, positions: JournalEntry.objects.filter(
        conversation_id__in=conversation_ids, position__in=positions
    ).values_list("position", "text")
)


def _parse_time(text: str) -> datetime | None:
    body = wire.read_element(text).body
    return (
        timestamps.parse_timestamp(body.timestamp) if isinstance(body, ConversationEvent) else None
    )


def count_by_category(conversation_id: int, categories: Collection[str]) -> dict[str, int]:
    """Return the number of entries, by category, in items with an entry of these categories."""
    entries = JournalEntry.objects.filter(conversation_id=conversation_id)
    chosen_item_positions = entries.filter(category__in=categories).values("item_position")
    category_counts = (
        entries.filter(item_position__in=chosen_item_positions)
        .order_by()
        .values("category")
        .annotate(n=Count("id"))
    )
    return {row["category"]: row["n"] for row in category_counts}


def _find_earlier_item_positions(
    conversation_id: int, item_position: int | None, categories: CategoryFilter, limit: int
) -> list[int]:
    """Return the nearest positions before one, in order; the last ones for None."""
    border = _AFTER_ALL if item_position is None else item_position
    return sorted(
        _find_nearest_item_positions(conversation_id, border, "-item_position", categories, limit)
    )


def _find_later_item_positions(
    conversation_id: int, item_position: int, categories: CategoryFilter, limit: int = MAX_ITEMS + 1
) -> list[int]:
    return sorted(
        _find_nearest_item_positions(
            conversation_id, item_position, "item_position", categories, limit
        )
    )


def _find_nearest_item_positions(
    conversation_id: int, border: int, order: str, categories: CategoryFilter, limit: int
) -> list[int]:
    """Return the nearest items: one query per category, each of which is one index range."""
    keys: tuple[Sequence[int], ...] = ([conversation_id], [border])
    if categories is None:
        return [position for (position,) in _build_nearest_query(order, limit)(*keys)]
    nearest_item_positions = {
        position
        for category in CATEGORIES
        if category in categories
        for (position,) in _build_nearest_query(order, limit)(*keys, [category])
    }
    return sorted(nearest_item_positions, reverse=order.startswith("-"))[:limit]


@lru_cache(maxsize=100)
def _build_nearest_query(order: str, limit: int) -> CompiledQuery:
    """Return the query of the nearest items, in that order; each limit is compiled once."""
    is_earlier = order.startswith("-")

    def build_query(
        conversation_ids: list[int], borders: list[int], *categories: list[str]
    ) -> QuerySet[JournalEntry, Any]:
        border = Value(borders[0])
        rows = JournalEntry.objects.filter(conversation_id__in=conversation_ids)
        rows = (
            rows.filter(item_position__lt=border)
            if is_earlier
            else rows.filter(item_position__gt=border)
        )
        if categories:
            rows = rows.filter(category__in=categories[0])
        return rows.order_by(order).values_list("item_position").distinct()[:limit]

    return CompiledQuery(build_query)


@dataclass(slots=True)
class _WindowFit:
    """The number of positions on each side that fit, and the loader of their elements."""

    loader: ItemLoader
    earlier_count: int = 0
    later_count: int = 0


def _fit_window(
    loader: ItemLoader, earlier_item_positions: list[int], later_item_positions: list[int]
) -> _WindowFit:
    """Return how many positions fit, the nearest to the border of both sides first."""
    window_fit, weight = _WindowFit(loader), 0.0
    while window_fit.earlier_count + window_fit.later_count < MAX_ITEMS:
        is_earlier = window_fit.earlier_count < len(earlier_item_positions) and (
            window_fit.later_count >= len(later_item_positions)
            or window_fit.earlier_count < window_fit.later_count
        )
        if not is_earlier and window_fit.later_count >= len(later_item_positions):
            break
        item_position = (
            earlier_item_positions[-1 - window_fit.earlier_count]
            if is_earlier
            else later_item_positions[window_fit.later_count]
        )
        weight += loader.get_weight(item_position)
        if weight > MAX_WEIGHT_CHARS and window_fit.earlier_count + window_fit.later_count:
            break
        window_fit.earlier_count, window_fit.later_count = (
            window_fit.earlier_count + is_earlier,
            window_fit.later_count + (not is_earlier),
        )
    return window_fit


def _make_window(
    window_fit: _WindowFit, earlier_item_positions: list[int], later_item_positions: list[int]
) -> Window:
    item_positions = [
        *earlier_item_positions[len(earlier_item_positions) - window_fit.earlier_count :],
        *later_item_positions[: window_fit.later_count],
    ]
    contents = window_fit.loader.load_items(item_positions)
    previous_item_positions = earlier_item_positions[
        : len(earlier_item_positions) - window_fit.earlier_count
    ][-MAX_PREVIOUS_ITEMS:]
    return Window(
        item_positions,
        contents,
        bool(previous_item_positions),
        window_fit.later_count < len(later_item_positions),
        previous_item_positions,
    )
