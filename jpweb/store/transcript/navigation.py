"""Navigation: from an item to the next or previous one of a sort, at any distance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from jpweb.store.models import JournalEntry
from jpweb.stream.transcript.categories import CATEGORIES, PROBLEM_CATEGORIES

#: Categories of the entries at which stepping stops, by sort.
CATEGORIES_BY_SORT = {
    "item": tuple(category for category in CATEGORIES if category != "turn"),
    "prompt": ("person",),
    "inquiry": ("question",),
    "problem": PROBLEM_CATEGORIES,
}


class NavigationTarget(NamedTuple):
    """An entry, with the position of the item that it is shown in."""

    item_position: int
    position: int
    anchor: str


def find_next(
    conversation_id: int, item_position: int, categories: Iterable[str]
) -> NavigationTarget | None:
    """Return the first entry of these categories in the items after a position, or None."""
    return min(
        _find_nearest(conversation_id, item_position, categories, is_backward=False), default=None
    )


def find_previous(
    conversation_id: int, item_position: int, categories: Iterable[str]
) -> NavigationTarget | None:
    """Return the last entry of these categories in the items before a position, or None."""
    return max(
        _find_nearest(conversation_id, item_position, categories, is_backward=True), default=None
    )


def get_anchor(conversation_id: int, position: int) -> str:
    """Return the anchor of the entry at a position; empty where there is none."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, position=position)
    return next(iter(rows.values_list("anchor", flat=True)), "")


def _find_nearest(
    conversation_id: int, item_position: int, categories: Iterable[str], *, is_backward: bool
) -> list[NavigationTarget]:
    """Return the nearest entry of each category: one query, and one index lookup, for each."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id)
    rows = (
        rows.filter(item_position__lt=item_position)
        if is_backward
        else rows.filter(item_position__gt=item_position)
    )
    order = ("-item_position", "-position") if is_backward else ("item_position", "position")
    targets: list[NavigationTarget] = []
    for category in categories:
        category_rows = rows.filter(category=category).order_by(*order)
        targets += [
            NavigationTarget(*row)
            for row in category_rows.values_list("item_position", "position", "anchor")[:1]
        ]
    return targets
