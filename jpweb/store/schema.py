"""The tables, made and brought up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from django.conf import settings
from django.core.management import call_command
from django.db import Error, connection

from jpweb.store.browsing import placing
from jpweb.store.database import patience
from jpweb.store.errors import NoDatabase

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
                call_command("migrate", verbosity=0, interactive=False)
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


def _no_database(error: Error) -> NoDatabase:
    name = settings.DATABASES["default"]["NAME"]
    reason = str(error).strip().partition("\n")[0]
    return NoDatabase(
        f"The database {name} cannot be used: {reason}. Check DATABASE_URL or JPWEB_DATA."
    )
