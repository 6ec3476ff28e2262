"""procrastinate, which brings jobs to workers through PostgreSQL.

Jobs have no ``lock``: who executes a run is decided by its lease and its fence, and the lock of a
job whose worker was killed would hold up the run until that job is found.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.contrib.django.utils import connector_params
from procrastinate.exceptions import ConnectorException, JobAborted
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from procrastinate.tasks import configure_task
from psycopg import OperationalError

from jpweb.store.database import patience
from jpweb.store.outage import find_outage

logger = logging.getLogger(__name__)

#: What the database's absence looks like to those who work with jobs.
ENGINE_GONE = (ConnectorException, OSError)

TASK = "advance"
QUEUE = "runs"
#: When a job is due that is offered again: past by every clock. procrastinate's default is the
#: worker's own time, which may be ahead of the database's.
RETRY_AT = datetime(1970, 1, 1, tzinfo=UTC)
#: Seconds between two tries to put the end of a job on record.
AGAIN = 1.0
#: Seconds that the job engine waits for a reply before its connection counts as silent.
REPLY_SECONDS = 10.0


def defer(run_id: int) -> None:
    """Insert a job on Django's connection; workers are told once the transaction commits."""
    manager = JobManager(DjangoConnector())
    configure_task(name=TASK, job_manager=manager, queue=QUEUE).defer(run_id=run_id)


def waiting(run_ids: Collection[int]) -> set[int]:
    """Return which of these runs have a job that waits for a worker."""
    from procrastinate.contrib.django.models import ProcrastinateJob  # noqa: PLC0415  needs the apps

    jobs = ProcrastinateJob.objects.filter(status="todo", queue_name=QUEUE, task_name=TASK)
    found = jobs.values_list("args", flat=True)
    return {args["run_id"] for args in found if args.get("run_id") in run_ids}


@asynccontextmanager
async def connected(advance: Callable[[int], Awaitable[None]]) -> AsyncIterator[App]:
    """Run procrastinate's connections, which are its own; its one task takes a run's key."""
    sizes: dict[str, Any] = {
        "min_size": 1,
        "max_size": 4,
        "reconnect_timeout": patience.RECONNECT_SECONDS,
    }
    engine = App(connector=PsycopgConnector(kwargs=connector_params(), **sizes))
    engine.job_manager = _Persistent(engine.connector)

    async def task(run_id: int) -> None:
        await advance(run_id)

    engine.task(name=TASK, queue=QUEUE, retry=_OfferedAgain())(task)
    try:
        await engine.open_async()
        yield engine
    finally:  # whatever came of the attempt: what looks for a server would go on looking
        await engine.close_async()


async def revive(engine: App, seconds: float) -> int:
    """Offer jobs again whose worker has been silent for so long; returns how many."""
    await engine.job_manager.prune_stalled_workers(seconds)
    stalled = list(await engine.job_manager.get_stalled_jobs(seconds_since_heartbeat=seconds))
    for job in stalled:
        await engine.job_manager.retry_job(job)
    return len(stalled)


class _OfferedAgain(BaseRetryStrategy):
    """Offers a job again whose worker ended before it; any other end is one."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        aborted = isinstance(exception, JobAborted | asyncio.CancelledError)
        return RetryDecision() if aborted else None


class _Persistent(JobManager):
    """Goes on however long the database is away.

    procrastinate's worker does not notice when what hears of jobs, or what says that it lives,
    has failed. And the job whose end is not on record would never be offered again.
    """

    async def fetch_job(self, *args: Any, **named: Any) -> Job | None:
        async with asyncio.timeout(REPLY_SECONDS):  # ends the worker, which is begun again
            return await super().fetch_job(*args, **named)

    async def listen_for_jobs(self, *args: Any, **named: Any) -> None:
        listening = super().listen_for_jobs
        while True:
            await _insist(lambda: listening(*args, **named))

    async def update_heartbeat(self, worker_id: int) -> None:
        beat = super().update_heartbeat
        await _insist(lambda: _within(beat(worker_id)))

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        ending = super().finish_job
        await _insist(lambda: _within(ending(job, status, delete_job)))

    async def retry_job(self, job: Job, *more: Any, **named: Any) -> None:
        """Offer a job again at once, whatever time this machine's clock shows."""
        again = super().retry_job
        named["retry_at"] = RETRY_AT
        await _insist(lambda: _within(again(job, *more, **named)))


async def _within(act: Awaitable[None]) -> None:
    """Wait for the database as long as it may be silent. Raises TimeoutError."""
    async with asyncio.timeout(REPLY_SECONDS):
        await act


async def _insist(act: Callable[[], Awaitable[None]]) -> None:
    """Do it once the database is there. A job that is not this worker's any more is let be."""
    while True:
        try:
            return await act()
        except TimeoutError:
            logger.warning("the connection of the job engine does not reply")
        except ConnectorException as problem:
            is_outage = isinstance(problem.__cause__, OperationalError)
            if not is_outage and find_outage(problem) is None:
                logger.info("a job is another worker's now: %s", problem.__cause__)
                return None
        await asyncio.sleep(AGAIN)
