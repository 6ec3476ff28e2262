"""A conversation as it stands on record, a part at a time."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import QuerySet
from django.db.models.functions import Length, Substr

from jpweb.store.models import JournalEntry
from jpweb.stream import wire
from jpweb.stream.compaction import Overlay
from jpweb.stream.events import Compaction

#: Elements that are read at once, and characters of each.
ENTRIES, CUT = 50, 4_000
#: Compactions that are taken into account; more are looked at by nobody.
OVERLAYS = 500
#: Facets of which no summary replaces anything.
_STAY = ("configuration", "unknown", "broken")


class Kept(NamedTuple):
    """An entry: the beginning of its text, as it came, and how long all of it is."""

    position: int
    anchor: str
    kind: str
    facet: str
    text: str
    length: int

    @property
    def whole(self) -> bool:
        """Whether ``text`` is all of it."""
        return len(self.text) == self.length


class Shortening(NamedTuple):
    """A compaction with the anchor of its event."""

    anchor: str
    overlay: Overlay


def entries(conversation_id: int, first: int) -> list[Kept]:
    """Return the entries from a position on."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, position__gte=first)
    return _kept(rows.order_by("position"))


def entries_before(conversation_id: int, position: int) -> list[Kept]:
    """Return the entries before a position, in order."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, position__lt=position)
    return _kept(rows.order_by("-position"))[::-1]


def next_head(conversation_id: int, head: int, end: int) -> int | None:
    """Return the head of the item after one, where it is before a position."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, head__gt=head)
    return rows.filter(head__lt=end).order_by("head").values_list("head", flat=True).first()


def shortenings(conversation_id: int) -> list[Shortening] | None:
    """Return the compactions, in order; None where there are more than anybody looks at."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, facet="compaction")
    found = list(rows.order_by("head").values_list("position", "anchor", "text")[: OVERLAYS + 1])
    if len(found) > OVERLAYS:
        return None
    return [
        Shortening(anchor, Overlay(event.timestamp, position, event.kind))
        for position, anchor, text in found
        for event in wire.read(text).events
        if isinstance(event.kind, Compaction)
    ]


def staying(conversation_id: int, first: int, end: int) -> int:
    """Return how many entries between two positions no summary replaces."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, facet__in=_STAY)
    return rows.filter(head__gte=first, head__lt=end).count()


def _kept(rows: QuerySet[JournalEntry]) -> list[Kept]:
    columns = ("position", "anchor", "kind", "facet", Substr("text", 1, CUT), Length("text"))
    return [Kept(*row) for row in rows.values_list(*columns)[:ENTRIES]]
