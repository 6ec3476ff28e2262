"""One item: with all its elements, or as a transcript shows it."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import QuerySet, Sum
from django.db.models.functions import Length

from jpweb.store.masking import masks
from jpweb.store.models import JournalEntry
from jpweb.store.transcript import windows
from jpweb.stream.events import Element
from jpweb.stream.transcript.items import Item


class FullItem(NamedTuple):
    """The elements of an item, in order; ``event_index`` is that of the requested event."""

    elements: list[Element]
    event_index: int


def measure_element(conversation_id: int, anchor: str) -> int:
    """Return the number of characters of an event's element. Raises UnknownAnchor."""
    position = windows.get_position(conversation_id, anchor)
    return _measure(_filter_entries(conversation_id).filter(position=position))


def measure_item(conversation_id: int, anchor: str) -> int:
    """Return the number of characters of the item that shows an event. Raises UnknownAnchor."""
    position = windows.get_position(conversation_id, anchor)
    return _measure(_filter_item(conversation_id, position))


def load_full_item(conversation_id: int, anchor: str) -> FullItem:
    """Return every element of the item that shows an event. Raises UnknownAnchor."""
    event_position = windows.get_position(conversation_id, anchor)
    rows = _filter_item(conversation_id, event_position).order_by("position")
    entry_rows = list(rows.values_list("position", "anchor", "text"))
    event_index = [position for position, _, _ in entry_rows].index(event_position)
    event_masks = masks.load_masks(conversation_id, [anchor for _, anchor, _ in entry_rows])
    elements = [event_masks.read_element(anchor, text) for _, anchor, text in entry_rows]
    return FullItem(elements, event_index)


def load_item(conversation_id: int, position: int) -> Item | None:
    """Return the item of the entry at a position, within the limits of a transcript."""
    entries = _filter_entries(conversation_id).filter(position=position)
    item_positions = list(entries.values_list("item_position", flat=True))
    items = windows.load_items(conversation_id, item_positions).items if item_positions else []
    return items[0].item if items else None


def _filter_entries(conversation_id: int) -> QuerySet[JournalEntry]:
    return JournalEntry.objects.filter(conversation_id=conversation_id)


def _filter_item(conversation_id: int, position: int) -> QuerySet[JournalEntry]:
    entries = _filter_entries(conversation_id)
    item_positions = entries.filter(position=position).values_list("item_position", flat=True)
    return entries.filter(item_position=item_positions[:1])


def _measure(entries: QuerySet[JournalEntry]) -> int:
    return entries.aggregate(total=Sum(Length("text")))["total"] or 0
