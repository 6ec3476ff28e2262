"""The line to the database, for those who may not touch it: what its faults look like."""

from __future__ import annotations

from django.db import DataError, IntegrityError, InterfaceError, OperationalError, connection

DATABASE_GONE = (OperationalError, InterfaceError)
#: What work on one conversation raises whose rows do not fit each other. Others have to go on.
BROKEN_ROWS = (IntegrityError, DataError, LookupError, TypeError, ValueError, AttributeError)


def keep_connection() -> None:
    """Keep the connection of this thread, which lasts as long as the process, for its next use.

    A file is opened anew otherwise, and left in order by who closes it last, each time. A
    connection of a pool goes back to it all the same.
    """
    if connection.vendor == "sqlite":
        connection.close_at = None
