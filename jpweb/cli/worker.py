"""A worker: executes queued runs, many at once, in one event loop.

procrastinate only wakes workers. If its connections die its jobs end and the runs continue: the
run's lease decides who executes it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from procrastinate import App

from jpweb.runtime.supervisor import CoroutineFunction, run_with_restart
from jpweb.runtime.tasks import cancel_and_wait, cancel_once
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.run_queue import job_engine
from jpweb.store.run_queue.job_engine import ENGINE_UNAVAILABLE

logger = logging.getLogger(__name__)

#: Seconds between two heartbeats of a worker, and without one until it counts as dead.
HEARTBEAT_SECONDS, WORKER_DEAD_AFTER_SECONDS = 3.0, 12.0
#: Seconds between two polls of the queue, in case a notification was lost.
QUEUE_POLL_SECONDS = 2.0
#: Seconds for releasing the runs when the worker stops.
SHUTDOWN_TIMEOUT_SECONDS = 10.0


async def _admit_at_once() -> None:
    """Admit any number of runs."""


@dataclass(frozen=True, slots=True)
class WorkerCallbacks:
    """Functions that execute runs: ``execute_run`` one, ``release_all``, and the background work.

    ``wait_for_capacity`` returns when the process can take one more.
    """

    execute_run: Callable[[int], Awaitable[None]]
    release_all: Callable[[], Awaitable[None]]
    background_work: Mapping[str, CoroutineFunction] = field(default_factory=dict)
    wait_for_capacity: Callable[[], Awaitable[None]] = _admit_at_once


class Worker:
    """Executes up to ``limit`` runs at once until it is stopped."""

    def __init__(self, executor: WorkerCallbacks, limit: int) -> None:
        self._executor = executor
        self._limit = limit
        self._runs: dict[int, asyncio.Future[None]] = {}

    async def run_until_stopped(self, stop: asyncio.Event) -> int:
        """Work until ``stop`` is set, then release the runs; return how many were released."""
        queue_tasks = self._start_supervised(
            {"queue": self._fetch_jobs, "jobs of dead workers": self._watch_dead_workers}
        )
        background_tasks = self._start_supervised(self._executor.background_work)
        await stop.wait()
        released_count = len(self._runs)
        try:
            async with asyncio.timeout(SHUTDOWN_TIMEOUT_SECONDS):
                await cancel_and_wait(*queue_tasks)  # first, so that no new job is fetched
                await cancel_once(*self._runs.values())
                await cancel_and_wait(*background_tasks)
                await self._executor.release_all()
        except TimeoutError:
            logger.warning(
                "Some runs did not stop in time; other workers resume them once leases expire."
            )
            # asyncio holds tasks weakly: an unreferenced one is destroyed while it runs.
            _cancel_tasks([*self._runs.values(), *background_tasks])
        return released_count

    def _start_supervised(
        self, work_by_name: Mapping[str, CoroutineFunction]
    ) -> list[asyncio.Future[None]]:
        expected_errors = (*DATABASE_UNAVAILABLE, *ENGINE_UNAVAILABLE)
        return [
            asyncio.ensure_future(run_with_restart(name, work, expected_errors))
            for name, work in work_by_name.items()
        ]

    async def _fetch_jobs(self) -> None:
        """Fetch jobs from the queue until a connection dies."""
        async with job_engine.open_engine(self._execute_job) as queue:
            await queue.run_worker_async(
                queues=[job_engine.QUEUE_NAME],
                concurrency=self._limit,
                fetch_job_polling_interval=QUEUE_POLL_SECONDS,
                shutdown_graceful_timeout=0,
                delete_jobs="always",
                install_signal_handlers=False,
                update_heartbeat_interval=HEARTBEAT_SECONDS,
                stalled_worker_timeout=WORKER_DEAD_AFTER_SECONDS,
            )

    async def _watch_dead_workers(self) -> None:
        """Requeue the jobs of dead workers, at intervals."""
        async with job_engine.open_engine(self._execute_job) as queue:
            while True:
                await self._requeue_dead_jobs(queue)
                await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _requeue_dead_jobs(self, queue: App) -> None:
        if revived_count := await job_engine.retry_stalled_jobs(queue, WORKER_DEAD_AFTER_SECONDS):
            logger.info(
                "Requeued %d jobs of workers that stopped responding",
                revived_count,
            )

    async def _execute_job(self, run_id: int) -> None:
        """Execute a run; a job that ends before its run leaves the run alone."""
        while (earlier_execution := self._runs.get(run_id)) is not None:
            await asyncio.wait({earlier_execution})  # it may be parking the run
        await self._executor.wait_for_capacity()  # another worker may acquire the run meanwhile
        if run_id in self._runs:
            return
        task = asyncio.ensure_future(self._executor.execute_run(run_id))
        self._runs[run_id] = task
        task.add_done_callback(lambda future: self._on_run_done(run_id, future))
        await asyncio.shield(task)

    def _on_run_done(self, run_id: int, future: asyncio.Future[None]) -> None:
        del self._runs[run_id]
        error = None if future.cancelled() else future.exception()
        if isinstance(error, DATABASE_UNAVAILABLE):
            logger.warning("Run %d is left to other workers: %s", run_id, error)
        elif error is not None:
            logger.error(
                "Run %d failed in this worker and is left to other workers",
                run_id,
                exc_info=error,
            )


def _cancel_tasks(tasks: Sequence[asyncio.Future[None]]) -> None:
    for task in tasks:
        task.cancel()
