"""The database's clock, for every process.

Several machines write to one database and their clocks differ: by the machine's own
clock a question could expire a second after it was asked. Each process measures the
offset of its boot clock from the database's, and adds it. SQLite runs inside the
process, so its clock is the machine's.

The boot clock goes on while the machine sleeps, but stands still while a virtual machine is paused.
The machine's clock is set after such a pause, and then the offset is measured again.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # processes that only read files load no Django
    from django.db.backends.utils import CursorWrapper

#: Seconds after which the next new connection measures the offset again.
MEASURE_INTERVAL_SECONDS = 30.0
#: Seconds by which the machine's clock and the boot clock may move apart until the next new
#: connection measures the offset again; clocks that are adjusted slowly move 0.02 s an interval.
MAX_DRIFT_SECONDS = 1.0

#: macOS has no CLOCK_BOOTTIME; its CLOCK_MONOTONIC goes on while the machine sleeps.
_BOOT_CLOCK_ID = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _ClockOffset:
    """The database's time, and the machine's, at which this process's boot clock was 0."""

    def __init__(self) -> None:
        self.origin: datetime | None = None
        self.machine_origin = _EPOCH
        self.due_at = 0.0
        self.lock = threading.Lock()


_offset = _ClockOffset()


def read_boot_clock() -> float:
    """Return the seconds since an unspecified moment, those included for which it slept."""
    return time.clock_gettime(_BOOT_CLOCK_ID)


def now() -> datetime:
    """Return the time by the database's clock, in UTC."""
    if _offset.origin is None:
        return datetime.now(UTC)
    return _offset.origin + timedelta(seconds=read_boot_clock())


def get_timestamp() -> float:
    """Return the time by the database's clock, in seconds since the epoch."""
    return (now() - _EPOCH).total_seconds()


def measure_offset(cursor: CursorWrapper) -> None:
    """Read PostgreSQL's clock; a difference within the round trip changes nothing."""
    sent_at = read_boot_clock()
    cursor.execute("SELECT clock_timestamp()")
    ((database_time,),) = cursor.fetchall()
    received_at = read_boot_clock()
    earliest_offset, latest_offset = (
        database_time - timedelta(seconds=received_at),
        database_time - timedelta(seconds=sent_at),
    )
    origin = _offset.origin
    if origin is None or not earliest_offset <= origin <= latest_offset:
        _offset.origin = earliest_offset + (latest_offset - earliest_offset) / 2
    _offset.machine_origin = datetime.now(UTC) - timedelta(seconds=received_at)
    _offset.due_at = received_at + MEASURE_INTERVAL_SECONDS


def measure_on_connect(connection: Any, **_: Any) -> None:
    """Measure on Django's ``connection_created`` once per interval, or after a jump of a clock."""
    if connection.vendor != "postgresql" or not _is_due():
        return
    if not _offset.lock.acquire(blocking=False):
        return
    try:
        with connection.cursor() as cursor:
            measure_offset(cursor)
    finally:
        _offset.lock.release()


def _is_due() -> bool:
    boot_seconds = read_boot_clock()
    drift = datetime.now(UTC) - timedelta(seconds=boot_seconds) - _offset.machine_origin
    return boot_seconds >= _offset.due_at or abs(drift.total_seconds()) > MAX_DRIFT_SECONDS
