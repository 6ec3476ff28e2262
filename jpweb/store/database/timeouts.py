"""Timeouts of PostgreSQL connections.

The server cancels a statement that runs, or waits for a lock, longer than its timeout,
and ends a transaction that its client left open. A connection without replies is closed
by the client (``timeout_connections``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import close_old_connections, connection, connections, transaction

from jpweb.store.database.availability import find_outage
from jpweb.store.database.reply_limits import limit_replies

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds that a statement may wait for a lock that another connection holds.
LOCK_TIMEOUT_SECONDS = 5.0
#: Seconds that a transaction may stay open while its client sends nothing.
IDLE_TRANSACTION_SECONDS = 20.0
#: Seconds that an optional write (``write_briefly``, ``change_briefly``) waits for a lock.
BRIEF_WRITE_SECONDS = 0.05
#: Seconds after which an attempt to connect counts as failed.
CONNECT_TIMEOUT_SECONDS = 5
#: TCP keepalive: seconds of silence until the first probe, between two probes, and their number.
TCP_KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
#: Seconds after which TCP drops a connection with unacknowledged data (TCP_USER_TIMEOUT).
UNACKNOWLEDGED_SECONDS = 20.0


def make_connection_options(
    statement_seconds: float, url_options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return connection parameters with these limits; ``url_options`` of the address win."""
    limits = {
        "lock_timeout": min(LOCK_TIMEOUT_SECONDS, statement_seconds / 2),
        "statement_timeout": statement_seconds,
        "idle_in_transaction_session_timeout": IDLE_TRANSACTION_SECONDS,
        "tcp_user_timeout": UNACKNOWLEDGED_SECONDS,
    }
    server_options = " ".join(f"-c {name}={round(value * 1000)}" for name, value in limits.items())
    # The server detects a dead client by the same TCP keepalive settings.
    server_options += "".join(f" -c tcp_{name}={value}" for name, value in TCP_KEEPALIVE.items())
    client_options = {
        "connect_timeout": CONNECT_TIMEOUT_SECONDS,
        "keepalives": 1,
        **TCP_KEEPALIVE,
        "tcp_user_timeout": round(UNACKNOWLEDGED_SECONDS * 1000),
    }
    options = f"{server_options} {url_options.get('options', '')}".strip()
    return {**client_options, **url_options, "options": options}


def make_unlimited_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return connection parameters without a pool or a limit of the server's; the others stay.

    Of two values of a parameter in ``options`` PostgreSQL takes the latter.
    """
    names = (
        *("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"),
        "tcp_user_timeout",
    )
    server_options = options.get("options", "") + "".join(f" -c {name}=0" for name in names)
    return {**options, "pool": None, "options": server_options}


@contextmanager
def lift_timeouts() -> Iterator[None]:
    """Lift the statement timeouts of this thread's connection, as migrations need."""
    with limit_replies(0):
        _execute_for_limits("SET {} = 0")
        yield
        _execute_for_limits("RESET {}")  # a pool may hand this connection to the next task


@contextmanager
def use_own_connection(name: str, seconds: float) -> Iterator[None]:
    """Give this thread an unpooled connection with a time limit.

    The shared pool may be exhausted by connections that hang. SQLite has no pool.
    """
    shared_wrapper = connections["default"]
    if shared_wrapper.vendor != "postgresql":
        yield
        return
    # psycopg, which SQLite does not need, takes 0.18 s of processor time at each start.
    from jpweb.store.database import timeout_connections  # noqa: PLC0415  as above

    own_wrapper: Any = shared_wrapper.copy(alias=name)  # Any: only PostgreSQL's has a pool
    options = own_wrapper.settings_dict["OPTIONS"]
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    timeout_options = "".join(f" -c {name}={round(seconds * 1000)}" for name in names)
    options["options"] = options.get("options", "") + timeout_options
    options["connect_timeout"] = max(round(seconds), 2)  # less than 2 s means 2 s to libpq
    sizes = {"min_size": 1, "max_size": 1, "timeout": seconds, "reconnect_timeout": seconds}
    options["pool"] = {
        "connection_class": timeout_connections.make_timeout_connection(seconds + 1),
        **sizes,
    }
    connections["default"] = own_wrapper
    try:
        yield
    finally:
        own_wrapper.close()
        connections["default"] = shared_wrapper
        own_wrapper.close_pool()


def release_connection() -> None:
    """Return this thread's connection to its pool, or close it; a broken one is replaced."""
    close_old_connections()


def write_briefly(statement: str, values: Sequence[Any]) -> bool:
    """Execute one optional write; tells whether it was done.

    It waits for a lock at most ``BRIEF_WRITE_SECONDS``, so a page that records how far a
    person has read opens while the database is locked, full or read-only.
    """
    try:
        with _limit_lock_waits_of_sqlite(), connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                # Statements of one query string are one transaction, and one round trip.
                statement = f"{_make_brief_lock_timeout()}; {statement}"
            cursor.execute(statement, values)
    except DatabaseError as error:
        _require_outage(error)
        return False
    return True


def change_briefly(change: Callable[[], T]) -> T | None:
    """Make one optional change in a transaction; returns its result, None where it was skipped.

    For changes of several statements; each waits as that of ``write_briefly``.
    """
    try:
        with _limit_lock_waits_of_sqlite(), transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute(_make_brief_lock_timeout())
            return change()
    except DatabaseError as error:
        _require_outage(error)
        return None


def _make_brief_lock_timeout() -> str:
    return f"SET LOCAL lock_timeout = {round(BRIEF_WRITE_SECONDS * 1000)}"


@contextmanager
def _limit_lock_waits_of_sqlite() -> Iterator[None]:
    """Let SQLite wait for its lock as long as an optional write may."""
    if connection.vendor == "postgresql":
        yield
        return
    connection.ensure_connection()
    # sqlite3's, past Django's cursor: a PRAGMA is a setting and no query.
    raw_connection = connection.connection
    raw_connection.execute(f"PRAGMA busy_timeout = {round(BRIEF_WRITE_SECONDS * 1000)}")
    try:
        yield
    finally:
        raw_connection.execute(f"PRAGMA busy_timeout = {settings.SQLITE_LOCK_SECONDS * 1000}")


def _require_outage(error: DatabaseError) -> None:
    """Log an optional write that an outage prevents. Raises every other error of the database."""
    if find_outage(error) is None:
        raise error
    logger.info("An optional write was skipped: %s", error)


def _execute_for_limits(statement: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for name in (
                "statement_timeout",
                "lock_timeout",
                "idle_in_transaction_session_timeout",
            ):
                cursor.execute(statement.format(name))
