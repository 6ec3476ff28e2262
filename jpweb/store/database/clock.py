"""The database's clock, for every process.

Several machines write to one database and their clocks differ: by the machine's own
clock a question could expire a second after it was asked. Each process measures the
offset of its monotonic clock from the database's, and adds it. SQLite runs inside the
process, so its clock is the machine's.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # processes that only read files load no Django
    from django.db.backends.utils import CursorWrapper

#: Seconds after which the next new connection measures the offset again.
MEASURE_INTERVAL_SECONDS = 30.0

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _ClockOffset:
    """The database's time at which this process's monotonic clock was 0."""

    def __init__(self) -> None:
        self.origin: datetime | None = None
        self.due_at = 0.0
        self.lock = threading.Lock()


_offset = _ClockOffset()


def now() -> datetime:
    """Return the time by the database's clock, in UTC."""
    if _offset.origin is None:
        return datetime.now(UTC)
    return _offset.origin + timedelta(seconds=monotonic())


def now_timestamp() -> float:
    """Return the time by the database's clock, in seconds since the epoch."""
    return (now() - _EPOCH).total_seconds()


def measure_offset(cursor: CursorWrapper) -> None:
    """Read PostgreSQL's clock; a difference within the round trip changes nothing."""
    sent_at = monotonic()
    cursor.execute("SELECT clock_timestamp()")
    ((database_time,),) = cursor.fetchall()
    received_at = monotonic()
    earliest, latest = (
        database_time - timedelta(seconds=received_at),
        database_time - timedelta(seconds=sent_at),
    )
    origin = _offset.origin
    if origin is None or not earliest <= origin <= latest:
        _offset.origin = earliest + (latest - earliest) / 2
    _offset.due_at = received_at + MEASURE_INTERVAL_SECONDS


def reset_offset() -> None:
    """Use the machine's clock as the database's, as with SQLite."""
    _offset.origin, _offset.due_at = None, 0.0


def measure_on_connect(connection: Any, **_: Any) -> None:
    """Measure on Django's ``connection_created``, at most once per interval."""
    if connection.vendor != "postgresql" or monotonic() < _offset.due_at:
        return
    if not _offset.lock.acquire(blocking=False):
        return
    try:
        with connection.cursor() as cursor:
            measure_offset(cursor)
    finally:
        _offset.lock.release()
