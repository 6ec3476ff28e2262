"""PostgreSQL connections that wait for at most so long, whatever became of the other end.

Three kinds of silence end by themselves. A statement that takes too long, or waits for a lock, is
cancelled by the server. A transaction that its client left open is ended by the server too. A
connection through which no reply comes is closed here: the server cannot say so through it, and TCP
does not notice while a proxy or a paused machine still acknowledges packets.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import monotonic
from typing import Any, TypeVar

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import close_old_connections, connection, connections
from psycopg import Connection, InternalError, OperationalError

from jpweb.store.outage import find_outage

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds that a statement may wait for a lock that another connection holds.
LOCK_TIMEOUT_SECONDS = 5.0
#: Seconds that a transaction may stay open while its client sends nothing.
IDLE_TRANSACTION_SECONDS = 20.0
#: Seconds beyond the server's own limit after which a reply counts as lost.
REPLY_GRACE_SECONDS = 3.0
#: Seconds that a write may wait that can as well be left out.
BRIEF_SECONDS = 0.05
#: Seconds until a new connection counts as failed.
CONNECT_TIMEOUT_SECONDS = 5
#: Seconds for which a pool repeats a failed attempt, with growing pauses, until a request asks.
RECONNECT_SECONDS = 3.0
#: TCP keepalive: seconds of silence until the first probe, between two probes, and their number.
KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
#: Seconds after which TCP gives up data that the other end does not acknowledge.
UNACKNOWLEDGED_SECONDS = 20.0

#: PostgreSQL's SQLSTATEs (appendix A of its manual) of class 25 that no statement of ours causes: a
#: transaction that was idle or open for too long, and a server that became read-only by a failover.
SESSION_ENDED_SQLSTATES = frozenset({"25P03", "25P04", "25006"})

#: Seconds that the current task waits for one reply where not its connection's own; 0: no limit.
_reply_seconds: ContextVar[float | None] = ContextVar("reply_seconds", default=None)


class PatientConnection(Connection[Any]):
    """A connection that closes itself when the server has not replied in time.

    ``REPLY_SECONDS`` limits each wait for the server: a statement, a commit, a pool's check.
    """

    REPLY_SECONDS = 0.0

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **named: Any) -> T:
        """Wait as psycopg does. Raises OperationalError, and closes, where no reply comes."""
        chosen = _reply_seconds.get()
        seconds = self.REPLY_SECONDS if chosen is None else chosen
        return super().wait(self._limited(gen, seconds or inf), *args, **named)

    def _limited(self, gen: Generator[Any, Any, T], seconds: float) -> Generator[Any, Any, T]:
        """Step through a generator of psycopg, which hears several times a second of no news."""
        end = monotonic() + seconds
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and monotonic() > end:
                    self.pgconn.finish()
                    raise OperationalError(f"the server has not replied for {seconds:g} seconds")
                wanted = gen.send(ready)
        except StopIteration as done:
            value: T = done.value
            return value
        except InternalError as problem:
            if problem.sqlstate not in SESSION_ENDED_SQLSTATES:
                raise
            raise _make_outage(problem) from problem


def _make_outage(problem: InternalError) -> OperationalError:
    """Return the OperationalError for a session that the server ended; psycopg's is InternalError.

    Callers that wait for the database to come back catch OperationalError (PEP 249: "not
    necessarily under the control of the programmer").
    """
    outage = OperationalError(str(problem))
    outage.sqlstate = problem.sqlstate
    return outage


def connection_options(statement_seconds: float, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return connection parameters with these limits; what is ``given`` in the address wins."""
    limits = {
        "lock_timeout": min(LOCK_TIMEOUT_SECONDS, statement_seconds / 2),
        "statement_timeout": statement_seconds,
        "idle_in_transaction_session_timeout": IDLE_TRANSACTION_SECONDS,
        "tcp_user_timeout": UNACKNOWLEDGED_SECONDS,
    }
    server = " ".join(f"-c {name}={round(value * 1000)}" for name, value in limits.items())
    # The server looks for a client that is gone with the same probes.
    server += "".join(f" -c tcp_{name}={value}" for name, value in KEEPALIVE.items())
    client = {
        "connect_timeout": CONNECT_TIMEOUT_SECONDS,
        "keepalives": 1,
        **KEEPALIVE,
        "tcp_user_timeout": round(UNACKNOWLEDGED_SECONDS * 1000),
    }
    options = f"{server} {given.get('options', '')}".strip()
    return {**client, **given, "options": options}


def pool_options(statement_seconds: float, **sizes: Any) -> dict[str, Any]:
    """Return the options of a pool that throws connections away whose server is silent."""
    return {
        "connection_class": make_patient(statement_seconds + REPLY_GRACE_SECONDS),
        "reconnect_timeout": RECONNECT_SECONDS,
        **sizes,
    }


def make_patient(seconds: float) -> type[PatientConnection]:
    """Return the class of connections that wait so long for a reply."""

    class LimitedConnection(PatientConnection):
        REPLY_SECONDS = seconds

    return LimitedConnection


@contextmanager
def without_limits() -> Iterator[None]:
    """Let statements on this thread's connection take as long as they need, as migrations do."""
    token = _reply_seconds.set(0)
    try:
        _execute_for_limits("SET {} = 0")
        yield
        _execute_for_limits("RESET {}")  # a pool may hand this connection to the next task
    finally:
        _reply_seconds.reset(token)


@contextmanager
def own_connection(name: str, seconds: float) -> Iterator[None]:
    """Give this thread a connection for which it waits for nobody, and at most so long.

    The pool that all others share may be exhausted by connections that hang. SQLite has no pool.
    """
    shared = connections["default"]
    if shared.vendor != "postgresql":
        yield
        return
    own: Any = shared.copy(alias=name)  # PostgreSQL's, which has a pool
    given = own.settings_dict["OPTIONS"]
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    brief = "".join(f" -c {name}={round(seconds * 1000)}" for name in names)
    given["options"] = given.get("options", "") + brief
    given["connect_timeout"] = max(round(seconds), 2)  # less than 2 s means 2 s to libpq
    sizes = {"min_size": 1, "max_size": 1, "timeout": seconds, "reconnect_timeout": seconds}
    given["pool"] = {"connection_class": make_patient(seconds + 1), **sizes}
    connections["default"] = own
    try:
        yield
    finally:
        own.close()
        connections["default"] = shared
        own.close_pool()


def give_back_connection() -> None:
    """Give this thread's connection back to its pool, or close it; a broken one is replaced."""
    close_old_connections()


@contextmanager
def reply_within(seconds: float) -> Iterator[None]:
    """Wait for at most so many seconds for each reply, in this task or thread."""
    token = _reply_seconds.set(seconds)
    try:
        yield
    finally:
        _reply_seconds.reset(token)


def write_briefly(statement: str, values: Sequence[Any]) -> bool:
    """Execute one write that may be left out; tells whether it was done.

    It waits for no other write: a page that only notes how far somebody has read opens while the
    database is locked, full or read-only.
    """
    milliseconds = round(BRIEF_SECONDS * 1000)
    try:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                # Several statements that are sent as one are one transaction, and one round trip.
                cursor.execute(f"SET LOCAL lock_timeout = {milliseconds}; {statement}", values)
                return True
            line = connection.connection  # of sqlite3: a setting of the process is no query
            line.execute(f"PRAGMA busy_timeout = {milliseconds}")
            try:
                cursor.execute(statement, values)
            finally:
                line.execute(f"PRAGMA busy_timeout = {settings.SQLITE_LOCK_SECONDS * 1000}")
    except DatabaseError as problem:
        if find_outage(problem) is None:
            raise
        logger.info("a write that may be left out was left out: %s", problem)
        return False
    return True


def _execute_for_limits(statement: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for name in (
                "statement_timeout",
                "lock_timeout",
                "idle_in_transaction_session_timeout",
            ):
                cursor.execute(statement.format(name))
