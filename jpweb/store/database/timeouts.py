"""Timeouts of PostgreSQL connections.

The server cancels a statement that runs, or waits for a lock, longer than its timeout,
and ends a transaction that its client left open. A connection without replies is closed
by the client, here: the server cannot report through it, and TCP does not notice while a
proxy or a paused machine still acknowledges packets.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import monotonic
from typing import Any, TypeVar

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import close_old_connections, connection, connections, transaction
from psycopg import AsyncConnection, Connection, InternalError, Notify, OperationalError
from psycopg.pq.abc import PGconn

from jpweb.store.database.availability import find_outage

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds that a statement may wait for a lock that another connection holds.
LOCK_TIMEOUT_SECONDS = 5.0
#: Seconds that a transaction may stay open while its client sends nothing.
IDLE_TRANSACTION_SECONDS = 20.0
#: Seconds beyond the server's ``statement_timeout`` after which a reply counts as lost.
REPLY_GRACE_SECONDS = 3.0
#: Seconds that an optional write (``write_briefly``, ``change_briefly``) waits for a lock.
BRIEF_WRITE_SECONDS = 0.05
#: Seconds after which an attempt to connect counts as failed.
CONNECT_TIMEOUT_SECONDS = 5
#: Seconds for which a pool retries a failed connection with backoff; then the next request does.
RECONNECT_SECONDS = 3.0
#: TCP keepalive: seconds of silence until the first probe, between two probes, and their number.
TCP_KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
#: Seconds after which TCP drops a connection with unacknowledged data (TCP_USER_TIMEOUT).
UNACKNOWLEDGED_SECONDS = 20.0

#: PostgreSQL's SQLSTATEs (appendix A of its manual) of class 25 that no statement of ours causes: a
#: transaction that was idle or open for too long, and a server that became read-only by a failover.
SESSION_ENDED_SQLSTATES = frozenset({"25P03", "25P04", "25006"})

#: Seconds that the current task waits for one reply; None: its connection's limit, 0: no limit.
_reply_seconds: ContextVar[float | None] = ContextVar("reply_seconds", default=None)


class TimeoutConnection(Connection[Any]):
    """A connection that closes itself when the server has not replied in time.

    ``REPLY_SECONDS`` limits each wait for the server: a statement, a commit, a pool's check.
    """

    REPLY_SECONDS = 0.0

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Wait as psycopg does; without a reply in time, close and raise OperationalError."""
        task_seconds = _reply_seconds.get()
        seconds = self.REPLY_SECONDS if task_seconds is None else task_seconds
        return super().wait(_step_with_deadline(gen, self.pgconn, seconds or inf), *args, **kwargs)


class AsyncTimeoutConnection(AsyncConnection[Any]):
    """As ``TimeoutConnection``, for asyncio; only notifications are awaited without a limit."""

    REPLY_SECONDS = 0.0
    _is_listening = False

    async def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Wait as psycopg does; without a reply in time, close and raise OperationalError."""
        if not self._is_listening:
            gen = _step_with_deadline(gen, self.pgconn, self.REPLY_SECONDS)
        return await super().wait(gen, *args, **kwargs)

    async def notifies(self, **kwargs: Any) -> AsyncGenerator[Notify]:
        """Yield notifications as psycopg does, which has the connection's lock meanwhile."""
        self._is_listening = True
        try:
            async for notification in super().notifies(**kwargs):
                yield notification
        finally:
            self._is_listening = False


def _step_with_deadline(
    gen: Generator[Any, Any, T], pgconn: PGconn, seconds: float
) -> Generator[Any, Any, T]:
    """Step through a generator of psycopg, which resumes it often, also without data."""
    deadline = monotonic() + seconds
    try:
        awaited_state = next(gen)
        while True:
            ready_state = yield awaited_state
            if not ready_state and monotonic() > deadline:
                pgconn.finish()
                raise OperationalError(f"the server has not replied for {seconds:g} seconds")
            awaited_state = gen.send(ready_state)
    except StopIteration as stop:
        value: T = stop.value
        return value
    except InternalError as error:
        if error.sqlstate not in SESSION_ENDED_SQLSTATES:
            raise
        raise _make_outage(error) from error


def _make_outage(error: InternalError) -> OperationalError:
    """Return the OperationalError for a session that the server ended; psycopg's is InternalError.

    Callers that wait for the database to come back catch OperationalError (PEP 249: "not
    necessarily under the control of the programmer").
    """
    outage = OperationalError(str(error))
    outage.sqlstate = error.sqlstate
    return outage


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


def make_pool_options(statement_seconds: float, **sizes: Any) -> dict[str, Any]:
    """Return the options of a pool that discards connections whose server is silent."""
    return {
        "connection_class": make_timeout_connection(statement_seconds + REPLY_GRACE_SECONDS),
        "reconnect_timeout": RECONNECT_SECONDS,
        **sizes,
    }


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


def make_timeout_connection(seconds: float) -> type[TimeoutConnection]:
    """Return a connection class that waits so many seconds for a reply."""

    class LimitedConnection(TimeoutConnection):
        REPLY_SECONDS = seconds

    return LimitedConnection


def make_async_timeout_connection(seconds: float) -> type[AsyncTimeoutConnection]:
    """Return a connection class for asyncio that waits so many seconds for a reply."""

    class LimitedAsyncConnection(AsyncTimeoutConnection):
        REPLY_SECONDS = seconds

    return LimitedAsyncConnection


@contextmanager
def lift_timeouts() -> Iterator[None]:
    """Lift the statement timeouts of this thread's connection, as migrations need."""
    token = _reply_seconds.set(0)
    try:
        _execute_for_limits("SET {} = 0")
        yield
        _execute_for_limits("RESET {}")  # a pool may hand this connection to the next task
    finally:
        _reply_seconds.reset(token)


@contextmanager
def use_own_connection(name: str, seconds: float) -> Iterator[None]:
    """Give this thread an unpooled connection with a time limit.

    The shared pool may be exhausted by connections that hang. SQLite has no pool.
    """
    shared_wrapper = connections["default"]
    if shared_wrapper.vendor != "postgresql":
        yield
        return
    own_wrapper: Any = shared_wrapper.copy(alias=name)  # Any: only PostgreSQL's has a pool
    options = own_wrapper.settings_dict["OPTIONS"]
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    timeout_options = "".join(f" -c {name}={round(seconds * 1000)}" for name in names)
    options["options"] = options.get("options", "") + timeout_options
    options["connect_timeout"] = max(round(seconds), 2)  # less than 2 s means 2 s to libpq
    sizes = {"min_size": 1, "max_size": 1, "timeout": seconds, "reconnect_timeout": seconds}
    options["pool"] = {"connection_class": make_timeout_connection(seconds + 1), **sizes}
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


@contextmanager
def limit_replies(seconds: float) -> Iterator[None]:
    """Limit the wait for each reply to so many seconds, in this task or thread."""
    token = _reply_seconds.set(seconds)
    try:
        yield
    finally:
        _reply_seconds.reset(token)


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
