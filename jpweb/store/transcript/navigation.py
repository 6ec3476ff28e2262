"""Navigation: from an item to the next or previous one of a sort, at any distance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from jpweb.store.models import JournalEntry
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.stream.transcript.categories import CATEGORIES, PROBLEM_CATEGORIES

#: Facets of the entries at which stepping stops, by sort.
FACETS_BY_SORT = {
    "item": tuple(facet for facet in CATEGORIES if facet != "turn"),
    "prompt": ("person",),
    "inquiry": ("question",),
    "problem": PROBLEM_CATEGORIES,
}


class NavigationTarget(NamedTuple):
    """An entry, with the head of the item that it is shown in."""

    head: int
    position: int
    anchor: str


def find_next(conversation_id: int, head: int, facets: Iterable[str]) -> NavigationTarget | None:
    """Return the first entry of these facets in the items after a head, or None."""
    return min(_find_nearest(conversation_id, head, facets, is_backward=False), default=None)


def find_previous(
    conversation_id: int, head: int, facets: Iterable[str]
) -> NavigationTarget | None:
    """Return the last entry of these facets in the items before a head, or None."""
    return max(_find_nearest(conversation_id, head, facets, is_backward=True), default=None)


def get_anchor(conversation_id: int, position: int) -> str:
    """Return the anchor of the entry at a position; empty where there is none."""
    return next((anchor for (anchor,) in _anchor_query([conversation_id], [position])), "")


_anchor_query = CompiledQuery(
    lambda conversation_ids, positions: JournalEntry.objects.filter(
        conversation_id__in=conversation_ids, position__in=positions
    ).values_list("anchor")
)


def _find_nearest(
    conversation_id: int, head: int, facets: Iterable[str], *, is_backward: bool
) -> list[NavigationTarget]:
    """Return the nearest entry of each facet: one query, and so one index lookup, per facet."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id)
    rows = rows.filter(head__lt=head) if is_backward else rows.filter(head__gt=head)
    order = ("-head", "-position") if is_backward else ("head", "position")
    targets: list[NavigationTarget] = []
    for facet in facets:
        facet_rows = rows.filter(facet=facet).order_by(*order)
        targets += [
            NavigationTarget(*row)
            for row in facet_rows.values_list("head", "position", "anchor")[:1]
        ]
    return targets
