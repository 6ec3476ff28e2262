"""One item: with all its elements, or as a transcript shows it."""

from __future__ import annotations

from typing import NamedTuple

from jpweb.store.masking import masks
from jpweb.store.models import JournalEntry
from jpweb.store.transcript import windows
from jpweb.stream.events import Element
from jpweb.stream.transcript.items import Item


class FullItem(NamedTuple):
    """The elements of an item, in order; ``event_index`` is that of the requested event."""

    elements: list[Element]
    event_index: int


def load_full_item(conversation_id: int, anchor: str) -> FullItem:
    """Return every element of the item that shows an event. Raises UnknownAnchor."""
    event_position = windows.get_position(conversation_id, anchor)
    entries = JournalEntry.objects.filter(conversation_id=conversation_id)
    item_position = entries.filter(position=event_position).values_list("item_position", flat=True)[
        :1
    ]
    rows = (
        entries.filter(item_position=item_position)
        .order_by("position")
        .values_list("position", "anchor", "text")
    )
    entry_rows = list(rows)
    event_index = [position for position, _, _ in entry_rows].index(event_position)
    event_masks = masks.load_masks(conversation_id, [anchor for _, anchor, _ in entry_rows])
    elements = [event_masks.read_element(anchor, text) for _, anchor, text in entry_rows]
    return FullItem(elements, event_index)


def load_item(conversation_id: int, position: int) -> Item | None:
    """Return the item of the entry at a position, within the limits of a transcript."""
    entries = JournalEntry.objects.filter(conversation_id=conversation_id, position=position)
    item_positions = list(entries.values_list("item_position", flat=True))
    items = windows.load_items(conversation_id, item_positions).items if item_positions else []
    return items[0].item if items else None
