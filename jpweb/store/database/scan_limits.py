"""Time limit of SQLite queries that compare text without an index; PostgreSQL has its own.

A thread interrupts the statement. A progress handler would need Python's lock once in some
thousand steps of each query, for which it waits while other threads compute; a comparison of 18 ms
is one step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread

from django.db import connection

#: Seconds of a scan. ``LIKE`` with 200 characters takes 18 ms for a passage of 50,000.
MAX_SCAN_SECONDS = 5.0
#: Seconds between two interruptions: one that hits no statement has no effect on the next.
_REPEAT_SECONDS = 0.1


@contextmanager
def limit_scans() -> Iterator[None]:
    """Interrupt the queries of this thread's connection in the block after ``MAX_SCAN_SECONDS``.

    They raise OperationalError, which ``find_outage`` calls ``Outage.STOPPED``.
    """
    if connection.vendor == "postgresql":
        yield
        return
    connection.ensure_connection()
    raw_connection = connection.connection
    is_over, lock = Event(), Lock()

    def interrupt_late() -> None:
        seconds = MAX_SCAN_SECONDS
        while not is_over.wait(seconds):
            with lock:
                if not is_over.is_set():
                    raw_connection.interrupt()
            seconds = _REPEAT_SECONDS

    Thread(target=interrupt_late, name="scan limit", daemon=True).start()
    try:
        yield
    finally:
        with lock:  # the connection's next statement is another block's
            is_over.set()
