"""The raw entries of a conversation, a page at a time."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import QuerySet
from django.db.models.functions import Length, Substr

from jpweb.store.masking import masks
from jpweb.store.models import JournalEntry
from jpweb.stream.compaction import CompactionOverlay
from jpweb.stream.events import Compaction

#: Entries per page, and characters read of each.
PAGE_ENTRIES, MAX_ENTRY_CHARS = 50, 4_000
#: Compactions of a conversation that a page evaluates; it refuses conversations with more.
MAX_OVERLAYS = 500
#: Categories whose entries no summary replaces.
_NEVER_COMPACTED = ("configuration", "unknown", "broken")


class StoredEntry(NamedTuple):
    """An entry: the first characters of its text, and the length of the full text."""

    position: int
    anchor: str
    kind: str
    category: str
    text: str
    char_count: int

    @property
    def is_complete(self) -> bool:
        """Whether ``text`` is the full text."""
        return len(self.text) == self.char_count


class CompactionEntry(NamedTuple):
    """A compaction with the anchor of its event."""

    anchor: str
    overlay: CompactionOverlay


def list_entries(conversation_id: int, first_position: int) -> list[StoredEntry]:
    """Return a page of entries from a position on."""
    rows = JournalEntry.objects.filter(
        conversation_id=conversation_id, position__gte=first_position
    )
    return _load_entries(conversation_id, rows.order_by("position"))


def list_entries_before(conversation_id: int, position: int) -> list[StoredEntry]:
    """Return a page of entries before a position, in order."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, position__lt=position)
    return _load_entries(conversation_id, rows.order_by("-position"))[::-1]


def find_next_item_position(conversation_id: int, item_position: int, end: int) -> int | None:
    """Return the position of the item after one, if it is before a position."""
    rows = JournalEntry.objects.filter(
        conversation_id=conversation_id, item_position__gt=item_position
    )
    return (
        rows.filter(item_position__lt=end)
        .order_by("item_position")
        .values_list("item_position", flat=True)
        .first()
    )


def list_compactions(conversation_id: int) -> list[CompactionEntry] | None:
    """Return the compactions, in order; None where there are more than ``MAX_OVERLAYS``."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, category="compaction")
    entries = list(
        rows.order_by("item_position").values_list("position", "anchor", "text")[: MAX_OVERLAYS + 1]
    )
    if len(entries) > MAX_OVERLAYS:
        return None
    event_masks = masks.load_masks(conversation_id, [anchor for _, anchor, _ in entries])
    return [
        CompactionEntry(anchor, CompactionOverlay(event.timestamp, position, event.kind))
        for position, anchor, text in entries
        for event in event_masks.read_element(anchor, text).events
        if isinstance(event.kind, Compaction)
    ]


def count_never_compacted(conversation_id: int, first_position: int, end: int) -> int:
    """Return the number of entries between two positions that no summary replaces."""
    rows = JournalEntry.objects.filter(
        conversation_id=conversation_id, category__in=_NEVER_COMPACTED
    )
    return rows.filter(item_position__gte=first_position, item_position__lt=end).count()


def _load_entries(conversation_id: int, rows: QuerySet[JournalEntry]) -> list[StoredEntry]:
    columns = (
        "position",
        "anchor",
        "kind",
        "category",
        Substr("text", 1, MAX_ENTRY_CHARS),
        Length("text"),
    )
    entries = [StoredEntry(*row) for row in rows.values_list(*columns)[:PAGE_ENTRIES]]
    event_masks = masks.load_masks(conversation_id, [entry.anchor for entry in entries])
    return [
        _mask_entry(conversation_id, entry, event_masks) if entry.anchor in event_masks else entry
        for entry in entries
    ]


def _mask_entry(conversation_id: int, entry: StoredEntry, event_masks: masks.Masks) -> StoredEntry:
    """Return an entry masked; all of its text is read, since a mask may begin beyond the cut."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, position=entry.position)
    text = event_masks.mask_text(entry.anchor, rows.values_list("text", flat=True).first() or "")
    return entry._replace(text=text[:MAX_ENTRY_CHARS], char_count=len(text))
