"""Connections to PostgreSQL that close themselves where the server does not reply.

The server cannot report through a connection without replies, and TCP does not notice while a
proxy or a paused machine still acknowledges packets. SQLite needs neither this nor psycopg.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from math import inf
from time import monotonic
from typing import Any, TypeVar

from psycopg import AsyncConnection, Connection, InternalError, Notify, OperationalError
from psycopg.pq.abc import PGconn

from jpweb.store.database.reply_limits import get_reply_seconds

T = TypeVar("T")

#: Seconds beyond the server's ``statement_timeout`` after which a reply counts as lost.
REPLY_GRACE_SECONDS = 3.0
#: Seconds for which a pool retries a failed connection with backoff; then the next request does.
RECONNECT_SECONDS = 3.0

#: PostgreSQL's SQLSTATEs (appendix A of its manual) of class 25 that no statement of ours causes: a
#: transaction that was idle or open for too long, and a server that became read-only by a failover.
SESSION_ENDED_SQLSTATES = frozenset({"25P03", "25P04", "25006"})


class TimeoutConnection(Connection[Any]):
    """A connection that closes itself when the server has not replied in time.

    ``REPLY_SECONDS`` limits each wait for the server: a statement, a commit, a pool's check.
    """

    REPLY_SECONDS = 0.0

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Wait as psycopg does; without a reply in time, close and raise OperationalError."""
        seconds = get_reply_seconds(self.REPLY_SECONDS)
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


def make_pool_options(statement_seconds: float, **sizes: Any) -> dict[str, Any]:
    """Return the options of a pool that discards connections whose server is silent."""
    return {
        "connection_class": make_timeout_connection(statement_seconds + REPLY_GRACE_SECONDS),
        "reconnect_timeout": RECONNECT_SECONDS,
        **sizes,
    }


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
