"""Runs periodic tasks on one leader per database, elected by a lease row for each task.

Every process competes for every lease. The leader of a task runs it until it stops or dies, or
until it fails to renew the lease in time: then another process may be leader.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from django.conf import settings

from jpweb.runtime import process_identity
from jpweb.runtime.db_threads import run_in_background_thread, thread_use
from jpweb.runtime.periodic import (
    detect_secrets,
    end_claims,
    expire_inquiries,
    publish_ledger_head,
    resume_stranded_runs,
    send_notifications,
    update_search_index,
    watch_workspaces,
)
from jpweb.runtime.supervisor import CoroutineFunction, run_periodically
from jpweb.runtime.tasks import cancel_and_wait
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.ledger import sealing
from jpweb.store.maintenance import cleanup, task_leases

logger = logging.getLogger(__name__)

#: Seconds until the lease of a task expires, so that another process replaces a dead leader.
LEASE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """A task for one leader, run again ``interval_seconds`` after it ended."""

    name: str
    work: CoroutineFunction
    interval_seconds: float


PERIODIC_TASKS = (
    PeriodicTask("expiry", expire_inquiries.expire_due_inquiries, interval_seconds=2),
    PeriodicTask("claims", end_claims.end_claims_and_snoozes, interval_seconds=2),
    PeriodicTask("notify", send_notifications.send_due_notifications, interval_seconds=5),
    PeriodicTask("follow", watch_workspaces.follow_workspaces, interval_seconds=10),
    PeriodicTask("recall", resume_stranded_runs.requeue_stranded_runs, interval_seconds=60),
    PeriodicTask("index", update_search_index.index_changed, interval_seconds=1),
    PeriodicTask("secrets", detect_secrets.scan_new_events, interval_seconds=2),
    PeriodicTask(
        "ledger", partial(run_in_background_thread, sealing.seal_entries), interval_seconds=1
    ),
    PeriodicTask("ledger heads", publish_ledger_head.publish_head, interval_seconds=3600),
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
        self._tasks_by_name = {task.name: task for task in periodic_tasks}
        self._lease_seconds = lease_seconds
        self._renewal_seconds = lease_seconds / 4
        self._led_tasks: dict[str, asyncio.Task[None]] = {}
        self._competing_task: asyncio.Task[None] | None = None
        self._renewal: asyncio.Task[set[str]] | None = None

    async def run_until_stopped(self) -> None:
        """Run the tasks that this process leads, until ``stop`` or a cancellation."""
        self._competing_task = asyncio.create_task(self._compete())
        try:
            await asyncio.wait([self._competing_task])
        finally:
            await cancel_and_wait(self._competing_task)
        if not self._competing_task.cancelled():
            self._competing_task.result()

    async def stop(self) -> None:
        """Cancel the tasks and release the leases where the database is available."""
        if self._competing_task is None:  # it has not run, so it holds no lease
            return
        await cancel_and_wait(self._competing_task)
        await self._finish_renewal()
        with suppress(*DATABASE_UNAVAILABLE):
            await run_in_background_thread(task_leases.release_all, self._name)

    async def _finish_renewal(self) -> None:
        """Wait for a renewal whose caller was cancelled: its thread would take the leases again."""
        if self._renewal is not None:
            with suppress(*DATABASE_UNAVAILABLE):
                await self._renewal

    async def _compete(self) -> None:
        """Compete for all leases; stop the led tasks wherever their leases expire."""
        self._led_tasks = {}
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    async with asyncio.timeout(None) as deadline:
                        await self._renew_leases(deadline, group)
                except TimeoutError:
                    names = ", ".join(self._led_tasks)
                    logger.warning(
                        "Process %s stops %s: its leases have expired", self._name, names
                    )
                    await self._lead_only((), group)

    async def _renew_leases(self, deadline: asyncio.Timeout, group: asyncio.TaskGroup) -> None:
        """Acquire or renew leases at intervals; ``deadline`` is the end of those held.

        One trip for all: six tasks with a trip each cost an idle server twice the processor time.
        """
        while True:
            requested_at = asyncio.get_running_loop().time()
            try:
                self._renewal = asyncio.create_task(
                    run_in_background_thread(
                        task_leases.acquire_or_renew_all,
                        self._tasks_by_name,
                        self._name,
                        self._lease_seconds,
                    )
                )
                self._renewal.add_done_callback(_take_exception)
                names = await asyncio.shield(self._renewal)
            except DATABASE_UNAVAILABLE as error:  # run_executor warns of the outage, once
                logger.info("Leases of periodic tasks cannot be renewed: %s", error)
            else:
                deadline.reschedule(requested_at + self._lease_seconds if names else None)
                await self._lead_only(names, group)
            await asyncio.sleep(self._renewal_seconds)

    async def _lead_only(self, names: Collection[str], group: asyncio.TaskGroup) -> None:
        """Stop the led tasks that are not named, and start those that are."""
        lost_names = self._led_tasks.keys() - set(names)
        await cancel_and_wait(*(self._led_tasks[name] for name in lost_names))
        for name in lost_names:
            del self._led_tasks[name]
        for name in names:
            if name not in self._led_tasks:
                task = self._tasks_by_name[name]
                work = partial(_work_in_pause, task.work)
                self._led_tasks[name] = group.create_task(
                    run_periodically(name, work, task.interval_seconds, DATABASE_UNAVAILABLE)
                )


def _take_exception(renewal: asyncio.Task[set[str]]) -> None:
    """Mark the error of a renewal as seen: nobody waits for one whose deadline has passed."""
    if not renewal.cancelled():
        renewal.exception()


async def _work_in_pause(work: CoroutineFunction) -> None:
    """Work in a pause of the calls that serve people."""
    await thread_use.wait_until_quiet()
    await work()


async def _wait_until_cancelled() -> None:
    await asyncio.Event().wait()


#: A lease that this process alone competes for. It tells a restoration that the process runs: web
#: servers beside workers lead no other task, and workers may lead none.
OWN_LEASE = PeriodicTask(
    f"process {process_identity.get_process_suffix()}", _wait_until_cancelled, interval_seconds=0
)
_scheduler = LeaderScheduler(process_identity.get_process_name(), (*PERIODIC_TASKS, OWN_LEASE))
_server_scheduler = LeaderScheduler(process_identity.get_process_name(), (OWN_LEASE,))


async def run_scheduler() -> None:
    """Run the tasks that this process leads; return only by cancellation, also after it stopped."""
    if settings.RUN_MODE == "embedded":
        # This process has the lock on the data folder, so other leases of the installation belong
        # to dead processes. In an outage they expire by themselves.
        with suppress(*DATABASE_UNAVAILABLE):
            await run_in_background_thread(
                task_leases.expire_installation, process_identity.get_installation_name()
            )
    await _scheduler.run_until_stopped()
    # Returning would make the supervisor restart the tasks while the process shuts down.
    await _wait_until_cancelled()


async def hold_own_lease() -> None:
    """Hold the lease of a process that leads no task; return only by cancellation, as above."""
    await _server_scheduler.run_until_stopped()
    await _wait_until_cancelled()


async def stop_scheduler() -> None:
    """Cancel the tasks of this process and release its leases."""
    await _scheduler.stop()
    await _server_scheduler.stop()
