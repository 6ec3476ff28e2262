from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler
from procrastinate import App, utils
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Status
from procrastinate.manager import JobManager
from procrastinate.testing import InMemoryConnector

from jpweb.store.database.availability import Outage, find_outage
from jpweb.store.run_queue import job_engine
from tests.machine.faults.proxy import Proxy, run_proxy
from tests.machine.ports import LOOPBACK
from tests.machine.servers import Cluster

#: What procrastinate's worker asks the database by itself, at intervals and at its end.
WORKER_QUERIES: dict[str, Callable[[JobManager], Coroutine[Any, Any, Any]]] = {
    "fetch": lambda manager: manager.fetch_job([job_engine.QUEUE_NAME], worker_id=1),
    "register": lambda manager: manager.register_worker(),
    "unregister": lambda manager: manager.unregister_worker(1),
    "prune": lambda manager: manager.prune_stalled_workers(60),
    "aborts": lambda manager: manager.list_jobs_to_abort_async(),
}


class _FailingConnector(InMemoryConnector):
    """A database whose first writes of a job's end fail with these errors of psycopg."""

    def __init__(self, problems: list[psycopg.Error]) -> None:
        super().__init__()
        self.problems = problems

    async def finish_job_run(self, job_id: int, status: str, delete_job: bool) -> None:
        if self.problems:
            raise ConnectorException from self.problems.pop()
        await super().finish_job_run(job_id, status, delete_job)


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (psycopg.errors.ReadOnlySqlTransaction(), "succeeded"),
        (psycopg.errors.IdleInTransactionSessionTimeout(), "succeeded"),
        (psycopg.OperationalError("the connection is lost"), "succeeded"),
        (psycopg.errors.RaiseException("Job was not found"), "doing"),
    ],
    ids=["failover", "session ended", "connection lost", "another worker's"],
)
async def test_finish_job_is_repeated_after_an_outage_alone(
    monkeypatch: pytest.MonkeyPatch, problem: psycopg.Error, status: str
):
    monkeypatch.setattr(job_engine, "RETRY_DELAY_SECONDS", 0)
    connector = _FailingConnector([problem])
    app = App(connector=connector)
    app.job_manager = job_engine._ResilientJobManager(app.connector)
    app.task(name=job_engine.TASK_NAME, queue=job_engine.QUEUE_NAME)(print)
    worker = await app.job_manager.register_worker()
    await app.configure_task(job_engine.TASK_NAME).defer_async()
    job = await app.job_manager.fetch_job([job_engine.QUEUE_NAME], worker)
    assert job is not None
    await app.job_manager.finish_job(job, Status.SUCCEEDED, delete_job=False)
    assert job.id is not None
    assert connector.jobs[job.id]["status"] == status


async def test_retry_job_of_a_worker_whose_clock_is_ahead_is_due_at_once(
    monkeypatch: pytest.MonkeyPatch,
):
    app = App(connector=InMemoryConnector())
    app.job_manager = job_engine._ResilientJobManager(app.connector)
    app.task(name=job_engine.TASK_NAME, queue=job_engine.QUEUE_NAME)(print)
    worker = await app.job_manager.register_worker()
    await app.configure_task(job_engine.TASK_NAME).defer_async()
    job = await app.job_manager.fetch_job([job_engine.QUEUE_NAME], worker)
    assert job is not None
    ahead = datetime.now(UTC) + timedelta(minutes=10)
    with monkeypatch.context() as patch:
        patch.setattr(utils, "utcnow", lambda: ahead)
        await app.job_manager.retry_job(job)
    second_job = await app.job_manager.fetch_job([job_engine.QUEUE_NAME], worker)
    assert second_job is not None
    assert second_job.id == job.id


async def _ignore_run(run_id: int) -> None:
    """Take a job and do nothing."""


@pytest.fixture
def engine_proxy(postgres: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """Run a proxy through which the engine reaches an empty database: no query gets there."""
    parts = psycopg.conninfo.conninfo_to_dict(postgres())
    with run_proxy(int(parts["port"] or 0)) as proxy:
        parts["port"] = str(proxy.port)
        monkeypatch.setattr(job_engine, "connector_params", lambda: parts)
        monkeypatch.setattr(job_engine, "REPLY_SECONDS", 0.5)
        yield proxy


async def test_queries_of_a_worker_over_half_open_connections_fail(engine_proxy: Proxy):
    async with asyncio.timeout(20), job_engine.open_engine(_ignore_run) as engine:
        engine_proxy.is_silent = True  # so that no new connection helps
        engine_proxy.half_close()
        queries = [query(engine.job_manager) for query in WORKER_QUERIES.values()]
        errors = await asyncio.gather(*queries, return_exceptions=True)
    kinds = {name: type(error) for name, error in zip(WORKER_QUERIES, errors, strict=True)}
    assert kinds == dict.fromkeys(WORKER_QUERIES, ConnectorException)


async def test_queries_of_a_worker_that_begins_in_an_outage_fail(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(job_engine, "connector_params", lambda: {"host": LOOPBACK, "port": 1})
    monkeypatch.setattr(job_engine, "REPLY_SECONDS", 0.5)
    with pytest.raises(ConnectorException):
        async with asyncio.timeout(20), job_engine.open_engine(_ignore_run) as engine:
            await engine.job_manager.register_worker()


#: Fails as the insert of a row does that has no room on the disk.
FULL_JOBS = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE disk_full; END';
CREATE TRIGGER refuse BEFORE INSERT ON procrastinate_jobs EXECUTE FUNCTION refuse();
"""


@pytest.fixture
def full_connection(
    postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> Iterator[BaseDatabaseWrapper]:
    """Let jobs be inserted into a database of PostgreSQL that has no room for them."""
    parts = psycopg.conninfo.conninfo_to_dict(postgres.make_migrated())
    names = {"NAME": "dbname", "USER": "user", "HOST": "host", "PORT": "port"}
    address = {name: str(parts[part]) for name, part in names.items()}
    database = {"ENGINE": "django.db.backends.postgresql", **address}
    connection = ConnectionHandler({"default": database})["default"]
    monkeypatch.setattr(DjangoConnector, "connection", connection)
    monkeypatch.setattr(job_engine, "connection", connection)
    try:
        with connection.cursor() as cursor:
            cursor.execute(FULL_JOBS)
        yield connection
    finally:
        connection.close()


@pytest.mark.django_db
def test_defer_job_on_a_full_disk_raises_the_outage_of_a_query(
    full_connection: BaseDatabaseWrapper,
):
    with pytest.raises(OperationalError) as raised:
        job_engine.defer_job(1)
    assert find_outage(raised.value) is Outage.FULL
