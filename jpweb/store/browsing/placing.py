"""Derived columns of entries from before they were derived, or derived otherwise, made again."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection, transaction

from jpweb.store import journal
from jpweb.store.models import Conversation, JournalEntry, Turn
from jpweb.store.rows import derived, growth, many
from jpweb.stream.wire.glances import glance


def place_all(progress: Callable[[int, int], None]) -> int:
    """Derive what is not derived as it is now; returns how many conversations that were.

    ``progress`` is told how many are done, and of how many. What is interrupted goes on with the
    next call.
    """
    stale = Conversation.objects.exclude(placed=growth.PLACED).order_by("pk")
    keys = list(stale.values_list("pk", flat=True))
    for done, key in enumerate(keys):
        progress(done, len(keys))
        _place(key)
    if keys:
        progress(len(keys), len(keys))
    return len(keys)


@transaction.atomic
def _place(conversation_id: int) -> None:
    conversation = journal.held(conversation_id)
    entries = JournalEntry.objects.filter(conversation=conversation).order_by("position")
    rows = list(entries.values_list("text", "anchor", "pk"))
    laid = derived.laid([glance(text) for text, *_ in rows], [anchor for _, anchor, _ in rows])
    places = [
        (head, facet, row[-1]) for (*_, head, facet), row in zip(laid.entries, rows, strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {JournalEntry.TABLE} SET head = %s, facet = %s WHERE id = %s",  # noqa: S608  our own name
            places,
        )
    Turn.objects.filter(conversation=conversation).delete()
    turns = [(conversation_id, number, *begun) for number, begun in enumerate(laid.turns)]
    many.insert(Turn.TABLE, journal.TURN, turns)
    journal.count(conversation, laid)
    conversation.indexed_length = 0  # passages say where they are shown as well
    conversation.save(update_fields=[*growth.COLUMNS, "indexed_length"])
