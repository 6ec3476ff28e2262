"""The database's clock, as every process reads it.

Several machines write to one database and their clocks differ, so what one records the other would
compare with another time: a question could expire a second after it was asked. Each process
measures how far its monotonic clock is from the database's, and adds that. SQLite runs inside the
process, and its clock is the machine's.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # processes that only read files load no Django
    from django.db.backends.utils import CursorWrapper

#: Seconds after which a new connection is asked for the time again.
MEASURE_INTERVAL_SECONDS = 30.0

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Measured:
    """The time at the database when this process's monotonic clock stood at 0."""

    def __init__(self) -> None:
        self.origin: datetime | None = None
        self.due_at = 0.0
        self.lock = threading.Lock()


_measured = _Measured()


def now() -> datetime:
    """Return the time by the database's clock, in UTC."""
    if _measured.origin is None:
        return datetime.now(UTC)
    return _measured.origin + timedelta(seconds=monotonic())


def timestamp() -> float:
    """Return the same as seconds since the epoch."""
    return (now() - _EPOCH).total_seconds()


def measure(cursor: CursorWrapper) -> None:
    """Ask PostgreSQL for the time; a difference within the round trip changes nothing."""
    asked = monotonic()
    cursor.execute("SELECT clock_timestamp()")
    ((at,),) = cursor.fetchall()
    answered = monotonic()
    earliest, latest = at - timedelta(seconds=answered), at - timedelta(seconds=asked)
    origin = _measured.origin
    if origin is None or not earliest <= origin <= latest:
        _measured.origin = earliest + (latest - earliest) / 2
    _measured.due_at = answered + MEASURE_INTERVAL_SECONDS


def forget() -> None:
    """Take the machine's clock for the database's, as with SQLite."""
    _measured.origin, _measured.due_at = None, 0.0


def measure_on_connect(connection: Any, **_: Any) -> None:
    """Receive Django's signal: measure with the first connection, then once in a while."""
    if connection.vendor != "postgresql" or monotonic() < _measured.due_at:
        return
    if not _measured.lock.acquire(blocking=False):
        return
    try:
        with connection.cursor() as cursor:
            measure(cursor)
    finally:
        _measured.lock.release()
