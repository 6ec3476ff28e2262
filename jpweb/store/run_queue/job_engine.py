"""The job engine (procrastinate), which wakes workers for queued runs through PostgreSQL.

Jobs have no ``lock``: a run's lease and fence decide who executes it, and the job lock
of a worker that was killed would block the run until that job is found.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from django.db import connection
from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.contrib.django.utils import connector_params
from procrastinate.exceptions import ConnectorException, JobAborted
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from procrastinate.tasks import configure_task
from psycopg import OperationalError

from jpweb.store.database import timeout_connections
from jpweb.store.database.availability import find_outage

logger = logging.getLogger(__name__)

#: Errors of procrastinate while the database is unavailable.
ENGINE_UNAVAILABLE = (ConnectorException, OSError)

TASK_NAME = "advance"
QUEUE_NAME = "runs"
#: Due time of a retried job: in the past by every clock. procrastinate's default is the worker's
#: clock, which may be ahead of the database's.
RETRY_AT = datetime(1970, 1, 1, tzinfo=UTC)
#: Seconds between two attempts of a query of the engine while the database is unavailable.
RETRY_DELAY_SECONDS = 1.0
#: Seconds that the job engine waits for a reply before its connection counts as silent.
REPLY_SECONDS = 10.0


def defer_job(run_id: int) -> None:
    """Insert a job on Django's connection; workers are notified when the transaction commits.

    Raises Django's error where the database fails, as any other query of the transaction does;
    procrastinate's own is no database error to callers that wait for an outage's end.
    """
    manager = JobManager(DjangoConnector())
    try:
        configure_task(name=TASK_NAME, job_manager=manager, queue=QUEUE_NAME).defer(run_id=run_id)
    except ConnectorException as error:
        with connection.wrap_database_errors:
            raise error.__cause__ or error from None


def find_waiting(run_ids: Collection[int]) -> set[int]:
    """Return the runs among these that have a job without a worker."""
    from procrastinate.contrib.django.models import ProcrastinateJob  # noqa: PLC0415  needs the apps

    jobs = ProcrastinateJob.objects.filter(
        status="todo", queue_name=QUEUE_NAME, task_name=TASK_NAME
    )
    job_args = jobs.values_list("args", flat=True)
    return {args["run_id"] for args in job_args if args.get("run_id") in run_ids}


@asynccontextmanager
async def open_engine(advance_run: Callable[[int], Awaitable[None]]) -> AsyncIterator[App]:
    """Open procrastinate with connections of its own; its one task takes a run's key."""
    sizes: dict[str, Any] = {
        # Opening waits for this number of connections, 30 s where the database is away. The first
        # query waits for one as long as any other.
        "min_size": 0,
        "max_size": 4,
        # A worker that waits makes no other query that would let the pool try again.
        "reconnect_timeout": REPLY_SECONDS,
        "timeout": REPLY_SECONDS,
        # Limits every query, also those that procrastinate makes by itself: a worker that waits
        # for ever to unregister, over a half-open connection, is never restarted.
        "connection_class": timeout_connections.make_async_timeout_connection(REPLY_SECONDS),
    }
    engine = App(connector=PsycopgConnector(kwargs=connector_params(), **sizes))
    engine.job_manager = _ResilientJobManager(engine.connector)

    async def run_task(run_id: int) -> None:
        await advance_run(run_id)

    engine.task(name=TASK_NAME, queue=QUEUE_NAME, retry=_RetryAborted())(run_task)
    try:
        await engine.open_async()
        yield engine
    finally:  # also where opening failed: the pool would go on trying to connect
        await engine.close_async()


async def retry_stalled_jobs(engine: App, seconds: float) -> int:
    """Retry the jobs whose worker sent no heartbeat for so long; returns their number."""
    await engine.job_manager.prune_stalled_workers(seconds)
    stalled_jobs = list(await engine.job_manager.get_stalled_jobs(seconds_since_heartbeat=seconds))
    for job in stalled_jobs:
        await engine.job_manager.retry_job(job)
    return len(stalled_jobs)


class _RetryAborted(BaseRetryStrategy):
    """Retries a job whose worker was aborted; any other end is final."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        is_aborted = isinstance(exception, JobAborted | asyncio.CancelledError)
        return RetryDecision() if is_aborted else None


class _ResilientJobManager(JobManager):
    """Retries the engine's own queries through any outage of the database.

    procrastinate's worker does not notice when its listener or its heartbeat has failed.
    And a job whose end is not recorded would never be retried.
    """

    async def listen_for_jobs(self, *args: Any, **kwargs: Any) -> None:
        listen = super().listen_for_jobs
        while True:
            await _retry_until_connected(lambda: listen(*args, **kwargs))

    async def update_heartbeat(self, worker_id: int) -> None:
        send_heartbeat = super().update_heartbeat
        await _retry_until_connected(lambda: send_heartbeat(worker_id))

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        finish = super().finish_job
        await _retry_until_connected(lambda: finish(job, status, delete_job))

    async def retry_job(self, job: Job, *args: Any, **kwargs: Any) -> None:
        """Retry a job at once, for any clock of this machine."""
        retry = super().retry_job
        kwargs["retry_at"] = RETRY_AT
        await _retry_until_connected(lambda: retry(job, *args, **kwargs))


async def _retry_until_connected(act: Callable[[], Awaitable[None]]) -> None:
    """Repeat a query until the database is available; a job of another worker is left alone."""
    while True:
        try:
            return await act()
        except ConnectorException as error:
            is_outage = isinstance(error.__cause__, OperationalError)
            if not is_outage and find_outage(error) is None:
                logger.info("A job belongs to another worker now: %s", error.__cause__)
                return None
        await asyncio.sleep(RETRY_DELAY_SECONDS)
