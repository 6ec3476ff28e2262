"""Removes the remains of deleted and replaced rows from a database's disk."""

from __future__ import annotations

from time import monotonic, sleep
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
#: Seconds to wait for the end of older transactions; a standby reports its own every 10 s.
OLDER_TRANSACTION_SECONDS = 20.0
_POLL_SECONDS = 0.1
#: Reasons why VACUUM keeps rows that were deleted before a transaction (``xid``): open transactions
#: of all databases, and snapshots of this one or of a standby (``backend_xmin``, ``xmin``).
#: VACUUM ignores the snapshots of other plain VACUUMs, such as autovacuum's.
_ROW_KEEPERS = """
    SELECT 'process ' || pid FROM pg_stat_activity
        WHERE pid <> pg_backend_pid()
        AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
        AND (
            age(backend_xid) > age(%(xid)s::xid8::xid)
            OR age(backend_xmin) > age(%(xid)s::xid8::xid)
            AND coalesce(datname, current_database()) = current_database()
        )
    UNION ALL
    SELECT 'prepared transaction ' || gid FROM pg_prepared_xacts
        WHERE age(transaction) > age(%(xid)s::xid8::xid)
    UNION ALL
    SELECT 'replication slot ' || slot_name FROM pg_replication_slots
        WHERE greatest(age(xmin), age(catalog_xmin)) > age(%(xid)s::xid8::xid)
    UNION ALL
    SELECT 'another transaction'
        WHERE pg_snapshot_xmin(pg_current_snapshot()) < %(xid)s::xid8
"""


class NotErased(StoreError):
    """The database's files cannot be rewritten now."""


def erase_remains() -> None:
    """Rewrite the database's files without deleted content. Takes time and disk as its size does.

    SQLite keeps deleted text in free pages, in the write-ahead log and in segments of the index.
    PostgreSQL keeps it in tables, in their TOAST tables and in statistics, where VACUUM frees the
    space but overwrites nothing; VACUUM FULL rewrites a table, which it locks, and copies deleted
    rows that an older transaction may still read. Raises NotErased.
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
            _truncate_log(cursor)
            return
        # VACUUM passes over a table that its role does not own, and only warns of it.
        warnings: list[str] = []
        connection.connection.add_notice_handler(
            lambda notice: warnings.append(notice.message_primary or "")
        )
        _wait_for_older_transactions(cursor)
        for model in apps.get_app_config("store").get_models(include_auto_created=True):
            table = connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001  Django documents it
            cursor.execute(f"VACUUM (FULL, ANALYZE) {table}")
        _wait_for_older_transactions(cursor)  # ANALYZE has only now deleted the old statistics
        cursor.execute(f"VACUUM (FULL) {_STATISTICS_TABLE}")
    if warnings:
        raise NotErased(f"{warnings[0]}. Run this as the owner of the database.")


def _wait_for_older_transactions(cursor: CursorWrapper) -> None:
    """Wait until no transaction can read rows that are deleted now. Raises NotErased.

    Later snapshots read none of these rows either: a snapshot is as old as the oldest transaction
    that is open when it is taken.
    """
    cursor.execute("SELECT pg_current_xact_id()::text")
    ((transaction_id,),) = cursor.fetchall()
    deadline = monotonic() + OLDER_TRANSACTION_SECONDS
    while True:
        cursor.execute(_ROW_KEEPERS, {"xid": transaction_id})
        row = cursor.fetchone()
        if row is None:
            return
        if monotonic() > deadline:
            raise NotErased(
                f"PostgreSQL keeps old text for {row[0]}, which may still read it. "
                "Stop that, or wait for its end, and run this again."
            )
        sleep(_POLL_SECONDS)


def _truncate_log(cursor: CursorWrapper) -> None:
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
