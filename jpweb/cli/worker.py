"""A worker: executes queued runs, many at once, in one event loop.

procrastinate says which run is queued. Should its connections die, its jobs end with them and the
runs go on: what a run is executed by is its lease.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from procrastinate import App

from jpweb.cli.supervision import Work, kept_going
from jpweb.store.outage import DATABASE_GONE
from jpweb.store.running import engine
from jpweb.store.running.engine import ENGINE_GONE

logger = logging.getLogger(__name__)

#: Seconds between two signs of life of a worker, and of silence after which it counts as dead.
BEAT, SILENCE = 3.0, 12.0
#: Seconds after which the queue is looked at, should a notification be lost.
LOOK = 2.0
#: Seconds that the runs get to let go when the worker ends.
PATIENCE = 10.0


async def _at_once() -> None:
    """Take any number of runs."""


@dataclass(frozen=True, slots=True)
class Executor:
    """What executes runs: ``see_through`` one, ``let_go`` of all, and what goes on beside.

    ``wait_for_room`` returns when the process can manage one more.
    """

    see_through: Callable[[int], Awaitable[None]]
    let_go: Callable[[], Awaitable[None]]
    beside: Mapping[str, Work] = field(default_factory=dict)
    wait_for_room: Callable[[], Awaitable[None]] = _at_once


class Worker:
    """Executes up to ``limit`` runs at once until it is told to stop."""

    def __init__(self, executor: Executor, limit: int) -> None:
        self._executor = executor
        self._limit = limit
        self._runs: dict[int, asyncio.Future[None]] = {}

    async def work(self, stop: asyncio.Event) -> int:
        """Work until ``stop``, then let go; returns how many runs were let go of."""
        queue = self._begun({"queue": self._fetch, "jobs of dead workers": self._care})
        beside = self._begun(self._executor.beside)
        await stop.wait()
        left = len(self._runs)
        try:
            async with asyncio.timeout(PATIENCE):
                await _ended(queue)  # from here on nothing new is taken
                await _ended(list(self._runs.values()))
                await _ended(beside)
                await self._executor.let_go()
        except TimeoutError:
            logger.warning(
                "Some runs did not stop in time; other workers resume them once leases expire."
            )
            # asyncio holds tasks weakly: one that nobody refers to is destroyed in mid-flight.
            _cancel([*self._runs.values(), *beside])
        return left

    def _begun(self, works: Mapping[str, Work]) -> list[asyncio.Future[None]]:
        gone = (*DATABASE_GONE, *ENGINE_GONE)
        return [asyncio.ensure_future(kept_going(name, work, gone)) for name, work in works.items()]

    async def _fetch(self) -> None:
        """Take jobs from the queue, until a connection dies."""
        async with engine.connected(self._advance) as queue:
            await queue.run_worker_async(
                queues=[engine.QUEUE],
                concurrency=self._limit,
                fetch_job_polling_interval=LOOK,
                shutdown_graceful_timeout=0,
                delete_jobs="always",
                install_signal_handlers=False,
                update_heartbeat_interval=BEAT,
                stalled_worker_timeout=SILENCE,
            )

    async def _care(self) -> None:
        """Offer the jobs of dead workers again."""
        async with engine.connected(self._advance) as queue:
            while True:
                await self._revive(queue)
                await asyncio.sleep(BEAT)

    async def _revive(self, queue: App) -> None:
        if revived := await engine.revive(queue, SILENCE):
            logger.info(
                "%d jobs of workers that stopped responding were put back into the queue", revived
            )

    async def _advance(self, run_id: int) -> None:
        """See a run through; a job that ends before its run leaves the run alone."""
        while (before := self._runs.get(run_id)) is not None:
            await asyncio.wait({before})  # it may be putting the run down just now
        await self._executor.wait_for_room()  # meanwhile others may take the run
        if run_id in self._runs:
            return
        task = asyncio.ensure_future(self._executor.see_through(run_id))
        self._runs[run_id] = task
        task.add_done_callback(lambda done: self._over(run_id, done))
        await asyncio.shield(task)

    def _over(self, run_id: int, done: asyncio.Future[None]) -> None:
        del self._runs[run_id]
        if not done.cancelled() and (problem := done.exception()) is not None:
            logger.error(
                "Run %d failed in this worker and is left to other workers",
                run_id,
                exc_info=problem,
            )


async def _ended(tasks: Sequence[asyncio.Future[None]]) -> None:
    _cancel(tasks)
    if tasks:
        await asyncio.wait(tasks)


def _cancel(tasks: Sequence[asyncio.Future[None]]) -> None:
    for task in tasks:
        task.cancel()
