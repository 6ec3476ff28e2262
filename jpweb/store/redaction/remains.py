"""Removes what a database keeps on disk of deleted and replaced rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import apps
from django.db import DatabaseError, connection

from jpweb.store.database import timeouts
from jpweb.store.errors import StoreError

if TYPE_CHECKING:
    from django.db.backends.utils import CursorWrapper

#: PostgreSQL's table of samples from columns, which the planner uses.
_STATISTICS_TABLE = "pg_catalog.pg_statistic"
_ADVICE = "Stop jpweb and backups of it, and run this again."


class NotErased(StoreError):
    """The database's files cannot be rewritten now."""


def erase_remains() -> None:
    """Rewrite the database's files without deleted content. Takes time and disk as its size does.

    SQLite keeps deleted text in free pages, in the write-ahead log and in segments of the index.
    PostgreSQL keeps it in tables, in their TOAST tables and in statistics, where VACUUM frees the
    space but overwrites nothing; VACUUM FULL rewrites a table, which it locks. Raises NotErased.
    """
    try:
        with timeouts.lift_timeouts():
            _rewrite_tables()
    except DatabaseError as error:
        raise NotErased(f"{error}. {_ADVICE}") from error


def _rewrite_tables() -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                "INSERT INTO store_passage_words(store_passage_words) VALUES('optimize')"
            )
            cursor.execute("VACUUM")
            _empty_log(cursor)
            return
        # VACUUM passes over a table that its role does not own, and only warns of it.
        warnings: list[str] = []
        connection.connection.add_notice_handler(
            lambda notice: warnings.append(notice.message_primary or "")
        )
        for model in apps.get_app_config("store").get_models(include_auto_created=True):
            table = connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001  Django documents it
            cursor.execute(f"VACUUM (FULL, ANALYZE) {table}")
        cursor.execute(f"VACUUM (FULL) {_STATISTICS_TABLE}")
    if warnings:
        raise NotErased(f"{warnings[0]}. Run this as the owner of the database.")


def _empty_log(cursor: CursorWrapper) -> None:
    """Copy SQLite's write-ahead log (WAL) into the database's file. Raises NotErased.

    A reader in another process blocks that, which is no error of SQLite but the result "busy". The
    file then still has its old pages, because VACUUM has written the new ones into the log.
    """
    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    is_busy, _, _ = cursor.fetchone()
    if is_busy:
        raise NotErased(
            f"Another process reads the database, so its file keeps old text. {_ADVICE}"
        )
