"""Writes a backup: all rows of one database snapshot, during concurrent writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from django.db import Error, connection, models
from django.db.backends.base.base import BaseDatabaseWrapper

from jpweb.store.backups import schemas, tables
from jpweb.store.backups.archive import ArchiveWriter, Manifest, create_archive
from jpweb.store.choices import Act
from jpweb.store.database import clock, timeouts
from jpweb.store.errors import DatabaseUnavailable, SchemaMismatch
from jpweb.store.ledger import sealing
from jpweb.store.ledger.entries import OPERATOR, Place, record_act

#: Begins a transaction with snapshot isolation; it takes no lock that blocks a writer.
_BEGIN_SNAPSHOT = {
    "sqlite": "BEGIN",
    "postgresql": "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
}


def write_backup(path: Path, progress: Callable[[int, int], None]) -> Manifest:
    """Write a backup into a file; ``progress`` gets the number of rows done, and their total.

    Raises DatabaseUnavailable, SchemaMismatch, WrongSecretKey, InvalidBackup.
    """
    try:
        with _open_snapshot() as source:
            _check_schema(source)
            sealing.require_own_key()
            with create_archive(path) as archive:
                return write_tables(source, archive, progress)
    except Error as error:
        raise DatabaseUnavailable(f"The database cannot be read: {error}.") from error


def record_backup(file_name: str) -> None:
    """Record in the ledger that the operator has written a backup. Raises DatabaseUnavailable."""
    try:
        record_act(Act.EXPORTED, OPERATOR, Place(), kind="backup", file=file_name)
    except Error as error:
        raise DatabaseUnavailable(f"The database cannot be written: {error}.") from error


def write_tables(
    source: BaseDatabaseWrapper, archive: ArchiveWriter, progress: Callable[[int, int], None]
) -> Manifest:
    """Write all tables and the manifest; the database is at the newest migration."""
    total_rows, done_rows = tables.count_rows(source), 0

    def count_done(rows: Iterator[list[Any]]) -> Iterator[list[Any]]:
        nonlocal done_rows
        for row in rows:
            yield row
            done_rows += 1
            progress(done_rows, total_rows)

    manifest = _make_manifest(source, tables.list_models())
    for model, table in zip(tables.list_models(), manifest.tables, strict=True):
        archive.write_table(table, count_done(tables.read_rows(source, model)))
    archive.write_manifest(manifest)
    return manifest


@contextmanager
def _open_snapshot() -> Iterator[BaseDatabaseWrapper]:
    """Open a connection with a snapshot of the database, until the end of the block."""
    database = Path(str(connection.settings_dict["NAME"]))
    if connection.vendor == "sqlite" and not database.exists():
        raise DatabaseUnavailable(f"There is nothing to back up: {database} does not exist.")
    holder = connection.copy()
    if holder.vendor == "postgresql":
        options = holder.settings_dict["OPTIONS"]
        holder.settings_dict["OPTIONS"] = timeouts.make_unlimited_options(options)
    with closing(holder), holder.cursor() as cursor:
        cursor.execute(_BEGIN_SNAPSHOT[holder.vendor])
        yield holder
        cursor.execute("ROLLBACK")


def _check_schema(source: BaseDatabaseWrapper) -> None:
    applied_migrations = schemas.read_migrations(source)
    own_migrations = set(schemas.list_migrations())
    if not applied_migrations:
        raise DatabaseUnavailable(
            "There is nothing to back up: the database holds no tables of jpweb."
        )
    if applied_migrations - own_migrations:
        raise SchemaMismatch("The database is of a newer jpweb. Install that, then back it up.")
    if own_migrations - applied_migrations:
        raise SchemaMismatch(
            "The database is of an older jpweb. Back it up with that one, or start this one "
            "once, which brings the database up to date."
        )


def _make_manifest(
    source: BaseDatabaseWrapper, backup_models: list[type[models.Model]]
) -> Manifest:
    return Manifest(
        jpweb=metadata.version("jpweb"),
        engine=source.vendor,
        made_at=clock.now().isoformat(timespec="seconds"),
        migration=schemas.get_newest_migration(),
        tables=[tables.describe_table(model) for model in backup_models],
    )
