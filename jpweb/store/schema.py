"""The tables, made and brought up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from jpweb.store.browsing import placing
from jpweb.store.database import patience
from jpweb.store.errors import NoDatabase
from jpweb.store.outage import find_outage

#: The key of PostgreSQL's advisory lock under which one process at a time prepares.
_PREPARING = 0x6A70776562
#: Whether this process has it; what prepares runs in one thread.
_alone = False


def prepare(progress: Callable[[int, int], None] = lambda _done, _total: None) -> None:
    """Bring the database up to date; of processes that start at once one does it.

    ``progress`` is told of how many conversations what is derived was made anew.
    Raises NoDatabase where it cannot be reached or changed.
    """
    with alone():
        try:
            with patience.without_limits():
                _migrate()
                _refuse_incomplete()
                placing.place_all(progress)
        except Error as error:
            raise _no_database(error) from error
        connection.close_if_unusable_or_obsolete()  # one less is open while the process runs


@contextmanager
def alone() -> Iterator[None]:
    """Let one process at a time prepare what many share; others wait here until it is done.

    SQLite has one server, which holds the data folder. The lock goes with the process.
    Raises NoDatabase where it cannot be reached.
    """
    global _alone  # noqa: PLW0603  one process, one lock
    if _alone or connection.vendor != "postgresql":
        yield
        return
    # A connection of its own, with which the lock ends whatever happens to the others.
    holder = connection.copy()
    holder.settings_dict["OPTIONS"] |= {"pool": None, "options": ""}  # it waits without a limit
    with closing(holder):
        try:
            with holder.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_lock(%s)", [_PREPARING])
        except Error as error:
            raise _no_database(error) from error
        _alone = True
        try:
            yield
        finally:
            _alone = False


def _migrate() -> None:
    """Apply the migrations that are not applied yet; raises NoDatabase for a newer version's."""
    executor = MigrationExecutor(connection)
    _refuse_newer(executor.loader)
    # With nothing to apply, the command costs as much as a tenth of a start.
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0, interactive=False)


def _refuse_newer(loader: MigrationLoader) -> None:
    """Raise NoDatabase where a migration was applied that this version does not know."""
    own = {app.label for app in apps.get_app_configs()}
    unknown = sorted(
        key
        for key in loader.applied_migrations
        if key[0] in own and key not in loader.disk_migrations and key not in loader.replacements
    )
    if unknown:
        raise NoDatabase(
            f"{_name()} was made by a newer jpweb: its migration {'.'.join(unknown[-1])} is not "
            "known here. Start that version, or choose another folder: JPWEB_DATA=/some/folder"
        )


def _refuse_incomplete() -> None:
    """Raise NoDatabase where a table lacks a column although every migration was applied."""
    with connection.cursor() as cursor:
        for model in apps.get_app_config("store").get_models():
            options = model._meta  # noqa: SLF001  Django's documented model API
            # Django's introspection parses SQLite's CREATE TABLE, a fifth of a start.
            table = connection.ops.quote_name(options.db_table)
            cursor.execute(f"SELECT * FROM {table} LIMIT 0")  # noqa: S608  a name of our own
            columns = {column[0] for column in cursor.description}
            wanted = {str(field.column) for field in options.local_concrete_fields}
            if missing := wanted - columns:
                raise NoDatabase(
                    f"{_name()} does not fit this version of jpweb: {options.db_table} has no "
                    f"column {min(missing)}. Restore a backup, or choose another folder: "
                    "JPWEB_DATA=/some/folder"
                )


def _name() -> str:
    return f"The database {settings.DATABASES['default']['NAME']}"


def _no_database(error: Error) -> NoDatabase:
    reason = str(error).strip().partition("\n")[0]
    outage = find_outage(error)
    why = f"{outage.title.lower()} ({reason})" if outage else reason
    return NoDatabase(f"{_name()} cannot be used: {why}. Check DATABASE_URL or JPWEB_DATA.")


@contextmanager
def refused_in_words() -> Iterator[None]:
    """Let what the database refuses in the block be NoDatabase."""
    try:
        yield
    except Error as error:
        raise _no_database(error) from error
