"""Starts, retries and interrupts runs on behalf of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.conf import settings

from jpweb.agent.turn import make_opening_events
from jpweb.runtime import wiring
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.tasks import BackgroundTasks
from jpweb.store import runs
from jpweb.store.choices import InterruptKind, RunState
from jpweb.store.database import clock
from jpweb.store.jp_files import attachments

if TYPE_CHECKING:
    from jpweb.store.inquiries import Decider
    from jpweb.store.models import Conversation, Person, Run
    from jpweb.stream.events import ConversationEvent

_background_tasks = BackgroundTasks()


async def start_turn(
    conversation: Conversation, person: Person, text: str, *, requires_role: bool = False
) -> Run:
    """Start a turn with a person's message; return once the run is committed.

    ``requires_role``: the person needs a responder's role at the commit, else RoleEnded is raised.
    Raises AlreadyRunning, ReadOnlyConversation, InvalidConfiguration, LockHeld and the other
    errors of ``attachments.attach_files``.
    """
    return await _begin_shielded(
        conversation,
        person,
        make_opening_events(text, person.display_name, clock.now()),
        requires_role=requires_role,
    )


async def retry_turn(
    conversation: Conversation, person: Person, *, requires_role: bool = False
) -> Run:
    """Resume a failed turn where it ended; return once the run is committed.

    Raises NothingToRetry, and as ``start_turn``.
    """
    await run_in_db_thread(runs.require_retryable, conversation.pk)
    return await _begin_shielded(conversation, person, requires_role=requires_role)


async def stop_run(conversation_id: int, decider: Decider) -> bool:
    """Interrupt the run of a conversation; return whether there is one."""
    return await interrupt_run(conversation_id, decider, "stop")


async def interrupt_run(
    conversation_id: int, decider: Decider, action: str, text: str = ""
) -> bool:
    """Interrupt the run of a conversation, in any process; return whether there is one.

    ``action`` is ``stop``, ``restart`` (the tool calls of this cycle) or ``respond`` (with
    ``text``, which may be empty, in place of the current reply). A cancellation of the caller, such
    as the end of its request, stops neither the commit nor its publication.
    """
    kind = InterruptKind(action)
    if kind == InterruptKind.RESTART and not await run_in_db_thread(
        runs.list_open_calls, conversation_id
    ):
        return False
    return await _background_tasks.run_shielded(
        _send_interrupt(conversation_id, kind, decider, text)
    )


async def _send_interrupt(
    conversation_id: int, kind: InterruptKind, decider: Decider, text: str
) -> bool:
    run = await run_in_db_thread(runs.interrupt_run, conversation_id, kind, decider, text)
    if run is None:
        return False
    await publisher.publish_run_changed(run.pk)
    if kind == InterruptKind.STOP and run.state != RunState.RUNNING:
        await publisher.publish_conversation_changed(conversation_id)
        await publisher.publish_questions_changed(run.conversation.workspace_id)
    return True


async def release_runs() -> None:
    """Release every run of this process; return once none executes in it."""
    await _background_tasks.wait_for_all()
    await run_executor.release_all()


async def _begin_shielded(
    conversation: Conversation,
    person: Person,
    events: Sequence[ConversationEvent] = (),
    *,
    requires_role: bool,
) -> Run:
    """Begin a run, completely or not at all; without ``events`` it retries the last turn.

    The request may be cancelled when its browser disconnects: the run begins nevertheless, so that
    no lock and no row is orphaned.
    """
    return await _background_tasks.run_shielded(
        _begin_run(conversation, person, events, requires_role=requires_role)
    )


async def _begin_run(
    conversation: Conversation,
    person: Person,
    events: Sequence[ConversationEvent],
    *,
    requires_role: bool,
) -> Run:
    # Checked first, because a running turn holds the file lock that attach_files waits for.
    await run_in_db_thread(runs.require_no_run, conversation.pk)
    model = await run_in_db_thread(wiring.get_turn_model, conversation)
    attachment = await run_in_background_thread(attachments.attach_files, conversation.pk)
    active_run = None
    try:
        if not events:  # again, because attach_files may have appended a turn of jp
            await run_in_db_thread(runs.require_retryable, conversation.pk)
        run = await run_in_db_thread(
            runs.start_run,
            *(conversation.pk, person.pk, model.provider, model.name, events),
            requires_role=requires_role,
        )
        if settings.RUN_MODE == "embedded":
            active_run = await run_executor.acquire_run(run.pk, attachment)
        elif attachment is not None:  # what jp adds before a worker comes then follows the message
            await run_in_background_thread(attachment.write_files)
    finally:  # on any error: nothing else releases the attachment
        if active_run is None and attachment is not None:
            attachment.release()
    if active_run is None:
        return run  # a worker acquires it through its job, or the next server from the queue
    run_executor.start_execution(active_run)
    return active_run.run
