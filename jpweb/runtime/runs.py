"""Runs: turns as tasks of this process. The one place that catches whatever goes wrong."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jpweb.agent.errors import ProviderFailed
from jpweb.agent.turn import TurnEnd, TurnPorts, run_turn
from jpweb.runtime import announce, wiring
from jpweb.runtime.crossing import in_store
from jpweb.runtime.prompter import BrowserPrompter
from jpweb.runtime.recorder import JournalRecorder, SocketDisplay
from jpweb.store import runs
from jpweb.store.disk import attached
from jpweb.store.inquiries import Decider
from jpweb.store.terms import RunState
from jpweb.stream.inquiry import CancellationReason

if TYPE_CHECKING:
    from jpweb.store.disk.attached import Attachment
    from jpweb.store.models import Conversation, Person, Run

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Active:
    """A run of this process. ``stopped_by`` is who asked it to stop."""

    run: Run
    conversation: Conversation
    attachment: Attachment | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    stopped_by: Decider = field(default_factory=lambda: Decider("system"))
    task: asyncio.Task[None] | None = None


_active: dict[int, Active] = {}


async def start(conversation: Conversation, person: Person, text: str) -> Run:
    """Begin a turn with what a person says; returns once its row is committed.

    Raises AlreadyRunning, ReadOnly, Held and what else ``attached.attach`` raises.
    """
    await in_store(runs.refuse_second, conversation.pk)  # before its lock makes us wait
    attachment = await in_store(attached.attach, conversation.pk)
    try:
        run = await in_store(
            runs.begin, conversation.pk, person.pk, wiring.provider_name(), wiring.holder()
        )
    except BaseException:  # whatever broke, nobody would let go later
        if attachment is not None:
            attachment.release()
        raise
    active = Active(run, conversation, attachment)
    _active[run.pk] = active
    # A context of its own: what belongs to the request ends with the request.
    active.task = asyncio.get_running_loop().create_task(
        _execute(active, person.display_name, text), context=contextvars.Context()
    )
    return run


async def stop(conversation_id: int, by: Decider) -> bool:
    """Ask the run of a conversation to stop; tells whether this process executes one."""
    for active in _active.values():
        if active.conversation.pk == conversation_id:
            active.stopped_by = by
            active.stop.set()
            return True
    return False


async def _execute(active: Active, author: str, text: str) -> None:
    run = active.run
    try:
        await _play(active, author, text)
    finally:
        if active.attachment is not None:
            await in_store(active.attachment.release)
    await announce.partial(run.conversation_id, "message", "")
    await announce.conversation(run.conversation_id)
    await announce.questions(active.conversation.workspace_id)


async def _play(active: Active, author: str, text: str) -> None:
    """Execute a run and put its end on record."""
    run = active.run
    problem = ""
    try:
        ending = await run_turn(_ports(active), text, author, active.stop)
        state, problem = _state(ending)
    except ProviderFailed as failure:
        state, problem = RunState.FAILED, str(failure)
    except Exception as error:  # the one boundary: whatever broke, the record says so
        logger.exception("run %s failed", run.pk)
        state, problem = RunState.FAILED, f"jpweb failed inside: {type(error).__name__}"
    finally:
        _active.pop(run.pk, None)
    if state is RunState.FAILED:
        await in_store(runs.close, run, CancellationReason.LOST)
    await in_store(runs.end, run.pk, state, problem)
    if active.attachment is not None:
        # What the desk committed itself is not written yet.
        await in_store(active.attachment.write)


def _ports(active: Active) -> TurnPorts:
    conversation = active.conversation
    return TurnPorts(
        provider=wiring.provider(),
        prompter=BrowserPrompter(conversation.pk, lambda: active.stopped_by),
        recorder=JournalRecorder(active.run, conversation.workspace_id, active.attachment),
        display=SocketDisplay(conversation.pk),
    )


def _state(ending: TurnEnd) -> tuple[RunState, str]:
    match ending:
        case TurnEnd.COMPLETE:
            return RunState.DONE, ""
        case TurnEnd.STOPPED:
            return RunState.STOPPED, ""
        case TurnEnd.CYCLE_LIMIT:
            return RunState.FAILED, "The turn called tools too many times and was ended."
