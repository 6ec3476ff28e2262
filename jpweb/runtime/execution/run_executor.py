"""Acquires runs, renews their leases while it executes them, and releases them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from django.conf import settings

from jpweb.runtime import process_identity
from jpweb.runtime.broadcast import local_bus, publisher
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.execution import parking, turn_runner
from jpweb.runtime.execution.active_run import ActiveRun
from jpweb.runtime.execution.admission_control import AdmissionControl
from jpweb.runtime.execution.lease_renewal import LeaseRenewer
from jpweb.runtime.execution.lock_waits import LockWaits
from jpweb.runtime.tasks import BackgroundTasks, cancel_once, create_detached_task, run_to_end
from jpweb.store import runs
from jpweb.store.choices import RunState
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import attachments
from jpweb.store.run_queue import heartbeats, leases
from jpweb.stream.inquiry import CancellationReason

if TYPE_CHECKING:
    from jpweb.store.jp_files.attachments import Attachment
    from jpweb.store.models import Run

logger = logging.getLogger(__name__)

#: Working runs up to which an embedded server starts queued ones; new turns start at any number.
MAX_EMBEDDED_RUNS = 50
#: Seconds between two polls in a database outage.
OUTAGE_POLL_SECONDS = 1.0

_active_runs: dict[int, ActiveRun] = {}
#: Runs of this process whose files are being attached, which may take longer than a lease.
_attaching_runs: dict[int, ActiveRun] = {}
#: Set once this process shuts down.
_shutdown_event = asyncio.Event()
admission = AdmissionControl()
_background_tasks = BackgroundTasks()
_lock_waits = LockWaits()


async def execute_run(run_id: int) -> None:
    """Acquire a run and execute it until it ends, is parked, or another process has it.

    Returns at once where the run is not queued. A cancellation releases the run, which is queued
    again.
    """
    active_run = await _acquire_with_files(run_id)
    if active_run is None:
        return
    task = start_execution(active_run)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if not task.cancelled() or not active_run.is_abandoned:
            raise


async def acquire_run(run_id: int, attachment: Attachment | None) -> ActiveRun | None:
    """Acquire the lease of a queued run with its attachment.

    Returns None where another process has it, or where this one shuts down: the run stays queued.
    """
    if _shutdown_event.is_set():
        return None
    run = await run_in_db_thread(
        leases.acquire_lease, run_id, process_identity.get_process_name(), settings.LEASE_SECONDS
    )
    return None if run is None else ActiveRun(run, run.conversation, attachment)


def start_execution(active_run: ActiveRun) -> asyncio.Task[None]:
    """Start the execution of an acquired run in a task of its own."""
    _active_runs[active_run.run.pk] = active_run
    admission.start_measuring()
    active_run.task = create_detached_task(_execute_active(active_run))
    return active_run.task


async def maintain_leases() -> None:
    """Renew the leases of this process and recover expired runs, until cancelled."""
    renewal = LeaseRenewer(_list_own_runs, _abandon_unheld, abandon_all)
    renewal.start()
    coroutines = (
        admission.measure_delays(lambda: not _active_runs),
        _poll_runs(),
        renewal.wait_for_end(),
    )
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        await asyncio.gather(*tasks)  # the first failure ends all; the supervisor restarts them
    finally:
        await cancel_once(*tasks)
        await renewal.stop()


async def _poll_runs() -> None:
    # An embedded server has locked the data folder: other leases belong to dead processes.
    must_expire_leases, is_outage_logged = settings.RUN_MODE == "embedded", False
    while True:
        try:
            if must_expire_leases:
                await run_in_db_thread(
                    leases.expire_installation,
                    process_identity.get_installation_name(),
                    process_identity.get_process_name(),
                )
            must_expire_leases = False
            if is_outage_logged:
                # No recovery in this poll, so that live processes can renew their leases first.
                await start_queued_runs(0)
                is_outage_logged = False
            else:
                await check_and_recover()
        except DATABASE_UNAVAILABLE as error:
            if not is_outage_logged:
                logger.warning("Runs cannot be checked: %s", error)
            is_outage_logged = True
        await asyncio.sleep(OUTAGE_POLL_SECONDS if is_outage_logged else settings.LEASE_SECONDS / 3)


async def check_and_recover() -> None:
    """Check the leases, deliver interrupts, and recover runs that no process executes."""
    active_runs = dict(_active_runs)  # a snapshot: runs acquired during the query stay out
    held_keys = await run_in_db_thread(
        leases.find_held, active_runs, process_identity.get_process_name()
    )
    _abandon_unheld(active_runs, held_keys)
    await turn_runner.deliver_interrupts(*(active_runs[key] for key in held_keys))
    own_ids = list(_list_own_runs())
    for run in await run_in_db_thread(runs.recover_expired, settings.LEASE_SECONDS, own_ids):
        await publisher.publish_conversation_changed(run.conversation_id)
        await publisher.publish_questions_changed(run.conversation.workspace_id)
    await start_queued_runs(settings.LEASE_SECONDS)


async def start_queued_runs(queued_seconds: float) -> None:
    """Execute queued runs here, or enqueue the jobs of those that were queued for so long."""
    if settings.RUN_MODE == "embedded":
        for key in (await run_in_db_thread(leases.list_queued))[: _count_free_slots()]:
            _start_run(key)
    else:
        await run_in_db_thread(
            leases.reenqueue_jobs, await run_in_db_thread(leases.list_queued, queued_seconds)
        )


async def wait_for_capacity() -> None:
    """Wait until this process can take one more run (admission control)."""
    await admission.wait_for_admission(lambda: not _count_working())


def _list_own_runs() -> dict[int, ActiveRun]:
    """Return the runs whose leases this process renews, by key. Thread-safe."""
    return _attaching_runs | _active_runs


def _abandon_unheld(active_runs: Mapping[int, ActiveRun], held_keys: Collection[int]) -> None:
    """Abandon those runs whose lease this process has lost.

    Where it acquired a run again since it asked, that execution has another lease.
    """
    for key, active_run in active_runs.items():
        if (
            key not in held_keys
            and _list_own_runs().get(key) is active_run
            and not active_run.is_over
        ):
            active_run.abandon_run()


def stop_acquiring() -> None:
    """Acquire no run from now on: the process shuts down, and would restart those it releases."""
    _shutdown_event.set()


async def release_all() -> None:
    """Release every run of this process; return once none executes here.

    Cancels their tools and servers, which no other process could end.
    """
    await _background_tasks.cancel_all()
    active_runs = _active_runs.values()
    await cancel_once(
        *(active_run.task for active_run in active_runs if active_run.task is not None)
    )


def abandon_all() -> None:
    """Abandon every run: the leases of this process have expired."""
    for active_run in _list_own_runs().values():
        active_run.abandon_run()


def _count_working() -> int:
    return sum(not active_run.idle_tracker.is_idle for active_run in _active_runs.values())


def _count_free_slots() -> int:
    """Return how many runs may start here; runs that only wait for people do not count."""
    working_count = _count_working()
    if admission.is_busy():
        return 0 if working_count else 1
    return max(MAX_EMBEDDED_RUNS - working_count, 0)


def _start_run(run_id: int) -> None:
    """Execute a run here; without a free slot a later poll starts it."""
    if run_id in _active_runs or not _count_free_slots():
        return
    _background_tasks.spawn_task(execute_run(run_id))


async def _acquire_with_files(run_id: int) -> ActiveRun | None:
    """Acquire a run and attach its files; a cancellation releases the run."""
    acquisition = create_detached_task(acquire_run(run_id, None))
    try:
        active_run = await asyncio.shield(acquisition)
        return None if active_run is None else await _attach_or_end(active_run)
    except asyncio.CancelledError:
        await run_to_end(_release_acquired(acquisition))
        raise


async def _release_acquired(acquisition: asyncio.Task[ActiveRun | None]) -> None:
    """Release the run of an acquisition whose caller was cancelled, once it has ended."""
    with suppress(*DATABASE_UNAVAILABLE):  # then its lease expires
        active_run = await acquisition
        if active_run is not None and not active_run.is_abandoned:
            await run_in_db_thread(leases.release_lease, active_run.run)


async def _attach_or_end(active_run: ActiveRun) -> ActiveRun | None:
    """Attach the files of an acquired run; a run that cannot continue is ended as failed.

    A run whose files another process of jpweb still has is queued again: that process was starved
    and lets go of them once it notices that it has lost the run. None also where this process has
    lost the lease meanwhile.
    """
    run = active_run.run
    try:
        active_run.attachment = await _attach_files(active_run)
    except (StoreError, OSError) as error:
        if _lock_waits.can_wait(run, error):
            logger.info("Run %s waits for its files: %s", run.pk, error)
            await run_in_db_thread(runs.postpone_run, run)
        else:
            await _end_stuck_run(run, str(error))
        await publisher.publish_conversation_changed(run.conversation_id)
        await publisher.publish_questions_changed(run.conversation.workspace_id)
        return None
    if not active_run.is_abandoned:
        return active_run
    if active_run.attachment is not None:
        active_run.attachment.release()
    return None


async def _attach_files(active_run: ActiveRun) -> Attachment | None:
    """Attach the files of an acquired run, whose lease is renewed meanwhile.

    Where the caller is cancelled, files that are attached afterwards are released at once.
    """
    key = active_run.run.pk
    _attaching_runs[key] = active_run
    attach_task = create_detached_task(
        run_in_background_thread(attachments.attach_files, active_run.conversation.pk)
    )
    try:
        return await asyncio.shield(attach_task)
    except asyncio.CancelledError:
        attach_task.add_done_callback(_release_attachment)
        raise
    finally:
        _attaching_runs.pop(key, None)


def _release_attachment(attach_task: asyncio.Task[Attachment | None]) -> None:
    if not attach_task.cancelled() and attach_task.exception() is None:
        attachment = attach_task.result()
        if attachment is not None:
            attachment.release()


async def _end_stuck_run(run: Run, problem: str) -> None:
    if await run_in_db_thread(heartbeats.count_deaths, run, settings.LEASE_SECONDS):
        await run_in_db_thread(
            runs.lose_run, run, f"The turn couldn't resume after the server stopped: {problem}"
        )
    else:
        await run_in_db_thread(
            runs.fail_run, run, CancellationReason.LOST, RunState.FAILED, problem
        )


async def _execute_active(active_run: ActiveRun) -> None:
    run = active_run.run
    try:
        await publisher.publish_conversation_changed(run.conversation_id)
        await _play_until_parked(active_run)
    except asyncio.CancelledError:
        if not active_run.is_abandoned:
            await run_in_db_thread(leases.release_lease, run)
        raise
    finally:
        if _active_runs.get(run.pk) is active_run:
            del _active_runs[run.pk]
        if active_run.attachment is not None:
            await run_in_db_thread(active_run.attachment.release)
    if active_run.is_abandoned and settings.RUN_MODE == "embedded":
        _start_run(run.pk)  # an answer may have requeued it while it was being parked
    await publisher.publish_partial_text(run.conversation_id, "message", "")
    await publisher.publish_conversation_changed(run.conversation_id)
    await publisher.publish_questions_changed(active_run.conversation.workspace_id)


async def _play_until_parked(active_run: ActiveRun) -> None:
    """Execute a run until it ends or is parked, whichever is first."""
    play_task = asyncio.create_task(turn_runner.play_turn(active_run))
    parking_task = asyncio.create_task(parking.wait_until_parked(active_run))
    try:
        await asyncio.wait((play_task, parking_task), return_when=asyncio.FIRST_COMPLETED)
        if play_task.done():
            play_task.result()
        else:
            active_run.is_abandoned = True
    finally:
        await cancel_once(play_task, parking_task)


def _on_run_signal(signal: local_bus.Signal) -> None:
    """Handle a ``run`` signal: deliver its interrupts, or start the queued run."""
    active_run = _active_runs.get(signal["run"])
    if active_run is not None:
        _background_tasks.spawn_task(turn_runner.deliver_interrupts(active_run))
    elif settings.RUN_MODE == "embedded":
        _start_run(signal["run"])


def _on_resync(_signal: local_bus.Signal) -> None:
    """Check all runs after an outage: signals may have been lost."""
    if _active_runs or settings.RUN_MODE == "embedded":
        _background_tasks.spawn_task(_resync_runs())


async def _resync_runs() -> None:
    with suppress(*DATABASE_UNAVAILABLE):  # _poll_runs logs the outage
        await check_and_recover()


local_bus.add_subscriber(local_bus.make_kind_topic("run"), _on_run_signal)
local_bus.add_subscriber(local_bus.make_kind_topic(local_bus.RESYNC), _on_resync)
