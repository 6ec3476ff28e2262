"""Steps: from an item to the next or previous thing of a sort, however far away it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from jpweb.store.models import JournalEntry
from jpweb.store.rows.prepared import Prepared
from jpweb.stream.layout.facets import FACETS, PROBLEMS

#: What people step between, by the facets of what is looked for.
SORTS = {
    "item": tuple(facet for facet in FACETS if facet != "turn"),
    "prompt": ("person",),
    "inquiry": ("question",),
    "problem": PROBLEMS,
}


class Step(NamedTuple):
    """An entry, with the head of the item that it is shown in."""

    head: int
    position: int
    anchor: str


def following(conversation_id: int, head: int, facets: Iterable[str]) -> Step | None:
    """Return the first entry of these facets in the items after a head, or None."""
    return min(_nearest(conversation_id, head, facets, back=False), default=None)


def preceding(conversation_id: int, head: int, facets: Iterable[str]) -> Step | None:
    """Return the last entry of these facets in the items before a head, or None."""
    return max(_nearest(conversation_id, head, facets, back=True), default=None)


def anchor(conversation_id: int, position: int) -> str:
    """Return the anchor of the entry at a position; nothing where there is none."""
    return next((anchor for (anchor,) in _anchor([conversation_id], [position])), "")


_anchor = Prepared(
    lambda talks, positions: JournalEntry.objects.filter(
        conversation_id__in=talks, position__in=positions
    ).values_list("anchor")
)


def _nearest(conversation_id: int, head: int, facets: Iterable[str], *, back: bool) -> list[Step]:
    """Return the nearest entry of each facet: a query each, since each is a row of the index."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id)
    rows = rows.filter(head__lt=head) if back else rows.filter(head__gt=head)
    order = ("-head", "-position") if back else ("head", "position")
    found: list[Step] = []
    for facet in facets:
        own = rows.filter(facet=facet).order_by(*order)
        found += [Step(*row) for row in own.values_list("head", "position", "anchor")[:1]]
    return found
