"""Runs periodic tasks on one leader per database, elected by a lease row for each task.

Every process competes for every lease. The leader of a task runs it until it stops or dies, or
until it fails to renew the lease in time: then another process may be leader.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from django.conf import settings

from jpweb.runtime import process_identity
from jpweb.runtime.db_threads import run_in_background_thread
from jpweb.runtime.periodic import (
    expire_inquiries,
    resume_stranded_runs,
    send_notifications,
    update_search_index,
    watch_workspaces,
)
from jpweb.runtime.tasks import cancel_and_wait
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.jp_files import mirror
from jpweb.store.maintenance import cleanup, task_leases

logger = logging.getLogger(__name__)

#: Seconds until the lease of a task expires, so that another process replaces a dead leader.
LEASE_SECONDS = 15.0
#: Seconds between two queries for new workspaces.
WORKSPACE_POLL_SECONDS = 10.0
#: Seconds for which lease renewals are collected into one query.
COALESCE_SECONDS = 0.05
CoroutineFunction: TypeAlias = Callable[[], Coroutine[Any, Any, object]]


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """A task for one leader, run again ``interval_seconds`` after it ended."""

    name: str
    work: CoroutineFunction
    interval_seconds: float


async def follow_workspaces() -> None:
    """Follow the files of every mirrored workspace, also of those added later."""
    tasks_by_root: dict[Path, asyncio.Task[None]] = {}
    try:
        while True:
            roots = await run_in_background_thread(mirror.list_roots)
            for removed_root in tasks_by_root.keys() - set(roots):
                await cancel_and_wait(tasks_by_root.pop(removed_root))
            for root in roots:
                if root not in tasks_by_root or tasks_by_root[root].done():
                    coroutine = _run_logging_errors(
                        f"following {root}", partial(watch_workspaces.follow_workspace, root)
                    )
                    tasks_by_root[root] = asyncio.create_task(coroutine)
            await asyncio.sleep(WORKSPACE_POLL_SECONDS)
    finally:
        await cancel_and_wait(*tasks_by_root.values())


PERIODIC_TASKS = (
    PeriodicTask("expiry", expire_inquiries.expire_due_inquiries, interval_seconds=2),
    PeriodicTask("notify", send_notifications.send_due_notifications, interval_seconds=5),
    PeriodicTask("follow", follow_workspaces, interval_seconds=WORKSPACE_POLL_SECONDS),
    PeriodicTask("recall", resume_stranded_runs.requeue_stranded_runs, interval_seconds=60),
    PeriodicTask("index", update_search_index.index_changed, interval_seconds=1),
    PeriodicTask(
        "tidy", partial(run_in_background_thread, cleanup.delete_old_rows), interval_seconds=3600
    ),
)


class LeaderScheduler:
    """Competes for the leases of periodic tasks and runs those that this process leads."""

    def __init__(
        self,
        name: str,
        periodic_tasks: Sequence[PeriodicTask],
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self._name = name
        self._periodic_tasks = periodic_tasks
        self._lease_seconds = lease_seconds
        self._renewal_seconds = lease_seconds / 4
        self._runner_tasks: list[asyncio.Task[None]] = []
        self._batch_names: set[str] = set()
        self._batch_task: asyncio.Task[set[str]] | None = None
        self._batch_tasks: set[asyncio.Task[set[str]]] = set()
        self._is_database_gone = False

    async def run_until_stopped(self) -> None:
        """Run the tasks that this process leads, until ``stop`` or a cancellation."""
        self._runner_tasks = [
            asyncio.create_task(self._run_task(periodic_task))
            for periodic_task in self._periodic_tasks
        ]
        try:
            await asyncio.wait(self._runner_tasks)
        finally:
            await cancel_and_wait(*self._runner_tasks, *self._batch_tasks)

    async def stop(self) -> None:
        """Cancel the tasks and release the leases where the database is available."""
        await cancel_and_wait(*self._runner_tasks, *self._batch_tasks)
        with suppress(*DATABASE_UNAVAILABLE):
            await run_in_background_thread(task_leases.release_all, self._name)

    async def _run_task(self, periodic_task: PeriodicTask) -> None:
        while True:
            await _run_logging_errors(
                f"keeping {periodic_task.name}", partial(self._run_while_leader, periodic_task)
            )
            await asyncio.sleep(self._renewal_seconds)

    async def _run_while_leader(self, periodic_task: PeriodicTask) -> None:
        """Run the task while this process is its leader, at the latest until the lease expires."""
        clock = asyncio.get_running_loop().time
        requested_at = clock()
        if not await self._acquire_or_renew(periodic_task):
            return
        work_task = asyncio.create_task(_run_periodically(periodic_task))
        try:
            async with asyncio.timeout_at(requested_at + self._lease_seconds) as deadline:
                while True:
                    await asyncio.sleep(self._renewal_seconds)
                    requested_at = clock()
                    is_leader = await self._acquire_or_renew(periodic_task)
                    if is_leader:
                        deadline.reschedule(requested_at + self._lease_seconds)
                    elif is_leader is not None:
                        return
        except TimeoutError:
            logger.warning("%s lets go of %s: its lease is over", self._name, periodic_task.name)
        finally:
            await cancel_and_wait(work_task)

    async def _acquire_or_renew(self, periodic_task: PeriodicTask) -> bool | None:
        """Return whether this process is leader; None where the database is unavailable."""
        try:
            is_leader = periodic_task.name in await asyncio.shield(
                self._join_batch(periodic_task.name)
            )
        except DATABASE_UNAVAILABLE as error:
            if not self._is_database_gone:
                logger.warning("the database is gone, for now: %s", error)
            self._is_database_gone = True
            return None
        self._is_database_gone = False
        return is_leader

    def _join_batch(self, name: str) -> asyncio.Task[set[str]]:
        """Return the shared query that acquires or renews leases.

        Six tasks with a query each cost an idle server twice the processor time.
        """
        self._batch_names.add(name)
        if self._batch_task is None:
            self._batch_task = asyncio.create_task(self._renew_batch())
            self._batch_tasks.add(self._batch_task)
            self._batch_task.add_done_callback(self._batch_tasks.discard)
        return self._batch_task

    async def _renew_batch(self) -> set[str]:
        await asyncio.sleep(COALESCE_SECONDS)
        names, self._batch_names, self._batch_task = self._batch_names, set(), None
        return await run_in_background_thread(
            task_leases.acquire_or_renew_all, names, self._name, self._lease_seconds
        )


_scheduler = LeaderScheduler(process_identity.get_process_name(), PERIODIC_TASKS)


async def run_scheduler() -> None:
    """Run the tasks that this process leads; return only by cancellation, also after it stopped."""
    if settings.RUNS == "embedded":
        # This process has the lock on the data folder, so other leases of the installation belong
        # to dead processes. In an outage they expire by themselves.
        with suppress(*DATABASE_UNAVAILABLE):
            await run_in_background_thread(
                task_leases.expire_installation, process_identity.get_installation_name()
            )
    await _scheduler.run_until_stopped()
    # Returning would make the supervisor restart the tasks while the process shuts down.
    await asyncio.Event().wait()


async def stop_scheduler() -> None:
    """Cancel the tasks of this process and release their leases."""
    await _scheduler.stop()


async def _run_periodically(periodic_task: PeriodicTask) -> None:
    while True:
        await _run_logging_errors(periodic_task.name, periodic_task.work)
        await asyncio.sleep(periodic_task.interval_seconds)


async def _run_logging_errors(name: str, work: CoroutineFunction) -> None:
    """Run a function to its end; log its error instead of raising it."""
    task = asyncio.create_task(work())
    try:
        await asyncio.wait([task])
    finally:
        await cancel_and_wait(task)
    error = None if task.cancelled() else task.exception()
    if isinstance(error, DATABASE_UNAVAILABLE):
        logger.info("%s ended, the database is gone: %s", name, error)
    elif error is not None:
        logger.error("%s failed", name, exc_info=error)
