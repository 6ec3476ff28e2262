"""Restores a backup into the database: everything in one transaction, or nothing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from jpweb.store import bootstrap
from jpweb.store.backups import schemas, snapshot, tables
from jpweb.store.backups.archive import ArchiveReader, Manifest, create_archive, open_archive
from jpweb.store.choices import Act
from jpweb.store.database import timeouts
from jpweb.store.database.availability import find_outage
from jpweb.store.errors import DatabaseInUse, DatabaseNotEmpty, InvalidBackup, SchemaMismatch
from jpweb.store.ledger import entry_macs, sealing
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.maintenance import task_leases

_SCRATCH_ALIAS = "scratch"
_SCRATCH_PREFIX = "jpweb-restore-"


def restore_backup(
    path: Path, progress: Callable[[int, int], None], *, replace: bool = False
) -> Manifest:
    """Write a backup's rows into the database; ``progress`` gets the rows done, and their total.

    The restored ledger goes on with an entry of the restoration. ``replace`` deletes the existing
    rows. Raises InvalidBackup, SchemaMismatch, DatabaseUnavailable, DatabaseNotEmpty,
    DatabaseInUse.
    """
    with ExitStack() as stack:
        archive = stack.enter_context(open_archive(path))
        archive.check_hashes()
        manifest = archive.manifest
        if manifest.migration not in schemas.list_migrations():
            raise SchemaMismatch(
                f"{path} is of a newer jpweb ({manifest.jpweb}). Install that, then restore."
            )
        _check_older_target(replace=replace)
        bootstrap.prepare_database()
        stack.enter_context(bootstrap.translate_errors())
        _check_target(replace=replace)
        if manifest.migration != schemas.get_newest_migration():
            archive = stack.enter_context(_upgrade_archive(archive))
        with timeouts.lift_timeouts(), transaction.atomic():
            _check_target(replace=replace)
            replaced_rows = tables.count_rows(connection)
            if replace:
                tables.delete_rows(connection)
            _write_tables(connection, archive, progress)
            tables.reset_sequences(connection)
            entry_macs.adopt_entries()
            sealing.adopt_key()
            _record_restoration(path.name, manifest, replaced_rows)
        bootstrap.prepare_database()  # rebuilds derived columns of an older jpweb
    return manifest


def _record_restoration(file_name: str, manifest: Manifest, replaced_rows: int) -> None:
    record_act(
        Act.RESTORED,
        OPERATOR,
        Place(),
        file=file_name,
        made_at=manifest.made_at,
        rows=manifest.rows,
        replaced_rows=replaced_rows,
    )


def _check_older_target(*, replace: bool) -> None:
    """Refuse a database of an older jpweb before it is migrated.

    One without rows is empty: the migrations of an earlier start or restore were interrupted.
    Raises DatabaseUnavailable, DatabaseNotEmpty and DatabaseInUse.
    """
    with bootstrap.translate_errors():
        applied_migrations = schemas.read_migrations(connection)
        if not applied_migrations or applied_migrations >= set(schemas.list_migrations()):
            return
        if not replace and tables.has_rows(connection):
            raise DatabaseNotEmpty(
                "The database is of an older jpweb. Use an empty one, or --force, which deletes "
                "all of its rows."
            )
        if task_leases.TABLE in connection.introspection.table_names():
            _check_not_running()


def _check_not_running() -> None:
    if task_leases.is_any_held():
        raise DatabaseInUse(
            "jpweb is running on this database. Stop it first; one that was killed counts as "
            "running for some seconds."
        )


def _check_target(*, replace: bool) -> None:
    _check_not_running()
    rows = tables.count_rows(connection)
    if rows and not replace:
        raise DatabaseNotEmpty(
            f"The database holds {rows} rows already. Use an empty one, or --force, "
            "which deletes all of them."
        )


def _write_tables(
    target: BaseDatabaseWrapper, archive: ArchiveReader, progress: Callable[[int, int], None]
) -> None:
    total_rows, done_rows = archive.manifest.rows, 0

    def count_done(row_count: int) -> None:
        nonlocal done_rows
        done_rows += row_count
        progress(done_rows, total_rows)

    try:
        for table in archive.manifest.tables:
            tables.write_rows(target, table, archive.read_rows(table), count_done)
    except DatabaseError as error:
        if find_outage(error) is not None:
            raise  # such as of a full disk, which is no fault of the backup
        raise InvalidBackup(f"The backup's rows are refused by the database: {error}") from error


@contextmanager
def _upgrade_archive(archive: ArchiveReader) -> Iterator[ArchiveReader]:
    """Open the same rows at the newest migration.

    They are migrated in a scratch database, so that the target changes in one transaction,
    whatever schema it is at. It is in the data folder, because /tmp may be small.
    """
    for leftover in settings.DATA_DIR.glob(f"{_SCRATCH_PREFIX}*"):  # of a restore that was killed
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH_PREFIX, dir=settings.DATA_DIR) as folder:
        with _open_scratch_database(Path(folder) / "scratch.sqlite3") as scratch:
            migrate_options = {"database": _SCRATCH_ALIAS, "verbosity": 0, "interactive": False}
            call_command("migrate", "store", archive.manifest.migration, **migrate_options)
            with transaction.atomic(using=_SCRATCH_ALIAS):
                _write_tables(scratch, archive, _ignore_progress)
            # A backup holds tables of the store alone, and those of procrastinate need PostgreSQL.
            call_command("migrate", "store", **migrate_options)
            upgraded_path = Path(folder) / "newer.zip"
            with create_archive(upgraded_path) as writer:
                snapshot.write_tables(scratch, writer, _ignore_progress)
        with open_archive(upgraded_path) as upgraded_archive:
            yield upgraded_archive


@contextmanager
def _open_scratch_database(path: Path) -> Iterator[BaseDatabaseWrapper]:
    """Open an empty SQLite database under the alias ``scratch``."""
    database_settings = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}}
    connections.settings[_SCRATCH_ALIAS] = connections.configure_settings(database_settings)[
        "default"
    ]
    try:
        yield connections[_SCRATCH_ALIAS]
        connections[_SCRATCH_ALIAS].close()
    finally:
        del connections[_SCRATCH_ALIAS]
        del connections.settings[_SCRATCH_ALIAS]


def _ignore_progress(_done_count: int, _total_count: int) -> None:
    """Ignore progress."""
