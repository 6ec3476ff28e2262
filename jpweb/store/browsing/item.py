"""One item, all of it."""

from __future__ import annotations

from jpweb.store.browsing import windows
from jpweb.store.models import JournalEntry
from jpweb.stream import wire
from jpweb.stream.events import Element


def elements(conversation_id: int, anchor: str) -> list[Element]:
    """Return every element of the item that an event is shown in, in order. Raises UnknownEvent."""
    place = windows.position(conversation_id, anchor)
    entries = JournalEntry.objects.filter(conversation_id=conversation_id)
    head = entries.filter(position=place).values_list("head", flat=True)[:1]
    texts = entries.filter(head=head).order_by("position").values_list("text", flat=True)
    return [wire.read(text) for text in texts]
