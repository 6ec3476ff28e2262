"""Database availability: classifies errors as outages, without access to the database."""

from __future__ import annotations

import sqlite3
from enum import Enum

from django.db import (
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    OperationalError,
)

DATABASE_UNAVAILABLE = (OperationalError, InterfaceError)
#: Base of all database errors; ``find_outage`` tells outages from faults of the program.
DATABASE_ERROR = Error
#: Errors of work on one conversation with inconsistent rows; batches catch them, so that the
#: other conversations are processed.
INCONSISTENT_ROWS = (IntegrityError, DataError, LookupError, TypeError, ValueError, AttributeError)


class Outage(Enum):
    """Reason why the database is unavailable, with a title and advice for people.

    ``is_rolled_back``: the statement failed in the database, so nothing of the request was
    saved. A connection that broke leaves that open: the commit may have arrived before.
    """

    def __init__(self, title: str, advice: str, is_rolled_back: bool) -> None:
        self.title = title
        self.advice = advice
        self.is_rolled_back = is_rolled_back

    @property
    def prevents_reads(self) -> bool:
        """Whether nothing can be read meanwhile, so that what is read later shows its end."""
        return self in (Outage.LOST, Outage.SILENT)

    LOST = (
        "Database unavailable",
        "The database server is down, or the connection to it broke.",
        False,
    )
    SILENT = (
        "Database not responding",
        "The database server, or the network to it, is very slow or stuck.",
        False,
    )
    LOCKED = (
        "Database locked",
        "Another program or request is using it. This usually takes only seconds.",
        True,
    )
    STOPPED = (
        "Search stopped",
        "It took longer than 5 seconds. Look for fewer or longer words, or narrow it down by date, "
        "workspace or conversation.",
        True,
    )
    FULL = (
        "Database disk full",
        "Nothing can be saved until the operator frees some space. You can still read.",
        True,
    )
    DISK = (
        "Database disk failure",
        "The operator has to check the disk and the server's log.",
        False,
    )
    READ_ONLY = (
        "Database is read-only",
        "The operator has to make its file, folder or server writable.",
        True,
    )
    SCHEMA = (
        "Database does not match this version of jpweb",
        "A table or column is missing or unknown. Restart jpweb: it updates the tables, or says in "
        "one line why it cannot.",
        True,
    )
    DAMAGED = (
        "Database file damaged",
        "The operator has to restore it from a backup.",
        True,
    )


_BY_SQLITE_CODE = {
    sqlite3.SQLITE_BUSY: Outage.LOCKED,
    sqlite3.SQLITE_LOCKED: Outage.LOCKED,
    sqlite3.SQLITE_INTERRUPT: Outage.STOPPED,
    sqlite3.SQLITE_FULL: Outage.FULL,
    sqlite3.SQLITE_IOERR: Outage.DISK,
    sqlite3.SQLITE_READONLY: Outage.READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: Outage.LOST,
    sqlite3.SQLITE_CORRUPT: Outage.DAMAGED,
    sqlite3.SQLITE_NOTADB: Outage.DAMAGED,
}
#: By PostgreSQL's SQLSTATE (appendix A of its manual), or the class that begins it.
_BY_SQLSTATE = {
    "55P03": Outage.LOCKED,
    "40P01": Outage.LOCKED,
    "57014": Outage.SILENT,
    "53100": Outage.FULL,
    "25006": Outage.READ_ONLY,
    "25P03": Outage.LOST,
    "25P04": Outage.LOST,
    "42703": Outage.SCHEMA,
    "42P01": Outage.SCHEMA,
    "08": Outage.LOST,
    "53": Outage.LOST,
    "57": Outage.LOST,
    "XX001": Outage.DAMAGED,
    "XX002": Outage.DAMAGED,
}
#: By a phrase of the message, for errors without a code: SQLite's generic error, and the
#: OperationalError of ``TimeoutConnection``.
_BY_MESSAGE = {
    "no such table": Outage.SCHEMA,
    "no such column": Outage.SCHEMA,
    "has no column": Outage.SCHEMA,
    "is locked": Outage.LOCKED,
    "disk is full": Outage.FULL,
    "not replied": Outage.SILENT,
}


def find_outage(error: BaseException) -> Outage | None:
    """Return the outage of a database error; None where it is a fault of the program."""
    cause = error.__cause__ or error
    code = getattr(cause, "sqlite_errorcode", None)
    if code is not None and (outage := _BY_SQLITE_CODE.get(code & 0xFF)):
        return outage
    if _is_panic(cause):
        return Outage.LOST
    state = getattr(cause, "sqlstate", None) or ""
    for key in (state, state[:2]):
        if key in _BY_SQLSTATE:
            return _BY_SQLSTATE[key]
    message = str(error)
    for phrase, outage in _BY_MESSAGE.items():
        if phrase in message:
            return outage
    return Outage.LOST if isinstance(error, DATABASE_UNAVAILABLE) else None


def _is_panic(error: BaseException) -> bool:
    """Tell whether PostgreSQL stops with this error, such as a full disk's of its log.

    Its recovery applies a commit that was written before it stopped.
    """
    return getattr(getattr(error, "diag", None), "severity_nonlocalized", None) == "PANIC"
