"""Bootstrap of the database at start: migrations, checks, rebuild of derived columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from jpweb.store import rebuild
from jpweb.store.database import timeouts
from jpweb.store.database.availability import find_outage
from jpweb.store.errors import DatabaseUnavailable

#: Key of PostgreSQL's advisory lock, under which one process at a time prepares the database.
_PREPARE_LOCK_KEY = 0x6A70776562
#: Whether this process holds the advisory lock; only one thread of a process prepares.
_has_lock = False


def prepare_database(
    progress: Callable[[int, int], None] = lambda _done_count, _total_count: None,
) -> None:
    """Migrate the database and rebuild derived columns; one process at a time does it.

    ``progress`` is called with the number of rebuilt conversations, and of all that need
    it. Raises DatabaseUnavailable where the database cannot be reached or changed.
    """
    with hold_prepare_lock():
        try:
            with timeouts.lift_timeouts():
                _migrate()
                _require_columns()
                rebuild.rebuild_all(progress)
        except Error as error:
            raise _make_unavailable(error) from error
        connection.close_if_unusable_or_obsolete()  # a server keeps one connection less open


@contextmanager
def hold_prepare_lock() -> Iterator[None]:
    """Hold the lock under which one process at a time prepares; others wait for it.

    SQLite has one server, which holds the data folder's lock. The lock ends with its
    connection. Raises DatabaseUnavailable where the database cannot be reached.
    """
    global _has_lock  # noqa: PLW0603  one process, one lock
    if _has_lock or connection.vendor != "postgresql":
        yield
        return
    # The lock has its own connection: it lasts as long as that, whatever happens to others.
    holder = connection.copy()
    options = holder.settings_dict["OPTIONS"]
    holder.settings_dict["OPTIONS"] = timeouts.make_unlimited_options(options)
    with closing(holder):
        try:
            with holder.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_lock(%s)", [_PREPARE_LOCK_KEY])
        except Error as error:
            raise _make_unavailable(error) from error
        _has_lock = True
        try:
            yield
        finally:
            _has_lock = False


@contextmanager
def use_existing_database() -> Iterator[None]:
    """Raise DatabaseUnavailable unless the database is of this version, and for its errors.

    Unlike ``prepare_database`` this makes no database in a data folder that has none: a command
    that works on stored data was then given the wrong folder.
    """
    with translate_errors():
        _require_connection()
        _require_current_schema()
        yield


def _require_connection() -> None:
    """Connect once without the pool, which would try again for seconds and hide the reason."""
    if connection.vendor == "postgresql":
        holder = connection.copy()
        holder.settings_dict["OPTIONS"] |= {"pool": None}
        with closing(holder):
            holder.ensure_connection()


def _require_current_schema() -> None:
    database = Path(settings.DATABASES["default"]["NAME"])
    is_missing = connection.vendor == "sqlite" and not database.exists()  # a connection makes it
    executor = None if is_missing else MigrationExecutor(connection)
    if executor is None or not any(app == "store" for app, _ in executor.loader.applied_migrations):
        raise DatabaseUnavailable(
            f"{_get_database_name()} holds no jpweb. Set JPWEB_DATA, DATABASE_URL and "
            "JPWEB_SECRET_KEY as for the server, or start jpweb first."
        )
    _require_known_schema(executor.loader)
    if executor.migration_plan(executor.loader.graph.leaf_nodes("store")):
        raise DatabaseUnavailable(
            f"{_get_database_name()} is of an older jpweb. Start this one once, which brings it up "
            "to date."
        )


def _migrate() -> None:
    """Apply the pending migrations; raises DatabaseUnavailable for a newer version's."""
    executor = MigrationExecutor(connection)
    _require_known_schema(executor.loader)
    # Without pending migrations, the command would take a tenth of the time of a start.
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0, interactive=False)


def _require_known_schema(loader: MigrationLoader) -> None:
    """Raise DatabaseUnavailable where an applied migration is unknown to this version."""
    app_labels = {app.label for app in apps.get_app_configs()}
    unknown_migrations = sorted(
        key
        for key in loader.applied_migrations
        if key[0] in app_labels
        and key not in loader.disk_migrations
        and key not in loader.replacements
    )
    if unknown_migrations:
        raise DatabaseUnavailable(
            f"{_get_database_name()} was made by a newer jpweb: "
            f"its migration {'.'.join(unknown_migrations[-1])} is not "
            "known here. Start that version, or choose another folder: JPWEB_DATA=/some/folder"
        )


def _require_columns() -> None:
    """Raise DatabaseUnavailable where a table lacks a column although migrations are applied."""
    with connection.cursor() as cursor:
        for model in apps.get_app_config("store").get_models():
            options = model._meta  # noqa: SLF001  Django's documented model API
            # Django's introspection parses CREATE TABLE on SQLite: a fifth of the time of a start.
            table = connection.ops.quote_name(options.db_table)
            cursor.execute(f"SELECT * FROM {table} LIMIT 0")  # noqa: S608  a name of our own
            columns = {column[0] for column in cursor.description}
            expected_columns = {str(field.column) for field in options.local_concrete_fields}
            if missing_columns := expected_columns - columns:
                raise DatabaseUnavailable(
                    f"{_get_database_name()} does not fit this version of jpweb: "
                    f"{options.db_table} has no "
                    f"column {min(missing_columns)}. Restore a backup, or choose another folder: "
                    "JPWEB_DATA=/some/folder"
                )


def _get_database_name() -> str:
    return f"The database {settings.DATABASES['default']['NAME']}"


def _make_unavailable(error: Error) -> DatabaseUnavailable:
    reason = str(error).strip().partition("\n")[0]
    outage = find_outage(error)
    explanation = f"{outage.title.lower()} ({reason})" if outage else reason
    return DatabaseUnavailable(
        f"{_get_database_name()} cannot be used: {explanation}. Check DATABASE_URL or JPWEB_DATA."
    )


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise DatabaseUnavailable for errors of the database in the block."""
    try:
        yield
    except Error as error:
        raise _make_unavailable(error) from error
