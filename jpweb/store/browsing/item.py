"""One item, all of it."""

from __future__ import annotations

from typing import NamedTuple

from jpweb.store.browsing import windows
from jpweb.store.models import JournalEntry
from jpweb.stream import wire
from jpweb.stream.events import Element


class Whole(NamedTuple):
    """The elements of an item, in order; ``named`` is the one of them that was asked for."""

    elements: list[Element]
    named: int


def whole(conversation_id: int, anchor: str) -> Whole:
    """Return every element of the item that an event is shown in. Raises UnknownEvent."""
    place = windows.position(conversation_id, anchor)
    entries = JournalEntry.objects.filter(conversation_id=conversation_id)
    head = entries.filter(position=place).values_list("head", flat=True)[:1]
    rows = entries.filter(head=head).order_by("position").values_list("position", "text")
    found = list(rows)
    named = [position for position, _ in found].index(place)
    return Whole([wire.read(text) for _, text in found], named)
