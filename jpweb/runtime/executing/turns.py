"""Plays the turn of a run to its end. The one place that catches whatever goes wrong."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jpweb.agent.errors import AgentError, ProviderFailed
from jpweb.agent.stopping import Stop, Stopped, unless_stopped
from jpweb.agent.turn import TurnEnd, TurnPorts, resume_turn
from jpweb.runtime import wiring
from jpweb.runtime.crossing import in_store
from jpweb.runtime.prompter import BrowserPrompter
from jpweb.runtime.recorder import JournalRecorder, SocketDisplay
from jpweb.store import prompts, runs
from jpweb.store.database import clock
from jpweb.store.errors import NotHolder
from jpweb.store.outage import DATABASE_GONE
from jpweb.store.running import interruptions
from jpweb.store.terms import RunPhase, RunState
from jpweb.stream.inquiry import CancellationReason

if TYPE_CHECKING:
    from jpweb.runtime.executing.active import Active
    from jpweb.runtime.wiring import Equipment

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended; ``failure`` is the kind of a provider's."""

    state: RunState
    problem: str = ""
    failure: str = ""


ENDS = {
    TurnEnd.COMPLETE: End(RunState.DONE),
    TurnEnd.STOPPED: End(RunState.STOPPED),
    TurnEnd.CYCLE_LIMIT: End(
        RunState.FAILED, "The turn was stopped after too many rounds of tool calls."
    ),
}


async def play(active: Active) -> None:
    """Execute a run from where its turn stands, and put its end on record.

    Returns without that where another process has it by now, or the database is gone: then its
    lease runs out, and whoever takes it next goes on from the journal.
    """
    try:
        await hear(active)
        while not await _put_on_record(active, await _ended(active)):
            # Somebody said something while the turn came to its end.
            active.over = False
            await hear(active)
    except (NotHolder, *DATABASE_GONE) as problem:
        active.gone = True
        logger.warning("run %s is let go of: %s", active.run.pk, problem)


async def hear(*actives: Active) -> None:
    """Tell turns what was said to their runs, once; one query for all."""
    by_run = {active.run.pk: active for active in actives}
    held = [active.run for active in actives]
    for said in await in_store(interruptions.waiting, held):
        if by_run[said.run_id].tell(said):
            await in_store(interruptions.told, said)


async def _ended(active: Active) -> End:
    """Execute a run; returns how it ended, whatever happened."""
    if active.run.phase == RunPhase.OVER and not active.interrupts.is_set():
        return ENDS[TurnEnd.COMPLETE]
    try:
        return ENDS[await _played(active)]
    except (NotHolder, *DATABASE_GONE):
        raise
    except ProviderFailed as error:
        return End(RunState.FAILED, str(error), error.kind.value)
    except AgentError as error:
        return End(RunState.FAILED, str(error))
    except Exception as error:  # the one boundary: whatever broke, the record says so
        logger.exception("run %s failed", active.run.pk)
        return End(
            RunState.FAILED, f"Internal error in jpweb: {type(error).__name__}. See the server log."
        )


async def _played(active: Active) -> TurnEnd:
    recorder = JournalRecorder(
        active.run, active.conversation.workspace_id, active.attachment, active.words
    )
    if active.attachment is not None:
        await in_store(active.attachment.write)
    async with AsyncExitStack() as stack:
        equipment = await _equipment(active, stack)
        if equipment is None:
            return TurnEnd.STOPPED
        ending = await resume_turn(
            _ports(active, equipment, recorder),
            active.interrupts,
            equipment.setup,
            waiting=await in_store(prompts.calls_not_run, active.run),
            crashed=active.run.phase != RunPhase.WAITING,
            permissions=await in_store(prompts.permissions, active.run),
        )
        active.over = True  # its servers take a while to end, and nobody listens any more
    return ending


async def _equipment(active: Active, stack: AsyncExitStack) -> Equipment | None:
    """Open what the turn needs; None where somebody stops it meanwhile. Servers take a while."""
    opening = stack.enter_async_context(wiring.equipped(active.conversation))
    opened = await unless_stopped(opening, active.interrupts)
    if not isinstance(opened, Stopped):
        return opened
    if isinstance(active.interrupts.pending, Stop):
        return None
    return await stack.enter_async_context(wiring.equipped(active.conversation))


async def _put_on_record(active: Active, end: End) -> bool:
    """Put the end of a run on record; False where somebody has said something meanwhile."""
    try:
        return await _recorded(active, end)
    except (NotHolder, *DATABASE_GONE):
        raise
    except Exception:  # the one boundary: a run that seems to go on would bar the conversation
        logger.exception("the end of run %s cannot be put on record", active.run.pk)
        problem = "Internal error in jpweb while saving the end of the turn. See the server log."
        return await in_store(runs.end, active.run, RunState.FAILED, problem)


async def _recorded(active: Active, end: End) -> bool:
    run = active.run
    if end.state is RunState.DONE:
        ended = await in_store(runs.end, run, end.state, told=tuple(active.words))
    else:
        stopped = end.state is RunState.STOPPED
        reason = CancellationReason.USER if stopped else CancellationReason.LOST
        ended = await in_store(runs.fail, run, reason, end.state, end.problem, end.failure)
    if ended and active.attachment is not None:
        # What the desk committed itself is not written yet.
        await in_store(active.attachment.write)
    return ended


def _ports(active: Active, equipment: Equipment, recorder: JournalRecorder) -> TurnPorts:
    conversation = active.conversation
    return TurnPorts(
        provider=equipment.provider,
        prompter=BrowserPrompter(
            conversation.pk,
            conversation.workspace_id,
            lambda: active.stopped_by,
            active.waits,
            active.resting,
            active.run,
        ),
        recorder=recorder,
        display=SocketDisplay(conversation.pk),
        clock=clock.now,
        backend=equipment.backend,
        resting=active.resting,
    )
