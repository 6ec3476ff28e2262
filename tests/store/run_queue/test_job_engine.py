from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from procrastinate import App, utils
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Status
from procrastinate.testing import InMemoryConnector

from jpweb.store.run_queue import job_engine


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
    again = await app.job_manager.fetch_job([job_engine.QUEUE_NAME], worker)
    assert again is not None
    assert again.id == job.id
