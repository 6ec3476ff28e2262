"""Rebuilds derived columns that are of an older ``DERIVED_VERSION``."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection, transaction

from jpweb.store import journal
from jpweb.store.derived_rows import from_stream, on_append
from jpweb.store.models import Conversation, JournalEntry, Turn
from jpweb.store.sql import bulk
from jpweb.store.suspected_secrets import derived_masks
from jpweb.stream.wire.partial import read_partial


def rebuild_all(progress: Callable[[int, int], None]) -> int:
    """Rebuild the derived columns of an older version; returns the number of conversations.

    ``progress`` gets the number done, and of all. After an interruption the next call
    continues.
    """
    _renew_passages()
    stale_rows = Conversation.objects.exclude(derived_version=on_append.DERIVED_VERSION).order_by(
        "pk"
    )
    conversation_ids = list(stale_rows.values_list("pk", flat=True))
    for done_count, conversation_id in enumerate(conversation_ids):
        progress(done_count, len(conversation_ids))
        _rebuild(conversation_id)
    if conversation_ids:
        progress(len(conversation_ids), len(conversation_ids))
    return len(conversation_ids)


def _renew_passages() -> None:
    """Have conversations indexed again of which the passages alone are of an older version."""
    versions = range(on_append.COLUMNS_VERSION, on_append.DERIVED_VERSION)
    conversations = Conversation.objects.filter(derived_version__in=versions)
    if conversations.exists():  # an update takes SQLite's lock even if it finds none
        conversations.update(
            derived_version=on_append.DERIVED_VERSION, needs_indexing=True, indexed_entry_count=0
        )


@transaction.atomic
def _rebuild(conversation_id: int) -> None:
    conversation = journal.lock_conversation(conversation_id)
    entries = JournalEntry.objects.filter(conversation=conversation).order_by("position")
    rows = list(entries.values_list("text", "anchor", "pk"))
    stream_rows = from_stream.derive_stream_rows(
        [read_partial(text) for text, *_ in rows], [anchor for _, anchor, _ in rows]
    )
    values = [
        (item_position, category, row[-1])
        for (*_, item_position, category), row in zip(stream_rows.entries, rows, strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {JournalEntry.TABLE} SET item_position = %s, category = %s WHERE id = %s",  # noqa: S608  our own name
            values,
        )
    stream_rows, _ = derived_masks.mask_rows(conversation, stream_rows)
    Turn.objects.filter(conversation=conversation).delete()
    turn_rows = [(conversation_id, number, *turn) for number, turn in enumerate(stream_rows.turns)]
    bulk.insert_rows(Turn.TABLE, journal.TURN_COLUMNS, turn_rows)
    journal.set_counts(conversation, stream_rows)
    conversation.indexed_entry_count = 0  # passages have the derived ``item_position`` too
    conversation.save(update_fields=[*on_append.GROWTH_COLUMNS, "indexed_entry_count"])
