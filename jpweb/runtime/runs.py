"""Runs as people deal with them: begin one, try again, interrupt."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.conf import settings

from jpweb.agent.turn import opening
from jpweb.runtime import wiring
from jpweb.runtime.crossing import in_background, in_store
from jpweb.runtime.executing import holding
from jpweb.runtime.signals import announce
from jpweb.store import runs
from jpweb.store.database import clock
from jpweb.store.disk import attached
from jpweb.store.terms import InterruptKind, RunState

if TYPE_CHECKING:
    from jpweb.store.inquiries import Decider
    from jpweb.store.models import Conversation, Person, Run
    from jpweb.stream.events import ConversationEvent

_beginning: set[asyncio.Task[Run]] = set()


async def start(conversation: Conversation, person: Person, text: str) -> Run:
    """Begin a turn with what a person says; returns once its row is committed.

    Raises AlreadyRunning, ReadOnly, BadConfiguration, Held and what else ``attached.attach``
    raises.
    """
    return await _begin(conversation, person, opening(text, person.display_name, clock.now()))


async def retry(conversation: Conversation, person: Person) -> Run:
    """Go on with a turn that failed, from where it stands; returns once the run is committed.

    Raises NothingToRetry, and what ``start`` raises.
    """
    await in_store(runs.refuse_retry, conversation.pk)
    return await _begin(conversation, person)


async def stop(conversation_id: int, by: Decider) -> bool:
    """Ask the run of a conversation to stop; tells whether there is one."""
    return await interrupt(conversation_id, by, "stop")


async def interrupt(conversation_id: int, by: Decider, what: str, text: str = "") -> bool:
    """Interrupt the run of a conversation, whoever executes it; tells whether there is one to.

    ``what`` is ``stop``, ``restart`` (the tool calls of this cycle) or ``respond`` (with ``text``,
    which may be empty, instead of what is running).
    """
    kind = InterruptKind(what)
    if kind == InterruptKind.RESTART and not await in_store(runs.open_calls, conversation_id):
        return False
    run = await in_store(runs.interrupt, conversation_id, kind, by, text)
    if run is None:
        return False
    await announce.run(run.pk)
    if kind == InterruptKind.STOP and run.state != RunState.RUNNING:
        await announce.conversation(conversation_id)
        await announce.questions(run.conversation.workspace_id)
    return True


async def let_go() -> None:
    """Leave every run of this process to others; returns once nothing of them runs here."""
    await asyncio.gather(*_beginning, return_exceptions=True)
    await holding.let_go()


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
    active = None
    try:
        run = await in_store(
            runs.begin, conversation.pk, person.pk, model.provider, model.name, events
        )
        if settings.RUNS == "embedded":
            active = await holding.take(run.pk, attachment)
    finally:  # whatever broke, nobody would let go later
        if active is None and attachment is not None:
            attachment.release()
    if active is None:
        return run  # a worker takes it, by its job
    holding.enter(active)
    return active.run
