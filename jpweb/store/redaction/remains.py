"""Removes what a database keeps on disk of deleted and replaced rows."""

from __future__ import annotations

from django.db import DatabaseError, connection

from jpweb.store.errors import StoreError
from jpweb.store.models import (
    Approval,
    CallCheckpoint,
    Comment,
    Conversation,
    Inquiry,
    JournalEntry,
    Passage,
    Review,
    Run,
    RunInterrupt,
    Turn,
)

#: Models whose rows redactions replace.
_MODELS = (
    Approval,
    CallCheckpoint,
    Comment,
    Conversation,
    Inquiry,
    JournalEntry,
    Passage,
    Review,
    Run,
    RunInterrupt,
    Turn,
)


class NotErased(StoreError):
    """The database's files cannot be rewritten now."""


def erase_remains() -> None:
    """Rewrite the database's files without deleted content. Takes time and disk as its size does.

    SQLite keeps deleted text in free pages, in the write-ahead log and in segments of the index;
    PostgreSQL keeps dead rows until a VACUUM. Raises NotErased.
    """
    try:
        _rewrite_tables()
    except DatabaseError as error:
        raise NotErased(f"{error}. Stop jpweb, and run this again.") from error


def _rewrite_tables() -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                "INSERT INTO store_passage_words(store_passage_words) VALUES('optimize')"
            )
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        else:
            for model in _MODELS:
                table = connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001  Django documents it
                cursor.execute(f"VACUUM {table}")
