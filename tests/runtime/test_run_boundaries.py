"""Runs at their edges: before a turn begins, after it has ended, over the end of the process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jpweb.runtime import runs, wiring
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import resolution
from jpweb.store.errors import ReadOnlyConversation
from jpweb.store.jp_files import attachments
from jpweb.store.models import Conversation, Run
from jpweb.stream.events import ChatRequest, ToolCallResponse
from jpweb.stream.inquiry import InquiryRequest
from tests.runtime import providers
from tests.runtime.playing import SOON, Scene, eventually, wait_for_task
from tests.store.making import decider


async def reload_run(run: Run) -> Run:
    return await run_in_db_thread(Run.objects.get, pk=run.pk)


def results(elements: Any) -> list[ToolCallResponse]:
    return [e.kind for e in elements if isinstance(e.kind, ToolCallResponse)]


async def test_released_run_keeps_its_state(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    provider = providers.Hangs()
    providers.use_provider(monkeypatch, provider)
    run, task = await scene.start()
    await provider.said_event.wait()
    await runs.release_runs()
    assert task.cancelled()
    assert (await reload_run(run)).state == "queued", "who starts next decides what becomes of it"
    assert not run_executor._active_runs
    await runs.release_runs()


async def test_released_run_resumes_with_its_open_question(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch)
    run, _ = await scene.start()
    row = await scene.get_question()
    await runs.release_runs()
    task = await scene.resume(run)
    same_row = await scene.get_question()
    assert same_row == row, "it waits on, under its own number"
    await resolution.answer_inquiry(row.pk, "false", decider(scene.eve))
    await scene.get_question()
    assert await runs.stop_run(scene.conversation.pk, decider(scene.eve))
    await wait_for_task(task)
    assert (await reload_run(run)).resume_count == 1
    tags = [element.tag for element in await scene.elements()]
    assert tags.count("turn_start") == tags.count("chat_request") == 1
    first = results(await scene.elements())[0]
    assert json.loads(first.content) == {"answer_type": "boolean", "answer": False}


async def test_call_continues_with_an_answer_from_while_no_process_ran(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch)
    run, _ = await scene.start()
    row = await scene.get_question()
    await runs.release_runs()
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    task = await scene.resume(run)
    second = await scene.get_question()
    assert second != row
    assert await runs.stop_run(scene.conversation.pk, decider(scene.eve))
    await wait_for_task(task)
    inquiry_ids = [e.kind.id for e in await scene.elements() if isinstance(e.kind, InquiryRequest)]
    assert len(set(inquiry_ids)) == len(inquiry_ids) == 2


async def test_released_run_that_cannot_resume_fails_with_the_reason(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch)
    run, _ = await scene.start()
    row = await scene.get_question()
    await runs.release_runs()

    def raise_locked(_conversation_id: int) -> None:
        raise ReadOnlyConversation("jp has the lock")

    monkeypatch.setattr(attachments, "attach_files", raise_locked)
    await run_executor.check_and_recover()

    async def find_lost() -> Run | None:
        row = await reload_run(run)
        return row if row.ended_at else None

    lost_run = await eventually(find_lost)
    assert (lost_run.state, "jp has the lock" in lost_run.problem) == ("failed", True)
    assert (await scene.reload(row)).reason == "lost"


class Slow:
    """What a turn needs, and takes its time; ``entered`` and ``left`` say how far it is."""

    def __init__(self, *, entering: bool) -> None:
        self.entering = entering
        self.waits, self.go_on = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def equipped(self, conversation: Conversation) -> AsyncIterator[Any]:
        async with self.real(conversation) as equipment:
            if self.entering:
                await self._wait()
            yield equipment
            if not self.entering:
                await self._wait()

    async def _wait(self) -> None:
        self.waits.set()
        await self.go_on.wait()

    def use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.real = wiring.open_turn_resources
        monkeypatch.setattr(wiring, "open_turn_resources", self.equipped)


async def test_a_stop_does_not_wait_for_servers_to_start(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch)
    slow = Slow(entering=True)
    slow.use(monkeypatch)
    run, task = await scene.start()
    await slow.waits.wait()
    assert await runs.stop_run(scene.conversation.pk, decider(scene.ada))
    await wait_for_task(task)
    assert (await reload_run(run)).state == "stopped"


async def test_reply_during_the_start_of_servers_reaches_the_turn(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    slow = Slow(entering=True)
    slow.use(monkeypatch)
    run, task = await scene.start()
    await slow.waits.wait()
    assert await runs.interrupt_run(
        scene.conversation.pk, decider(scene.ada), "respond", "Be brief."
    )
    slow.go_on.set()
    await wait_for_task(task)
    assert (await reload_run(run)).state == "done"
    requests = [e.kind.content for e in await scene.elements() if isinstance(e.kind, ChatRequest)]
    assert requests == ["Begin", "Be brief."]


async def test_reply_during_the_end_of_a_turn_reaches_the_model(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    slow = Slow(entering=False)
    slow.use(monkeypatch)
    run, task = await scene.start()
    await slow.waits.wait()
    assert await runs.interrupt_run(scene.conversation.pk, decider(scene.ada), "respond", "Wait.")
    slow.go_on.set()
    await wait_for_task(task)
    assert (await reload_run(run)).state == "done"
    requests = [e.kind.content for e in await scene.elements() if isinstance(e.kind, ChatRequest)]
    assert requests == ["Begin", "Wait."]
    assert not await runs.interrupt_run(
        scene.conversation.pk, decider(scene.ada), "respond", "Too late."
    )


async def test_restart_without_a_running_tool_call_is_refused(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    provider = providers.Hangs()
    providers.use_provider(monkeypatch, provider)
    _, task = await scene.start()
    await provider.said_event.wait()
    assert not await runs.interrupt_run(scene.conversation.pk, decider(scene.ada), "restart")
    assert await runs.stop_run(scene.conversation.pk, decider(scene.ada))
    await wait_for_task(task)


async def test_a_stop_after_a_reply_does_not_wait_for_servers_to_start(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch)
    slow = Slow(entering=True)
    slow.use(monkeypatch)
    run, task = await scene.start()
    await slow.waits.wait()
    assert await runs.interrupt_run(
        scene.conversation.pk, decider(scene.ada), "respond", "Be brief."
    )
    await asyncio.wait_for(run_executor._active_runs[run.pk].interrupts.wait(), SOON)
    assert await runs.stop_run(scene.conversation.pk, decider(scene.ada))
    await wait_for_task(task)
    assert (await reload_run(run)).state == "stopped"


async def test_a_stop_while_servers_start_is_recorded_as_the_persons(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch)
    run, _ = await scene.start()
    row = await scene.get_question()
    await runs.release_runs()
    slow = Slow(entering=True)
    slow.use(monkeypatch)
    task = await scene.resume(run)
    await slow.waits.wait()
    assert await runs.stop_run(scene.conversation.pk, decider(scene.ada))
    await wait_for_task(task)
    settled_row = await scene.reload(row)
    assert (settled_row.reason, settled_row.decider_id) == ("user", scene.ada.pk)
