"""Windows: some items of a conversation in a row, at a cost that does not grow with its length.

Items are named by their heads (``stream.layout.places``); a window is chosen by heads alone, and
then only what it shows is read.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, QuerySet, Value

from jpweb.store.browsing.contents import Contents, Members
from jpweb.store.errors import UnknownEvent
from jpweb.store.models import JournalEntry
from jpweb.store.rows.prepared import Prepared
from jpweb.stream import identity, timestamps, wire
from jpweb.stream.events import ConversationEvent
from jpweb.stream.layout.facets import FACETS

#: A window holds at most so many items, of about so many characters; one item it always holds.
ITEMS = 50
WEIGHT = 100_000
#: Entries that are looked through for what changed.
_LOOKED_THROUGH = 5_000

#: What is chosen to be shown: facets, or all.
Facets = Collection[str] | None


@dataclass(frozen=True, slots=True)
class Window:
    """Items in a row; ``earlier`` and ``later`` tell whether there are others on that side.

    ``previous`` is the head of the one before them.
    """

    heads: list[int] = field(default_factory=list)
    contents: Contents = field(default_factory=Contents)
    earlier: bool = False
    later: bool = False
    previous: int | None = None


def position(conversation_id: int, anchor: str) -> int:
    """Return the position of the element that a permalink names. Raises UnknownEvent."""
    whole, _ = identity.whole(anchor)
    found = JournalEntry.objects.filter(conversation_id=conversation_id, anchor=whole)
    place = found.values_list("position", flat=True).first()
    if place is None:
        raise UnknownEvent(f"There is no event {anchor} in this conversation.")
    return place


def start(conversation_id: int, facets: Facets = None) -> Window:
    """Return the first items."""
    return after(conversation_id, -1, facets)


def end(conversation_id: int, facets: Facets = None) -> Window:
    """Return the last items."""
    return before(conversation_id, None, facets)


def after(conversation_id: int, head: int, facets: Facets = None) -> Window:
    """Return the items that follow one, by its head."""
    on = _later(conversation_id, head, facets)
    fits = _fitting(Members(conversation_id, [], on), [], on)
    back = _earlier(conversation_id, head + 1, facets, 1) if head >= 0 else []
    return _window(fits, back, on)


def before(conversation_id: int, head: int | None, facets: Facets = None) -> Window:
    """Return the items before one, by its head; the last ones where that is None."""
    back = _earlier(conversation_id, head, facets, ITEMS + 1)
    fits = _fitting(Members(conversation_id, back, []), back, [])
    on = [] if head is None else _later(conversation_id, head - 1, facets, 1)
    return _window(fits, back, on)


def around(conversation_id: int, place: int, facets: Facets = None) -> Window:
    """Return the item in which a position is shown, with some before and after it.

    It is shown whether or not it is among ``facets``; nothing where there is no such position.
    """
    entries = JournalEntry.objects.filter(conversation_id=conversation_id, position=place)
    head = entries.values_list("head", flat=True).first()
    if head is None:
        return Window()
    # Where there are few on one side, all of a window may stand on the other, and one beyond it.
    back = _earlier(conversation_id, head, facets, ITEMS + 1)
    on = [head, *_later(conversation_id, head, facets)]
    fits = _fitting(Members(conversation_id, back, on), back, on)
    return _window(fits, back, on)


def of(conversation_id: int, heads: Collection[int]) -> Contents:
    """Return exactly these items."""
    return Members(conversation_id, [], heads).read(sorted(heads))


def changed(conversation_id: int, length: int) -> list[int] | None:
    """Return the heads of the items that the entries from a position on are part of, in order.

    None where there are more than a window holds, or more entries than are looked through.
    """
    heads = [head for (head,) in _new([conversation_id], [length])]
    if len(heads) > _LOOKED_THROUGH:
        return None
    found = sorted(set(heads))
    return found if len(found) <= ITEMS else None


_new = Prepared(
    lambda talks, length: (
        JournalEntry.objects.filter(conversation_id__in=talks, position__gte=Value(length[0]))
        .order_by("position")
        .values_list("head")[: _LOOKED_THROUGH + 1]
    )
)


def continued(conversation_id: int, length: int) -> list[int]:
    """Return the heads before a position that entries from it on are part of, as many as fit."""
    new = JournalEntry.objects.filter(conversation_id=conversation_id, position__gte=length)
    older = new.filter(head__lt=length).order_by("head").values_list("head", flat=True)
    return list(older.distinct()[:ITEMS])


def beside(
    conversation_id: int, head: int, facets: Facets, later: int
) -> tuple[int | None, list[int]]:
    """Return the head before one, and so many after it."""
    back = _earlier(conversation_id, head, facets, 1)
    return next(iter(back), None), _later(conversation_id, head, facets, later)


def ended(conversation_id: int, head: int) -> datetime | None:
    """Return when the last event of an item happened; None where it does not say."""
    return _time(_last_text([conversation_id], [head]))


def happened(conversation_id: int, position: int) -> datetime | None:
    """Return when an event happened; None where it does not say, and where there is none."""
    return _time(_text([conversation_id], [position]))


_last_text = Prepared(
    lambda talks, heads: (
        JournalEntry.objects.filter(conversation_id__in=talks, head__in=heads)
        .order_by("-position")
        .values_list("text")[:1]
    )
)
_text = Prepared(
    lambda talks, positions: JournalEntry.objects.filter(
        conversation_id__in=talks, position__in=positions
    ).values_list("text")
)


def _time(rows: list[tuple[str]]) -> datetime | None:
    text = rows[0][0] if rows else ""
    body = wire.read(text).body if text else None
    return timestamps.parse(body.timestamp) if isinstance(body, ConversationEvent) else None


def count(conversation_id: int, facets: Collection[str]) -> dict[str, int]:
    """Return how many entries, by facet, the items have that any entry of these is part of."""
    own = JournalEntry.objects.filter(conversation_id=conversation_id)
    chosen = own.filter(facet__in=facets).values("head")
    counted = own.filter(head__in=chosen).order_by().values("facet").annotate(n=Count("id"))
    return {row["facet"]: row["n"] for row in counted}


def _earlier(conversation_id: int, head: int | None, facets: Facets, most: int) -> list[int]:
    """Return the nearest heads before one, in order."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id)
    if head is not None:
        rows = rows.filter(head__lt=head)
    return sorted(_nearest(rows, "-head", facets, most))


def _later(conversation_id: int, head: int, facets: Facets, most: int = ITEMS + 1) -> list[int]:
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, head__gt=head)
    return sorted(_nearest(rows, "head", facets, most))


def _nearest(rows: QuerySet[JournalEntry], order: str, facets: Facets, most: int) -> list[int]:
    """Return the nearest heads: a query for each facet, since each is a row of its own index."""
    if facets is None:
        return list(rows.order_by(order).values_list("head", flat=True).distinct()[:most])
    found: set[int] = set()
    for facet in FACETS:
        if facet in facets:
            own = rows.filter(facet=facet).order_by(order)
            found.update(own.values_list("head", flat=True).distinct()[:most])
    return sorted(found, reverse=order.startswith("-"))[:most]


@dataclass(slots=True)
class _Fits:
    """How many of the heads on each side fit, and their elements."""

    members: Members
    back: int = 0
    on: int = 0


def _fitting(members: Members, back: list[int], on: list[int]) -> _Fits:
    """Return how many fit, the nearest to the place between both sides first."""
    fits, weight = _Fits(members), 0.0
    while fits.back + fits.on < ITEMS:
        goes_back = fits.back < len(back) and (fits.on >= len(on) or fits.back < fits.on)
        if not goes_back and fits.on >= len(on):
            break
        head = back[-1 - fits.back] if goes_back else on[fits.on]
        weight += members.weight(head)
        if weight > WEIGHT and fits.back + fits.on:
            break
        fits.back, fits.on = fits.back + goes_back, fits.on + (not goes_back)
    return fits


def _window(fits: _Fits, back: list[int], on: list[int]) -> Window:
    heads = [*back[len(back) - fits.back :], *on[: fits.on]]
    contents = fits.members.read(heads)
    previous = back[-1 - fits.back] if fits.back < len(back) else None
    return Window(heads, contents, previous is not None, fits.on < len(on), previous)
