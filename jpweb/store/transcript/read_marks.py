"""Read marks: how far people have read."""

from __future__ import annotations

from jpweb.store.database import clock, timeouts
from jpweb.store.models import ReadMark
from jpweb.store.sql import bulk

_UPSERT_READ_MARK = """
INSERT INTO store_readmark (person_id, conversation_id, entry_count, at) VALUES (%s, %s, %s, %s)
ON CONFLICT (person_id, conversation_id) DO UPDATE SET at = excluded.at, entry_count = CASE
    WHEN store_readmark.entry_count BETWEEN excluded.entry_count AND
        (SELECT entry_count FROM store_conversation WHERE id = excluded.conversation_id)
    THEN store_readmark.entry_count ELSE excluded.entry_count END
"""


def get_read_count(person_id: int, conversation_id: int) -> int | None:
    """Return the number of entries that a person has read, or None without a read mark."""
    read_marks = ReadMark.objects.filter(person_id=person_id, conversation_id=conversation_id)
    return read_marks.values_list("entry_count", flat=True).first()


def record_read(person_id: int, conversation_id: int, entry_count: int) -> bool:
    """Record how many entries a person has read; return whether it was recorded.

    The mark only grows, in whatever order pages report it; one beyond the journal's length is
    replaced. The write is skipped where the row or the database is locked, so that no page waits.
    """
    read_at = bulk.time_adapter()(clock.now())
    return timeouts.write_briefly(
        _UPSERT_READ_MARK, [person_id, conversation_id, entry_count, read_at]
    )
