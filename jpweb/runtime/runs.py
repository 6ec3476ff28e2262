"""Runs: turns as tasks of this process. The one place that catches whatever goes wrong."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jpweb.agent.errors import AgentError, ProviderFailed
from jpweb.agent.scribe import now
from jpweb.agent.stopping import (
    Interrupt,
    Interrupts,
    Respond,
    Restart,
    Stop,
    Stopped,
    unless_stopped,
)
from jpweb.agent.turn import TurnEnd, TurnPorts, opening, resume_turn
from jpweb.runtime import wiring
from jpweb.runtime.crossing import in_background, in_store
from jpweb.runtime.prompter import BrowserPrompter
from jpweb.runtime.recorder import JournalRecorder, SocketDisplay
from jpweb.runtime.signals import announce
from jpweb.store import runs
from jpweb.store.disk import attached
from jpweb.store.errors import StoreError
from jpweb.store.inquiries import Decider
from jpweb.store.terms import RunState
from jpweb.stream.inquiry import CancellationReason

if TYPE_CHECKING:
    from jpweb.runtime.wiring import Equipment
    from jpweb.store.disk.attached import Attachment
    from jpweb.store.models import Conversation, Person, Run
    from jpweb.stream.events import ConversationEvent

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Active:
    """A run of this process. ``stopped_by``: who interrupted it last; ``over``: its turn ended."""

    run: Run
    conversation: Conversation
    attachment: Attachment | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)
    stopped_by: Decider = field(default_factory=lambda: Decider("system"))
    task: asyncio.Task[None] | None = None
    over: bool = False


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
        RunState.FAILED, "The turn called tools too many times and was ended."
    ),
}
_active: dict[int, Active] = {}
_beginning: set[asyncio.Task[Run]] = set()


async def start(conversation: Conversation, person: Person, text: str) -> Run:
    """Begin a turn with what a person says; returns once its row is committed.

    Raises AlreadyRunning, ReadOnly, BadConfiguration, Held and what else ``attached.attach``
    raises.
    """
    return await _begin(conversation, person, opening(text, person.display_name, now()))


async def retry(conversation: Conversation, person: Person) -> Run:
    """Go on with a turn that failed, from where it stands; returns once the run is committed.

    Raises NothingToRetry, and what ``start`` raises.
    """
    await in_store(runs.refuse_retry, conversation.pk)
    return await _begin(conversation, person)


async def resume_all() -> None:
    """Go on with the runs that this installation left behind when its process last ended."""
    for run in await in_store(runs.take_over, wiring.holder()):
        try:
            attachment = await in_background(attached.attach, run.conversation_id)
        except (StoreError, OSError) as problem:
            await in_store(runs.lose, run, f"It could not go on after the server ended: {problem}")
            await announce.conversation(run.conversation_id)
            continue
        _enter(Active(run, run.conversation, attachment))


async def _begin(
    conversation: Conversation, person: Person, events: Sequence[ConversationEvent] = ()
) -> Run:
    """Begin a run, whole or not at all.

    Whoever asked may be cancelled meanwhile, as a request is whose browser left: the run begins
    nevertheless, so that no lock and no row is left to nobody.
    """
    # A context of its own: what belongs to the request ends with the request.
    beginning = asyncio.get_running_loop().create_task(
        _begun(conversation, person, events), context=contextvars.Context()
    )
    _beginning.add(beginning)  # the loop itself holds no task
    beginning.add_done_callback(_beginning.discard)
    return await asyncio.shield(beginning)


async def _begun(
    conversation: Conversation, person: Person, events: Sequence[ConversationEvent]
) -> Run:
    await in_store(runs.refuse_second, conversation.pk)  # before its lock makes us wait
    model = await in_store(wiring.model, conversation)
    attachment = await in_background(attached.attach, conversation.pk)
    try:
        run = await in_store(
            runs.begin,
            conversation.pk,
            person.pk,
            model.provider,
            wiring.holder(),
            model.name,
            events,
        )
    except BaseException:  # whatever broke, nobody would let go later
        if attachment is not None:
            attachment.release()
        raise
    _enter(Active(run, conversation, attachment))
    return run


def _enter(active: Active) -> None:
    """Let a run be executed by this process."""
    _active[active.run.pk] = active
    active.task = asyncio.get_running_loop().create_task(
        _execute(active), context=contextvars.Context()
    )


async def stop(conversation_id: int, by: Decider) -> bool:
    """Ask the run of a conversation to stop; tells whether this process executes one."""
    return await interrupt(conversation_id, by, "stop")


async def interrupt(conversation_id: int, by: Decider, what: str, text: str = "") -> bool:
    """Interrupt the run of a conversation; tells whether this process executes one that hears it.

    ``what`` is ``stop``, ``restart`` (the tool calls of this cycle) or ``respond`` (with ``text``,
    which may be empty, instead of what is running).
    """
    said: Interrupt
    match what:
        case "restart":
            if not await in_store(runs.open_calls, conversation_id):
                return False
            said = Restart()
        case "respond":
            said = Respond(text, by.name or None)
        case _:
            said = Stop()
    for active in _active.values():
        if active.conversation.pk == conversation_id and not active.over:
            active.stopped_by = by
            active.interrupts.say(said)
            return True
    return False


async def let_go() -> None:
    """Leave every run of this process as it stands; returns once nothing of them runs any more.

    Their tools and servers are ended with them, since nobody would end them later.
    """
    await asyncio.gather(*_beginning, return_exceptions=True)
    tasks = [active.task for active in _active.values() if active.task is not None]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _execute(active: Active) -> None:
    run = active.run
    try:
        await announce.conversation(run.conversation_id)
        await _play(active)
    finally:
        if active.attachment is not None:
            await in_store(active.attachment.release)
    await announce.partial(run.conversation_id, "message", "")
    await announce.conversation(run.conversation_id)
    await announce.questions(active.conversation.workspace_id)


async def _play(active: Active) -> None:
    """Execute a run from where its turn stands, and put its end on record."""
    try:
        end = await _ended(active)
    finally:
        _active.pop(active.run.pk, None)
    try:
        await _put_on_record(active, end)
    except Exception:  # the one boundary: a run that seems to go on would bar the conversation
        logger.exception("the end of run %s cannot be put on record", active.run.pk)
        problem = "jpweb failed inside while it put the end of the turn on record."
        await in_store(runs.end, active.run.pk, RunState.FAILED, problem)


async def _ended(active: Active) -> End:
    """Execute a run; returns how it ended, whatever happened."""
    recorder = JournalRecorder(active.run, active.conversation.workspace_id, active.attachment)
    try:
        if active.attachment is not None:
            await in_store(active.attachment.write)
        async with AsyncExitStack() as stack:
            equipment = await _equipment(active, stack)
            if equipment is None:
                return End(RunState.STOPPED)
            ports = _ports(active, equipment, recorder)
            ending = await resume_turn(ports, active.interrupts, equipment.setup)
            active.over = True  # its servers take a while to end, and nobody listens any more
        return ENDS[ending]
    except ProviderFailed as error:
        return End(RunState.FAILED, str(error), error.kind.value)
    except AgentError as error:
        return End(RunState.FAILED, str(error))
    except Exception as error:  # the one boundary: whatever broke, the record says so
        logger.exception("run %s failed", active.run.pk)
        return End(RunState.FAILED, f"jpweb failed inside: {type(error).__name__}")


async def _equipment(active: Active, stack: AsyncExitStack) -> Equipment | None:
    """Open what the turn needs; None where somebody stops it meanwhile. Servers take a while."""
    opening = stack.enter_async_context(wiring.equipped(active.conversation))
    opened = await unless_stopped(opening, active.interrupts)
    if not isinstance(opened, Stopped):
        return opened
    if isinstance(active.interrupts.pending, Stop):
        return None
    return await stack.enter_async_context(wiring.equipped(active.conversation))


async def _put_on_record(active: Active, end: End) -> None:
    run = active.run
    if end.state is not RunState.DONE:
        stopped = end.state is RunState.STOPPED
        reason = CancellationReason.USER if stopped else CancellationReason.LOST
        await in_store(runs.close, run, reason)
    await in_store(runs.end, run.pk, end.state, end.problem, end.failure)
    if active.attachment is not None:
        # What the desk committed itself is not written yet.
        await in_store(active.attachment.write)


def _ports(active: Active, equipment: Equipment, recorder: JournalRecorder) -> TurnPorts:
    conversation = active.conversation
    return TurnPorts(
        provider=equipment.provider,
        prompter=BrowserPrompter(
            conversation.pk, conversation.workspace_id, lambda: active.stopped_by
        ),
        recorder=recorder,
        display=SocketDisplay(conversation.pk),
        backend=equipment.backend,
    )
