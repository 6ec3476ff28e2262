"""Connections that never wait without a limit, through a proxy that can fall silent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from jpweb.store.database import reply_limits, timeout_connections, timeouts
from jpweb.store.database.availability import Outage, find_outage
from tests.machine.faults.proxy import Proxy, run_proxy
from tests.machine.ports import wait_until
from tests.machine.servers import Cluster

STATEMENT_SECONDS = 0.5
#: Seconds for a reply that comes, and for one that does not.
REPLY_SECONDS, SILENCE_SECONDS = 20.0, 1.0


@pytest.fixture(scope="module")
def database(postgres: Cluster) -> str:
    url = postgres()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE thing (id int)")
        connection.execute("INSERT INTO thing VALUES (1)")
    return url


@pytest.fixture
def proxy(database: str) -> Iterator[Proxy]:
    with run_proxy(int(psycopg.conninfo.conninfo_to_dict(database)["port"] or 0)) as running_proxy:
        yield running_proxy


@pytest.fixture
def pool(database: str, proxy: Proxy) -> Iterator[ConnectionPool[Any]]:
    parts = psycopg.conninfo.conninfo_to_dict(database, port=proxy.port)
    options = timeouts.make_connection_options(STATEMENT_SECONDS, parts)
    sizes = timeout_connections.make_pool_options(
        STATEMENT_SECONDS, min_size=1, max_size=2, timeout=20
    )
    sizes["connection_class"] = timeout_connections.make_timeout_connection(REPLY_SECONDS)
    check = ConnectionPool.check_connection
    with ConnectionPool(
        kwargs=options | {"autocommit": True}, check=check, **sizes
    ) as connection_pool:
        connection_pool.wait()  # else it opens a second connection, which a proxy may silence
        yield connection_pool


@contextmanager
def silence(pool: ConnectionPool[Any], proxy: Proxy) -> Iterator[None]:
    """Silence the pool's connections; in the block, replies are awaited for less long."""
    proxy.silence()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool.connection_class, "REPLY_SECONDS", SILENCE_SECONDS)
        yield


def test_silent_statement_raises_and_its_connection_is_replaced(
    pool: ConnectionPool[Any], proxy: Proxy
):
    with pool.connection() as line:
        with silence(pool, proxy), pytest.raises(psycopg.OperationalError, match="not replied"):
            line.execute("SELECT 1")
        assert line.closed
    with pool.connection() as line:
        assert line.execute("SELECT 2").fetchone() == (2,)


def test_pooled_connection_that_fell_silent_is_not_handed_out(
    pool: ConnectionPool[Any], proxy: Proxy
):
    with pool.connection() as line:
        line.execute("SELECT 1")
    with ExitStack() as stack:
        with silence(pool, proxy):
            line = stack.enter_context(pool.connection())
        assert line.execute("SELECT 2").fetchone() == (2,)


def test_silent_commit_raises(pool: ConnectionPool[Any], proxy: Proxy):
    with pool.connection() as line:
        line.autocommit = False
        line.execute("SELECT 1")
        with silence(pool, proxy), pytest.raises(psycopg.OperationalError, match="not replied"):
            line.commit()


def test_lock_of_another_is_not_waited_for_without_end(pool: ConnectionPool[Any]):
    with pool.connection() as first, pool.connection() as second, first.transaction():
        first.execute("UPDATE thing SET id = id")
        # Its time runs from the statement's arrival, and may be over before that of the lock.
        second.execute("SET statement_timeout = '20s'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            second.execute("UPDATE thing SET id = id")


def test_statement_without_end_is_cancelled_by_the_server(pool: ConnectionPool[Any]):
    with pool.connection() as line, pytest.raises(psycopg.errors.QueryCanceled):
        line.execute("SELECT pg_sleep(60)")


def test_transaction_that_the_server_ended_as_idle_is_an_outage(
    pool: ConnectionPool[Any], database: str
):
    backends = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
    with pool.connection() as line, psycopg.connect(database, autocommit=True) as observer:
        line.autocommit = False
        # In ms. libpq drops the server's last message where it arrives together with this reply.
        line.execute("SET idle_in_transaction_session_timeout = 2000")
        pid = [line.info.backend_pid]
        wait_until(lambda: observer.execute(backends, pid).fetchone() is None, "backend ended")
        with pytest.raises(psycopg.OperationalError) as raised:
            line.execute("SELECT 1")
        line.close()
    assert raised.value.sqlstate == "25P03"
    assert find_outage(raised.value) is Outage.LOST


def test_write_to_a_server_that_became_read_only_is_an_outage(pool: ConnectionPool[Any]):
    with pool.connection() as line:
        line.execute("SET default_transaction_read_only = on")
        with pytest.raises(psycopg.OperationalError) as raised:
            line.execute("UPDATE thing SET id = 2")
        line.close()
    assert find_outage(raised.value) is Outage.READ_ONLY


def test_error_of_a_statement_keeps_its_class(pool: ConnectionPool[Any]):
    with pool.connection() as line:
        line.autocommit = False
        with pytest.raises(psycopg.errors.UndefinedTable):
            line.execute("SELECT * FROM nothing")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction) as raised:
            line.execute("SELECT 1")
        line.rollback()
    assert raised.value.__cause__ is None


def test_reply_limit_of_a_task_is_shorter_than_its_connections(
    pool: ConnectionPool[Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(timeout_connections.TimeoutConnection, "REPLY_SECONDS", 60)
    with (
        pool.connection() as line,
        reply_limits.limit_replies(0.05),
        pytest.raises(psycopg.OperationalError, match=r"for 0\.05"),
    ):
        line.execute("SELECT pg_sleep(0.4)")


def test_postgresql_connection_sets_all_timeouts(pool: ConnectionPool[Any]):
    names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
    with pool.connection() as line:
        for name in (*names, "tcp_user_timeout", "tcp_keepalives_idle"):
            ((value,),) = line.execute(f"SHOW {name}").fetchall()
            assert value not in ("0", ""), name


def test_options_of_the_address_win_over_the_limits():
    params = {"options": "-c lock_timeout=1", "connect_timeout": 9}
    options = timeouts.make_connection_options(30, params)
    assert options["options"].endswith(" -c lock_timeout=1")
    assert options["connect_timeout"] == 9


async def test_silent_statement_of_asyncio_raises_and_closes_its_connection(
    database: str, proxy: Proxy
):
    limited = timeout_connections.make_async_timeout_connection(STATEMENT_SECONDS)
    conninfo = psycopg.conninfo.make_conninfo(database, port=proxy.port)
    async with await limited.connect(conninfo) as line:
        proxy.silence()
        with pytest.raises(psycopg.OperationalError, match="not replied"):
            await line.execute("SELECT 1")
        assert line.closed


async def test_notification_may_come_later_than_a_reply(database: str):
    limited = timeout_connections.make_async_timeout_connection(60)
    notify_late = "SELECT pg_sleep(0.3), pg_notify('things', '')"
    async with await limited.connect(database, autocommit=True) as line:
        await line.execute("LISTEN things")
        limited.REPLY_SECONDS = 0.05
        with psycopg.connect(database, autocommit=True) as notifier:
            task = asyncio.create_task(asyncio.to_thread(notifier.execute, notify_late))
            channels = [note.channel async for note in line.notifies(stop_after=1)]
            await task
    assert channels == ["things"]
