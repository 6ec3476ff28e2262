"""Windows: consecutive items of a conversation, at a cost independent of its length.

Items are identified by their heads (``stream.transcript.grouping``). A window is selected by heads
alone; then only its visible content is read.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, QuerySet, Value

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
#: New entries read at most to find the changed items.
_MAX_CHANGED_ENTRIES = 5_000

#: Facets to show; None for all.
FacetFilter = Collection[str] | None


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive items; ``has_earlier`` and ``has_later`` tell whether others are on that side.

    ``previous_head`` is the head of the item before them.
    """

    heads: list[int] = field(default_factory=list)
    contents: LoadedItems = field(default_factory=LoadedItems)
    has_earlier: bool = False
    has_later: bool = False
    previous_head: int | None = None


def get_position(conversation_id: int, anchor: str) -> int:
    """Return the position of the element that a permalink names. Raises UnknownAnchor."""
    element_anchor, _ = anchor_ids.split_anchor(anchor)
    entries = JournalEntry.objects.filter(conversation_id=conversation_id, anchor=element_anchor)
    position = entries.values_list("position", flat=True).first()
    if position is None:
        raise UnknownAnchor(f"There is no event {anchor} in this conversation.")
    return position


def load_first(conversation_id: int, facets: FacetFilter = None) -> Window:
    """Return the first items."""
    return load_after(conversation_id, -1, facets)


def load_last(conversation_id: int, facets: FacetFilter = None) -> Window:
    """Return the last items."""
    return load_before(conversation_id, None, facets)


def load_after(conversation_id: int, head: int, facets: FacetFilter = None) -> Window:
    """Return the items that follow one, by its head."""
    later_heads = _later_heads(conversation_id, head, facets)
    fit = _fit_window(ItemLoader(conversation_id, [], later_heads), [], later_heads)
    earlier_heads = _earlier_heads(conversation_id, head + 1, facets, 1) if head >= 0 else []
    return _make_window(fit, earlier_heads, later_heads)


def load_before(conversation_id: int, head: int | None, facets: FacetFilter = None) -> Window:
    """Return the items before one, by its head; the last ones where that is None."""
    earlier_heads = _earlier_heads(conversation_id, head, facets, MAX_ITEMS + 1)
    fit = _fit_window(ItemLoader(conversation_id, earlier_heads, []), earlier_heads, [])
    later_heads = [] if head is None else _later_heads(conversation_id, head - 1, facets, 1)
    return _make_window(fit, earlier_heads, later_heads)


def load_around(conversation_id: int, position: int, facets: FacetFilter = None) -> Window:
    """Return the item that holds a position, with its neighbours.

    The item is included even if it has none of ``facets``. The window is empty for an unknown
    position.
    """
    entries = JournalEntry.objects.filter(conversation_id=conversation_id, position=position)
    head = entries.values_list("head", flat=True).first()
    if head is None:
        return Window()
    # Nearly all of a window may be earlier items; a further one sets ``has_earlier``.
    earlier_heads = _earlier_heads(conversation_id, head, facets, MAX_ITEMS + 1)
    later_heads = [head, *_later_heads(conversation_id, head, facets)]
    fit = _fit_window(
        ItemLoader(conversation_id, earlier_heads, later_heads), earlier_heads, later_heads
    )
    return _make_window(fit, earlier_heads, later_heads)


def load_items(conversation_id: int, heads: Collection[int]) -> LoadedItems:
    """Return exactly these items."""
    return ItemLoader(conversation_id, [], heads).load_items(sorted(heads))


def find_changed_heads(conversation_id: int, lengths: int) -> list[int] | None:
    """Return the heads of the items with entries from a position on, in order.

    None for more than ``MAX_ITEMS`` items or ``_MAX_CHANGED_ENTRIES`` entries.
    """
    heads = [head for (head,) in _new_heads_query([conversation_id], [lengths])]
    if len(heads) > _MAX_CHANGED_ENTRIES:
        return None
    changed_heads = sorted(set(heads))
    return changed_heads if len(changed_heads) <= MAX_ITEMS else None


_new_heads_query = CompiledQuery(
    lambda conversation_ids, lengths: (
        JournalEntry.objects.filter(
            conversation_id__in=conversation_ids, position__gte=Value(lengths[0])
        )
        .order_by("position")
        .values_list("head")[: _MAX_CHANGED_ENTRIES + 1]
    )
)


def find_continued_heads(conversation_id: int, lengths: int) -> list[int]:
    """Return up to ``MAX_ITEMS`` heads before a position whose items have entries from it on."""
    new_entries = JournalEntry.objects.filter(
        conversation_id=conversation_id, position__gte=lengths
    )
    older_heads = (
        new_entries.filter(head__lt=lengths).order_by("head").values_list("head", flat=True)
    )
    return list(older_heads.distinct()[:MAX_ITEMS])


def get_neighbours(
    conversation_id: int, head: int, facets: FacetFilter, later_count: int
) -> tuple[int | None, list[int]]:
    """Return the head before one, and ``later_count`` heads after it."""
    earlier_heads = _earlier_heads(conversation_id, head, facets, 1)
    return next(iter(earlier_heads), None), _later_heads(conversation_id, head, facets, later_count)


def get_end_time(conversation_id: int, head: int) -> datetime | None:
    """Return the time of an item's last event; None where it has none."""
    return _parse_time(_last_text_query([conversation_id], [head]))


def get_event_time(conversation_id: int, position: int) -> datetime | None:
    """Return the time of an event; None where it has none, and for an unknown position."""
    return _parse_time(_text_query([conversation_id], [position]))


_last_text_query = CompiledQuery(
    lambda conversation_ids, heads: (
        JournalEntry.objects.filter(conversation_id__in=conversation_ids, head__in=heads)
        .order_by("-position")
        .values_list("text")[:1]
    )
)
_text_query = CompiledQuery(
    lambda conversation_ids, positions: JournalEntry.objects.filter(
        conversation_id__in=conversation_ids, position__in=positions
    ).values_list("text")
)


def _parse_time(rows: list[tuple[str]]) -> datetime | None:
    text = rows[0][0] if rows else ""
    body = wire.read_element(text).body if text else None
    return (
        timestamps.parse_timestamp(body.timestamp) if isinstance(body, ConversationEvent) else None
    )


def count_by_facet(conversation_id: int, facets: Collection[str]) -> dict[str, int]:
    """Return the number of entries, by facet, in the items that have an entry of these facets."""
    entries = JournalEntry.objects.filter(conversation_id=conversation_id)
    chosen_heads = entries.filter(facet__in=facets).values("head")
    facet_counts = (
        entries.filter(head__in=chosen_heads).order_by().values("facet").annotate(n=Count("id"))
    )
    return {row["facet"]: row["n"] for row in facet_counts}


def _earlier_heads(
    conversation_id: int, head: int | None, facets: FacetFilter, limit: int
) -> list[int]:
    """Return the nearest heads before one, in order."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id)
    if head is not None:
        rows = rows.filter(head__lt=head)
    return sorted(_nearest_heads(rows, "-head", facets, limit))


def _later_heads(
    conversation_id: int, head: int, facets: FacetFilter, limit: int = MAX_ITEMS + 1
) -> list[int]:
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, head__gt=head)
    return sorted(_nearest_heads(rows, "head", facets, limit))


def _nearest_heads(
    rows: QuerySet[JournalEntry], order: str, facets: FacetFilter, limit: int
) -> list[int]:
    """Return the nearest heads: one query per facet, since each facet is a separate index range."""
    if facets is None:
        return list(rows.order_by(order).values_list("head", flat=True).distinct()[:limit])
    nearest_heads: set[int] = set()
    for facet in CATEGORIES:
        if facet in facets:
            facet_rows = rows.filter(facet=facet).order_by(order)
            nearest_heads.update(facet_rows.values_list("head", flat=True).distinct()[:limit])
    return sorted(nearest_heads, reverse=order.startswith("-"))[:limit]


@dataclass(slots=True)
class _WindowFit:
    """The number of heads on each side that fit, and the loader of their elements."""

    loader: ItemLoader
    earlier_count: int = 0
    later_count: int = 0


def _fit_window(loader: ItemLoader, earlier_heads: list[int], later_heads: list[int]) -> _WindowFit:
    """Return how many heads fit, the nearest to the border of both sides first."""
    fit, weight = _WindowFit(loader), 0.0
    while fit.earlier_count + fit.later_count < MAX_ITEMS:
        is_earlier = fit.earlier_count < len(earlier_heads) and (
            fit.later_count >= len(later_heads) or fit.earlier_count < fit.later_count
        )
        if not is_earlier and fit.later_count >= len(later_heads):
            break
        head = earlier_heads[-1 - fit.earlier_count] if is_earlier else later_heads[fit.later_count]
        weight += loader.get_weight(head)
        if weight > MAX_WEIGHT_CHARS and fit.earlier_count + fit.later_count:
            break
        fit.earlier_count, fit.later_count = (
            fit.earlier_count + is_earlier,
            fit.later_count + (not is_earlier),
        )
    return fit


def _make_window(fit: _WindowFit, earlier_heads: list[int], later_heads: list[int]) -> Window:
    heads = [
        *earlier_heads[len(earlier_heads) - fit.earlier_count :],
        *later_heads[: fit.later_count],
    ]
    contents = fit.loader.load_items(heads)
    previous_head = (
        earlier_heads[-1 - fit.earlier_count] if fit.earlier_count < len(earlier_heads) else None
    )
    return Window(
        heads,
        contents,
        previous_head is not None,
        fit.later_count < len(later_heads),
        previous_head,
    )
