"""Interrupts that a turn was given, until the journal holds what they say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.db import OperationalError

from jpweb.agent.tool_calls import model_messages
from jpweb.agent.turn import make_opening_events
from jpweb.runtime import process_identity
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor, turn_runner
from jpweb.runtime.execution.active_run import ActiveRun
from jpweb.runtime.recorder import JournalRecorder
from jpweb.store import runs
from jpweb.store.choices import InterruptKind
from jpweb.store.database import clock
from jpweb.store.models import Inquiry, Run, RunInterrupt
from jpweb.store.run_queue import interrupts, leases
from jpweb.stream.events import ChatRequest, ChatResponse, ConversationEvent, ToolCallResponse
from tests.runtime import providers
from tests.runtime.execution.test_parking import wait_until_ended
from tests.runtime.playing import Scene, eventually, wait_for_task
from tests.store import making
from tests.store.making import decider


async def deliver_at_once(scene: Scene, run: Run, *words: tuple[InterruptKind, str]) -> None:
    """Send Ada's interrupts, and give them to the turn before it can act on the first."""
    for kind, text in words:
        await run_in_db_thread(
            runs.interrupt_run, scene.conversation.pk, kind, decider(scene.ada), text
        )
    await deliver_pending(run)


async def deliver_pending(run: Run) -> None:
    active = run_executor._active_runs[run.pk]
    for interrupt in await run_in_db_thread(interrupts.list_pending, [active.run]):
        active.deliver_interrupt(interrupt)


async def test_words_that_a_stop_overtakes_begin_the_next_turn(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """The response of the stopped call holds “no” as well, though not from a person."""
    providers.use_provider(monkeypatch, providers.Asks())
    run, task = await scene.start()
    await scene.get_question()
    await deliver_at_once(scene, run, (InterruptKind.RESPOND, "no"), (InterruptKind.STOP, ""))
    await wait_for_task(task)
    kinds = [element.kind for element in await scene.elements()]
    results = [kind.content for kind in kinds if isinstance(kind, ToolCallResponse)]
    assert results == [model_messages.STOPPED]
    assert kinds[-1] == ChatRequest("no", author="Ada")


async def test_words_of_another_person_after_a_stop_leave_it_to_whom_it_was(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Asks())
    run, task = await scene.start()
    question = await scene.get_question()
    bob = await run_in_db_thread(making.person, "Bob")
    for person, kind, text in (
        (scene.ada, InterruptKind.STOP, ""),
        (bob, InterruptKind.RESPOND, "no"),
    ):
        await run_in_db_thread(
            runs.interrupt_run, scene.conversation.pk, kind, decider(person), text
        )
    await deliver_pending(run)
    await wait_for_task(task)
    row = await run_in_db_thread(Inquiry.objects.get, pk=question.pk)
    assert (row.state, row.decider_name) == ("cancelled", "Ada")


async def test_interrupt_is_not_delivered_to_an_abandoned_run(scene: Scene):
    interrupt = RunInterrupt(pk=1, kind=InterruptKind.RESTART)
    active = ActiveRun(Run(), scene.conversation, is_abandoned=True)
    active.deliver_interrupt(interrupt)
    assert active.interrupts.pending is None


async def test_message_with_a_stop_at_the_last_commit_is_kept(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    record = JournalRecorder.record

    async def record_and_interrupt(
        recorder: JournalRecorder, *events: ConversationEvent, **options: Any
    ) -> None:
        await record(recorder, *events, **options)
        if options.get("is_last"):
            words = ((InterruptKind.RESPOND, "no"), (InterruptKind.STOP, ""))
            await deliver_at_once(scene, recorder.run, *words)

    monkeypatch.setattr(JournalRecorder, "record", record_and_interrupt)
    run, task = await scene.start()
    await wait_for_task(task)
    kinds = [element.kind for element in await scene.elements()]
    assert kinds[-2:] == [ChatResponse("message", "A word.\n"), ChatRequest("no", author="Ada")]
    assert await run_in_db_thread(interrupts.list_replies, run) == []
    assert (await run_in_db_thread(Run.objects.get, pk=run.pk)).state == "stopped"


async def test_words_of_two_people_that_end_a_call_are_handled_by_its_response(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Asks())
    run, task = await scene.start()
    await scene.get_question()
    await deliver_at_once(
        scene, run, (InterruptKind.RESPOND, "no"), (InterruptKind.RESPOND, "Leave it.")
    )
    await wait_for_task(task)
    kinds = [element.kind for element in await scene.elements()]
    results = [kind.content for kind in kinds if isinstance(kind, ToolCallResponse)]
    assert results == [model_messages.describe_response("no\n\nLeave it.")]
    assert await run_in_db_thread(interrupts.list_replies, run) == []


async def test_replies_of_two_people_to_a_queued_turn_keep_their_authors(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    bob = await run_in_db_thread(making.person, "Bob")
    opening_events = make_opening_events("Begin", "Ada", clock.now())
    run = await run_in_db_thread(
        runs.start_run, scene.conversation.pk, scene.ada.pk, "scripted", "", opening_events
    )
    for person, text in ((scene.ada, "Use staging"), (bob, "And skip the tests")):
        await run_in_db_thread(
            runs.interrupt_run, scene.conversation.pk, InterruptKind.RESPOND, decider(person), text
        )
    await run_executor.execute_run(run.pk)
    kinds = [element.kind for element in await scene.elements()]
    assert [kind for kind in kinds if isinstance(kind, ChatRequest)] == [
        ChatRequest("Begin", author="Ada"),
        ChatRequest("Use staging", author="Ada"),
        ChatRequest("And skip the tests", author="Bob"),
    ]
    assert await list_unhandled() == []


async def begin_and_restart(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a run that waited for an answer when a person restarted its tools, with its task."""
    providers.use_provider(monkeypatch, providers.Asks())
    run, task = await scene.start()
    await scene.get_question()
    await run_in_db_thread(
        runs.interrupt_run, scene.conversation.pk, InterruptKind.RESTART, decider(scene.ada)
    )
    return run_executor._active_runs[run.pk], task


def fail_once(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Have the database away when a recorder calls a method the next time: its process lets go."""
    method = getattr(JournalRecorder, name)

    async def fail(*_arguments: Any, **_options: Any) -> None:
        monkeypatch.setattr(JournalRecorder, name, method)
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(JournalRecorder, name, fail)


async def list_unhandled() -> list[RunInterrupt]:
    return await run_in_db_thread(list, RunInterrupt.objects.filter(handled_at=None))


async def wait_for_questions(count: int) -> None:
    async def are_asked() -> bool:
        return await run_in_db_thread(Inquiry.objects.count) == count

    await eventually(are_asked)


async def stop_and_wait(scene: Scene, task: asyncio.Task[None]) -> None:
    await run_in_db_thread(
        runs.interrupt_run, scene.conversation.pk, InterruptKind.STOP, decider(scene.ada)
    )
    await run_executor.check_and_recover()
    await wait_for_task(task)


async def test_restart_is_handled_once_its_calls_begin_again_and_not_repeated(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    active, task = await begin_and_restart(scene, monkeypatch)
    await turn_runner.deliver_interrupts(active)
    await turn_runner.deliver_interrupts(active)
    await wait_for_questions(2)
    await run_executor.check_and_recover()
    assert active.interrupts.pending is None
    assert await list_unhandled() == []
    await stop_and_wait(scene, task)
    assert await run_in_db_thread(Inquiry.objects.count) == 2


async def test_reply_without_text_is_handled_with_the_results_of_its_calls(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Asks())
    run, task = await scene.start()
    await scene.get_question()
    await deliver_at_once(scene, run, (InterruptKind.RESPOND, ""))
    await wait_for_task(task)
    kinds = [element.kind for element in await scene.elements()]
    results = [kind.content for kind in kinds if isinstance(kind, ToolCallResponse)]
    assert results == [model_messages.STOPPED]
    assert await list_unhandled() == []


async def test_reply_without_text_whose_process_ends_first_holds_in_the_next(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Asks())
    run, task = await scene.start()
    await scene.get_question()
    fail_once(monkeypatch, "record")
    await run_in_db_thread(
        runs.interrupt_run, scene.conversation.pk, InterruptKind.RESPOND, decider(scene.ada)
    )
    await turn_runner.deliver_interrupts(run_executor._active_runs[run.pk])
    await wait_for_task(task)
    await run_in_db_thread(leases.expire_installation, process_identity.get_installation_name())
    await run_executor.check_and_recover()
    assert (await wait_until_ended(run)).state == "done"
    assert await list_unhandled() == []


async def test_interrupts_that_cannot_be_delivered_fail_the_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """An error here would otherwise let the lease expire, and come again with each next holder."""

    def break_off(_runs: object) -> list[RunInterrupt]:
        raise TypeError("broken")

    providers.use_provider(monkeypatch, providers.Says())
    monkeypatch.setattr(interrupts, "list_pending", break_off)
    run, task = await scene.start()
    await wait_for_task(task)
    row = await run_in_db_thread(Run.objects.get, pk=run.pk)
    problem = "Internal error in jpweb: TypeError. See the server log."
    assert (row.state, row.problem) == ("failed", problem)
