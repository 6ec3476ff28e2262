"""Runs: turns as tasks of this process. The one place that catches whatever goes wrong."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jpweb.agent.errors import AgentError, ProviderFailed
from jpweb.agent.stopping import Interrupt, Interrupts, Respond, Restart, Stop
from jpweb.agent.turn import TurnEnd, TurnPorts, begin_turn, resume_turn
from jpweb.runtime import announce, wiring
from jpweb.runtime.crossing import in_background, in_store
from jpweb.runtime.prompter import BrowserPrompter
from jpweb.runtime.recorder import JournalRecorder, SocketDisplay
from jpweb.store import runs
from jpweb.store.disk import attached
from jpweb.store.inquiries import Decider
from jpweb.store.terms import RunState
from jpweb.stream.inquiry import CancellationReason

if TYPE_CHECKING:
    from jpweb.runtime.wiring import Equipment
    from jpweb.store.disk.attached import Attachment
    from jpweb.store.models import Conversation, Person, Run

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Said:
    """What begins a turn, and who says it."""

    text: str
    author: str


@dataclass(slots=True)
class Active:
    """A run of this process. ``stopped_by`` is who interrupted it last."""

    run: Run
    conversation: Conversation
    attachment: Attachment | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)
    stopped_by: Decider = field(default_factory=lambda: Decider("system"))
    task: asyncio.Task[None] | None = None


_active: dict[int, Active] = {}
_beginning: set[asyncio.Task[Run]] = set()


async def start(conversation: Conversation, person: Person, text: str) -> Run:
    """Begin a turn with what a person says; returns once its row is committed.

    Raises AlreadyRunning, ReadOnly, BadConfiguration, Held and what else ``attached.attach``
    raises.
    """
    return await _begin(conversation, person, text)


async def retry(conversation: Conversation, person: Person) -> Run:
    """Go on with a turn that failed, from where it stands; returns once the run is committed.

    Raises NothingToRetry, and what ``start`` raises.
    """
    await in_store(runs.refuse_retry, conversation.pk)
    return await _begin(conversation, person)


async def _begin(conversation: Conversation, person: Person, text: str | None = None) -> Run:
    """Begin a run, whole or not at all.

    Whoever asked may be cancelled meanwhile, as a request is whose browser left: the run begins
    nevertheless, so that no lock and no row is left to nobody.
    """
    # A context of its own: what belongs to the request ends with the request.
    beginning = asyncio.get_running_loop().create_task(
        _begun(conversation, person, text), context=contextvars.Context()
    )
    _beginning.add(beginning)  # the loop itself holds no task
    beginning.add_done_callback(_beginning.discard)
    return await asyncio.shield(beginning)


async def _begun(conversation: Conversation, person: Person, text: str | None) -> Run:
    await in_store(runs.refuse_second, conversation.pk)  # before its lock makes us wait
    model = await in_store(wiring.model, conversation)
    attachment = await in_background(attached.attach, conversation.pk)
    try:
        run = await in_store(
            runs.begin, conversation.pk, person.pk, model.provider, wiring.holder(), model.name
        )
    except BaseException:  # whatever broke, nobody would let go later
        if attachment is not None:
            attachment.release()
        raise
    active = Active(run, conversation, attachment)
    said = None if text is None else Said(text, person.display_name)
    _active[run.pk] = active
    active.task = asyncio.create_task(_execute(active, said))
    return run


async def stop(conversation_id: int, by: Decider) -> bool:
    """Ask the run of a conversation to stop; tells whether this process executes one."""
    return await interrupt(conversation_id, by, "stop")


async def interrupt(conversation_id: int, by: Decider, what: str, text: str = "") -> bool:
    """Interrupt the run of a conversation; tells whether this process executes one.

    ``what`` is ``stop``, ``restart`` (the tool calls of this cycle) or ``respond`` (with ``text``,
    which may be empty, instead of what is running).
    """
    said: Interrupt
    match what:
        case "restart":
            said = Restart()
        case "respond":
            said = Respond(text, by.name or None)
        case _:
            said = Stop()
    for active in _active.values():
        if active.conversation.pk == conversation_id:
            active.stopped_by = by
            active.interrupts.say(said)
            return True
    return False


async def let_go() -> None:
    """Leave every run of this process as it stands; returns once nothing of them runs any more.

    Their tools and servers are ended with them, since nobody would end them later.
    """
    tasks = [active.task for active in _active.values() if active.task is not None]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _execute(active: Active, said: Said | None) -> None:
    run = active.run
    try:
        await _play(active, said)
    finally:
        if active.attachment is not None:
            await in_store(active.attachment.release)
    await announce.partial(run.conversation_id, "message", "")
    await announce.conversation(run.conversation_id)
    await announce.questions(active.conversation.workspace_id)


async def _play(active: Active, said: Said | None) -> None:
    """Execute a run and put its end on record.

    What was said is on record before anything is opened for the turn, which may take long or fail.
    """
    run = active.run
    problem = failure = ""
    recorder = JournalRecorder(run, active.conversation.workspace_id, active.attachment)
    try:
        if said is not None:
            await begin_turn(recorder, said.text, said.author)
        async with wiring.equipped(active.conversation) as equipment:
            ports = _ports(active, equipment, recorder)
            ending = await resume_turn(ports, active.interrupts, equipment.setup)
        state, problem = _state(ending)
    except ProviderFailed as error:
        state, problem, failure = RunState.FAILED, str(error), error.kind.value
    except AgentError as error:
        state, problem = RunState.FAILED, str(error)
    except Exception as error:  # the one boundary: whatever broke, the record says so
        logger.exception("run %s failed", run.pk)
        state, problem = RunState.FAILED, f"jpweb failed inside: {type(error).__name__}"
    finally:
        _active.pop(run.pk, None)
    if state is RunState.FAILED:
        await in_store(runs.close, run, CancellationReason.LOST)
    await in_store(runs.end, run.pk, state, problem, failure)
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


def _state(ending: TurnEnd) -> tuple[RunState, str]:
    match ending:
        case TurnEnd.COMPLETE:
            return RunState.DONE, ""
        case TurnEnd.STOPPED:
            return RunState.STOPPED, ""
        case TurnEnd.CYCLE_LIMIT:
            return RunState.FAILED, "The turn called tools too many times and was ended."
