"""Interrupts that a turn was given, until the journal holds what they say."""

from __future__ import annotations

import pytest

from jpweb.agent.tool_calls import model_messages
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.store import runs
from jpweb.store.choices import InterruptKind
from jpweb.store.models import Run
from jpweb.store.run_queue import interrupts
from jpweb.stream.events import ChatRequest, ToolCallResponse
from tests.runtime import providers
from tests.runtime.playing import Scene, wait_for_task
from tests.store.making import decider


async def deliver_at_once(scene: Scene, run: Run, *sent: tuple[InterruptKind, str]) -> None:
    """Send interrupts, and give them to the turn before it can act on the first."""
    for kind, text in sent:
        await run_in_db_thread(runs.interrupt_run, scene.talk.pk, kind, decider(scene.ada), text)
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
