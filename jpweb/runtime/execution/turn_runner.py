"""Plays the turn of a run to its end; only this module catches every exception.

Each event is committed to the journal when it arises, and a turn begins from what the journal has.
If the process dies, another acquires the run once its lease has expired
(``store/run_queue/leases.py``) and calls ``play_turn``: ``resume_turn`` reads the journal and runs
the tool calls that have no response. One that was running when the process died runs again, and its
result says so. One that waited for a question asks the same again, and gets the open row or its
answer. A reply that was cut off is asked for again. A process whose run was requeued while it lived
gets LeaseLost at its next write.
"""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jpweb.agent.errors import AgentError, ProviderFailed
from jpweb.agent.interrupts import InterruptedResult, run_interruptible
from jpweb.agent.ports import PermissionSource
from jpweb.agent.turn import TurnEnd, TurnPorts, resume_turn
from jpweb.runtime import wiring
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries.prompter import BrowserPrompter
from jpweb.runtime.recorder import JournalRecorder, SocketDisplay
from jpweb.store import approvals, runs
from jpweb.store.choices import RunPhase, RunState
from jpweb.store.database import clock
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.errors import LeaseLost
from jpweb.store.run_queue import interrupts, leases
from jpweb.stream.inquiry import CancellationReason

if TYPE_CHECKING:
    from jpweb.runtime.execution.active_run import ActiveRun
    from jpweb.runtime.wiring import TurnResources
    from jpweb.store.models import Run

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended; ``failure_kind`` is that of a provider's failure."""

    state: RunState
    problem: str = ""
    failure_kind: str = ""


RUN_ENDS = {
    TurnEnd.COMPLETE: RunEnd(RunState.DONE),
    TurnEnd.STOPPED: RunEnd(RunState.STOPPED),
    TurnEnd.CYCLE_LIMIT: RunEnd(
        RunState.FAILED, "The turn was stopped after too many rounds of tool calls."
    ),
}


async def play_turn(active_run: ActiveRun) -> None:
    """Execute a run from the state of its turn, and commit its end.

    Commits no end where another process has the run or the database is unavailable: the next
    holder continues from the journal.
    """
    try:
        while not await _record_end(active_run, await _execute_turn(active_run)):
            # An interrupt arrived before the end was committed: the turn continues with it.
            active_run.is_over = False
    except (LeaseLost, *DATABASE_UNAVAILABLE) as error:
        active_run.is_abandoned = True
        logger.warning("Run %s was abandoned: %s", active_run.run.pk, error)


async def deliver_interrupts(*active_runs: ActiveRun) -> None:
    """Deliver waiting interrupts to turns, each once, with one query for all.

    A turn marks them as handled in the commit of what it does about them: if this process ends
    before, the next holder of the run acts on them.
    """
    active_run_by_id = {active_run.run.pk: active_run for active_run in active_runs}
    run_rows = [active_run.run for active_run in active_runs]
    for interrupt in await run_in_db_thread(interrupts.list_pending, run_rows):
        active_run_by_id[interrupt.run_id].deliver_interrupt(interrupt)


async def _execute_turn(active_run: ActiveRun) -> RunEnd:
    """Deliver the interrupts of a run and execute it; return how it ended."""
    try:
        await deliver_interrupts(active_run)
        is_interrupted = active_run.stops.is_set() or bool(active_run.get_reply())
        if active_run.run.phase == RunPhase.OVER and not is_interrupted:
            # The last holder committed the events of the end, and ended before it committed the
            # state. A restart, or a reply without text, has no calls left to act on.
            return RUN_ENDS[TurnEnd.COMPLETE]
        return RUN_ENDS[await _play_with_resources(active_run)]
    except (LeaseLost, *DATABASE_UNAVAILABLE):
        raise
    except ProviderFailed as error:
        return RunEnd(RunState.FAILED, str(error), error.kind.value)
    except AgentError as error:
        return RunEnd(RunState.FAILED, str(error))
    except Exception as error:  # the boundary: any error is recorded as a failed run
        logger.exception("Run %s failed", active_run.run.pk)
        return RunEnd(
            RunState.FAILED, f"Internal error in jpweb: {type(error).__name__}. See the server log."
        )


async def _play_with_resources(active_run: ActiveRun) -> TurnEnd:
    conversation = active_run.conversation
    display = SocketDisplay(conversation.pk)
    recorder = JournalRecorder(
        active_run.run, conversation.workspace_id, display, active_run.attachment
    )
    # JP's files of the conversation, locked; None where jpweb writes none (``attachments``).
    if active_run.attachment is not None:
        await run_in_db_thread(active_run.attachment.write_files)
    async with AsyncExitStack() as stack:
        resources = await _open_resources(active_run, stack)
        if resources is None:
            return TurnEnd.STOPPED
        stack.push_async_callback(display.drop_pending)  # nothing may show after the end
        setup = resources.setup
        pending_calls = await run_in_db_thread(approvals.list_pending_calls, active_run.run)
        permissions = await run_in_db_thread(approvals.get_turn_permissions, active_run.run)
        if permissions:
            setup = replace(setup, permission_sources=await _load_sources(active_run))
        was_parked = active_run.run.phase == RunPhase.WAITING
        if was_parked:
            await run_in_db_thread(leases.begin_calls, active_run.run)
        turn_end = await resume_turn(
            _make_ports(active_run, resources, recorder),
            active_run.interrupts,
            setup,
            waiting_call_ids=pending_calls,
            has_crashed=not was_parked,
            permissions=permissions,
        )
        active_run.is_over = True  # set before the MCP servers stop, which may take seconds
    return turn_end


async def _load_sources(active_run: ActiveRun) -> dict[tuple[str, str], PermissionSource]:
    """Return the deciders for the rest of the turn, by tool and definition."""
    rows = await run_in_db_thread(approvals.find_turn_approvals, active_run.run)
    return {
        key: PermissionSource(row.pk, row.decider_name, row.decider_id) for key, row in rows.items()
    }


async def _open_resources(active_run: ActiveRun, stack: AsyncExitStack) -> TurnResources | None:
    """Open the turn's resources, which may take a while; None where a person stops the turn.

    A reply and a restart do not end the opening: the turn handles them once it plays.
    """
    context = stack.enter_async_context(wiring.open_turn_resources(active_run.conversation))
    result = await run_interruptible(context, active_run.stops)
    return None if isinstance(result, InterruptedResult) else result


async def _record_end(active_run: ActiveRun, end: RunEnd) -> bool:
    """Commit the end of a run; False where an interrupt arrived meanwhile."""
    try:
        return await _commit_end(active_run, end)
    except (LeaseLost, *DATABASE_UNAVAILABLE):
        raise
    except Exception:  # the boundary: a run without an end would block its conversation
        logger.exception("The end of run %s could not be recorded", active_run.run.pk)
        return await _record_failure(active_run.run)


async def _record_failure(run: Run) -> bool:
    """Mark a run as failed whose end could not be committed, at worst with its questions open."""
    problem = "Internal error in jpweb while saving the end of the turn. See the server log."
    try:
        return await run_in_db_thread(runs.end_run, run, RunState.FAILED, problem)
    except (LeaseLost, *DATABASE_UNAVAILABLE):
        raise
    except Exception:  # the boundary: without a state, each next holder would fail alike
        logger.exception("Run %s was marked as failed, but its questions were not closed", run.pk)
        return await run_in_db_thread(runs.mark_failed, run, problem)


async def _commit_end(active_run: ActiveRun, end: RunEnd) -> bool:
    run = active_run.run
    if end.state is RunState.DONE:
        is_recorded = await run_in_db_thread(runs.end_run, run, end.state)
    else:
        is_stopped = end.state is RunState.STOPPED
        reason = CancellationReason.USER if is_stopped else CancellationReason.LOST
        decider = active_run.interrupted_by if is_stopped else None
        is_recorded = await run_in_db_thread(
            runs.fail_run, run, reason, end.state, end.problem, end.failure_kind, decider
        )
    if is_recorded and active_run.attachment is not None:
        # JP's files lack the events that the end of the run has committed.
        await run_in_db_thread(active_run.attachment.write_files)
    return is_recorded


def _make_ports(
    active_run: ActiveRun, resources: TurnResources, recorder: JournalRecorder
) -> TurnPorts:
    conversation = active_run.conversation
    return TurnPorts(
        provider=resources.provider,
        prompter=BrowserPrompter(
            conversation.pk,
            conversation.workspace_id,
            lambda: active_run.interrupted_by,
            active_run.awaited_rows,
            active_run.idle_tracker,
            active_run.run,
            recorder.opened_rows,
            active_run.get_reply,
        ),
        recorder=recorder,
        display=recorder.display,
        clock=clock.now,
        backend=resources.backend,
        idle_tracker=active_run.idle_tracker,
    )
