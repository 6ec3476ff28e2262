"""Restores a backup into the database: everything in one transaction, or nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from django.core.management import call_command
from django.db import DatabaseError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from jpweb.store import schema
from jpweb.store.backups import schemas, snapshot, tables
from jpweb.store.backups.archive import ArchiveReader, Manifest, create_archive, open_archive
from jpweb.store.database import patience
from jpweb.store.errors import BadBackup, DatabaseInUse, NotEmpty, OtherSchema
from jpweb.store.running import duties

_SCRATCH = "scratch"


def restore_backup(
    path: Path, progress: Callable[[int, int], None], *, replace: bool = False
) -> Manifest:
    """Write a backup's rows into the database; ``progress`` is told rows done, and of how many.

    ``replace`` deletes what the database holds. Raises BadBackup, OtherSchema, NoDatabase,
    NotEmpty, DatabaseInUse.
    """
    with ExitStack() as stack:
        archive = stack.enter_context(open_archive(path))
        archive.check_hashes()
        manifest = archive.manifest
        if manifest.migration not in schemas.list_migrations():
            raise OtherSchema(
                f"{path} is of a newer jpweb ({manifest.jpweb}). Install that, then restore."
            )
        schema.prepare()
        _check_target(replace=replace)
        if manifest.migration != schemas.get_newest_migration():
            archive = stack.enter_context(_upgraded(archive))
        with patience.without_limits(), transaction.atomic():
            _check_target(replace=replace)
            if replace:
                tables.delete_rows(connection)
            _write_tables(connection, archive, progress)
            tables.reset_sequences(connection)
        schema.prepare()  # derives again what an older jpweb derived otherwise
    return manifest


def _check_target(*, replace: bool) -> None:
    if duties.is_any_held():
        raise DatabaseInUse(
            "A jpweb runs on this database. Stop it first; one that was killed counts as "
            "running for some seconds."
        )
    rows = tables.count_rows(connection)
    if rows and not replace:
        raise NotEmpty(
            f"The database holds {rows} rows already. Use an empty one, or --force, "
            "which deletes all of them."
        )


def _write_tables(
    target: BaseDatabaseWrapper, archive: ArchiveReader, progress: Callable[[int, int], None]
) -> None:
    total, done = archive.manifest.rows, 0

    def count(rows: int) -> None:
        nonlocal done
        done += rows
        progress(done, total)

    try:
        for table in archive.manifest.tables:
            tables.write_rows(target, table, archive.rows(table), count)
    except DatabaseError as error:
        raise BadBackup(f"The backup's rows are refused by the database: {error}") from error


@contextmanager
def _upgraded(archive: ArchiveReader) -> Iterator[ArchiveReader]:
    """Give the same rows at the newest migration.

    They are migrated in a database of their own, so that the target changes in one transaction,
    whatever schema it is at.
    """
    with tempfile.TemporaryDirectory(prefix="jpweb-restore-") as folder:
        with _scratch_database(Path(folder) / "scratch.sqlite3") as scratch:
            migrate = {"database": _SCRATCH, "verbosity": 0, "interactive": False}
            call_command("migrate", "store", archive.manifest.migration, **migrate)
            with transaction.atomic(using=_SCRATCH):
                _write_tables(scratch, archive, _ignore_progress)
            call_command("migrate", **migrate)
            newer = Path(folder) / "newer.zip"
            with create_archive(newer) as written:
                snapshot.write_tables(scratch, written, _ignore_progress)
        with open_archive(newer) as upgraded:
            yield upgraded


@contextmanager
def _scratch_database(path: Path) -> Iterator[BaseDatabaseWrapper]:
    """Give an empty SQLite database under the alias ``scratch``."""
    described = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}}
    connections.settings[_SCRATCH] = connections.configure_settings(described)["default"]
    try:
        yield connections[_SCRATCH]
        connections[_SCRATCH].close()
    finally:
        del connections[_SCRATCH]
        del connections.settings[_SCRATCH]


def _ignore_progress(_done: int, _total: int) -> None:
    """Take no notice of progress."""
