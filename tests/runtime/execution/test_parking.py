"""Runs that wait longer than the hold: they cost rows, and the answer brings them back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from jpweb.agent.config import ApprovalMode, QuestionConfig
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_outcome import NeedsInput, Question, Success, ToolOutcome
from jpweb.agent.turn_setup import TurnSetup
from jpweb.runtime import process_identity, runs, wiring
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import approvals, resolution, secret_channels
from jpweb.store.models import Approval, Inquiry, Run
from jpweb.store.run_queue import leases, secret_waiters
from jpweb.stream.answer_type import Boolean, Secret
from jpweb.stream.events import ToolCallResponse
from jpweb.stream.inquiry import InquirySource
from tests.runtime import providers
from tests.runtime.playing import SOON, Scene, eventually, wait_for_task
from tests.store.making import decider


class Clerk:
    """Asks for a passphrase, then whether to go on; counts how often it runs to its end.

    A slow clerk never comes to the end of its first run. A careful one asks a second question.
    """

    NAME = "clerk"
    DESCRIPTION = "Asks."
    PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
    QUESTIONS: Mapping[str, QuestionConfig] = {}

    def __init__(self, *, secret: bool, is_slow: bool = False, is_careful: bool = False) -> None:
        self._secret = secret
        self._is_slow, self._is_careful = is_slow, is_careful
        self.end_count = 0

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any]
    ) -> ToolOutcome:
        if self._secret and "word" not in answers:
            return NeedsInput(Question("word", "What is the word?", Secret()))
        if "go" not in answers:
            return NeedsInput(Question("go", "Go on?", Boolean()))
        if self._is_careful and "sure" not in answers:
            return NeedsInput(Question("sure", "Sure?", Boolean()))
        self.end_count += 1
        if self._is_slow and self.end_count == 1:
            await asyncio.Event().wait()
        return Success("Went on.")

    def make_inquiry_source(self, name: str) -> InquirySource:
        return InquirySource.for_tool(name)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "PARK_AFTER_SECONDS", 0.01)


def use(
    monkeypatch: pytest.MonkeyPatch, clerk: Clerk, gate: ApprovalMode = ApprovalMode.UNATTENDED
) -> None:
    """Offer the clerk beside the other tools, and let a model call it once."""
    real = wiring._build_setup

    def setup(*arguments: Any) -> TurnSetup:
        turn_setup = real(*arguments)
        (like,) = (tool for tool in turn_setup.tools if tool.name == "ask_user")
        tools = (*turn_setup.tools, replace(like, name="clerk", run=gate))
        return replace(turn_setup, tools=tools, builtins=(*turn_setup.builtins, clerk))

    monkeypatch.setattr(wiring, "_build_setup", setup)
    providers.use_provider(monkeypatch, providers.Asks("clerk"))


async def parked(run: Run) -> Run:
    async def find_parked() -> Run | None:
        parked_run: Run | None = await run_in_db_thread(
            Run.objects.filter(pk=run.pk, state="parked").first
        )
        return parked_run

    parked_run: Run = await eventually(find_parked)
    return parked_run


async def fresh(run: Run) -> Run:
    return await run_in_db_thread(Run.objects.get, pk=run.pk)


async def wait_until_ended(run: Run) -> Run:
    async def find_ended() -> Run | None:
        row = await fresh(run)
        return row if row.ended_at and run.pk not in run_executor._active_runs else None

    ended_run: Run = await eventually(find_ended)
    return ended_run


async def get_open_inquiry(scene: Scene) -> Inquiry:
    return await run_in_db_thread(
        Inquiry.objects.get, conversation=scene.conversation, state="open"
    )


def results(elements: Any) -> list[Any]:
    return [e.events[0] for e in elements if isinstance(e.kind, ToolCallResponse)]


@pytest.mark.usefixtures("short")
async def test_waiting_run_is_parked_and_resumed_by_its_answer(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    clerk = Clerk(secret=False)
    use(monkeypatch, clerk)
    run, task = await scene.start()
    await parked(run)
    await wait_for_task(task)
    assert run_executor._active_runs == {}
    assert resolution.settlement_waiters.waiters_by_key == {}
    row = await get_open_inquiry(scene)
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    ended_run = await wait_until_ended(run)
    assert (ended_run.state, ended_run.resume_count, clerk.end_count) == ("done", 0, 1)
    (response,) = results(await scene.elements())
    assert response.kind.content == "Went on."
    assert "again" not in response.note, "nothing of it was cut off"


async def get_open_approval() -> Approval:
    """Return the open approval, once there is one."""

    async def find_open() -> Approval | None:
        return await run_in_db_thread(Approval.objects.filter(state="open").first)

    row: Approval = await eventually(find_open)
    return row


async def decide(scene: Scene, verdict: approvals.ApprovalVerdict) -> None:
    row = await get_open_approval()
    await approvals.decide_approval(row.pk, verdict, decider(scene.ada))


async def approve(scene: Scene) -> None:
    """Let the gated call run, once it waits for that."""
    await decide(scene, approvals.ApprovalVerdict(True))


async def wait_until_working(clerk: Clerk) -> None:
    """Return once the clerk has its answer and works on."""

    async def is_working() -> bool:
        return clerk.end_count == 1

    await eventually(is_working)


def hold_resources(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let servers of turns start without end; the event is set once one does."""
    start_event = asyncio.Event()

    @asynccontextmanager
    async def open_never(_conversation: Any) -> AsyncIterator[Any]:
        start_event.set()
        await asyncio.Event().wait()
        yield

    monkeypatch.setattr(wiring, "open_turn_resources", open_never)
    return start_event


@pytest.mark.parametrize("is_killed", [False, True], ids=["released", "killed"])
@pytest.mark.usefixtures("short")
async def test_run_whose_process_ends_before_its_turn_begins_was_not_cut_off(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, is_killed: bool
):
    use(monkeypatch, Clerk(secret=False), ApprovalMode.ASK)
    run, task = await scene.start()
    await approve(scene)
    await parked(run)
    await wait_for_task(task)
    with monkeypatch.context() as patched:
        start_event = hold_resources(patched)
        row = await get_open_inquiry(scene)
        await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
        await asyncio.wait_for(start_event.wait(), SOON)
        if is_killed:
            run_executor.abandon_all()
        await runs.release_runs()
    if is_killed:
        await run_in_db_thread(leases.expire_installation, process_identity.get_installation_name())
    await run_executor.check_and_recover()
    assert (await wait_until_ended(run)).state == "done"
    (response,) = results(await scene.elements())
    assert "again" not in response.note
    assert await run_in_db_thread(Approval.objects.count) == 1


@pytest.mark.usefixtures("short")
async def test_a_run_that_is_put_down_can_be_stopped(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, Clerk(secret=False))
    run, task = await scene.start()
    await parked(run)
    await wait_for_task(task)
    row = await get_open_inquiry(scene)
    assert await runs.stop_run(scene.conversation.pk, decider(scene.eve))
    assert (await fresh(run)).state == "stopped"
    row = await scene.reload(row)
    assert (row.state, row.reason, row.decider_id) == ("cancelled", "user", scene.eve.pk)
    assert not await runs.stop_run(scene.conversation.pk, decider(scene.eve))


@pytest.mark.usefixtures("short")
async def test_words_to_a_run_that_is_put_down_are_acted_on(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    clerk = Clerk(secret=False)
    use(monkeypatch, clerk)
    run, task = await scene.start()
    await parked(run)
    await wait_for_task(task)
    assert await runs.interrupt_run(
        scene.conversation.pk, decider(scene.ada), "respond", "Do without."
    )
    assert (await wait_until_ended(run)).state == "done"
    (response,) = results(await scene.elements())
    assert "Do without." in response.kind.content
    assert clerk.end_count == 0


async def test_run_that_holds_a_secret_is_not_parked(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    """Put down, it would have to ask for the secret again."""
    use(monkeypatch, Clerk(secret=True))
    monkeypatch.setattr(settings, "PARK_AFTER_SECONDS", 60)
    run, task = await scene.start()
    row = await scene.get_question()
    await resolution.answer_inquiry(row.pk, "sesame", decider(scene.ada))
    row = await scene.get_question()
    assert not run_executor._active_runs[run.pk].idle_tracker.is_idle
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    await wait_for_task(task)
    assert (await fresh(run)).state == "done"


@pytest.mark.usefixtures("short")
async def test_run_resumed_for_a_secret_is_not_parked_before_delivery(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """Whoever brings the secret looks less often than the run, which waits 10 ms, is parked."""
    monkeypatch.setattr(secret_channels, "ROW_POLL_SECONDS", 0.5)
    monkeypatch.setattr(secret_channels, "SECRET_TIMEOUT_SECONDS", 4.0)
    clerk = Clerk(secret=True)
    use(monkeypatch, clerk)
    run, task = await scene.start()
    await parked(run)
    await wait_for_task(task)
    row = await get_open_inquiry(scene)
    settled_row = await resolution.answer_inquiry(row.pk, "sesame", decider(scene.ada))
    assert settled_row.state == "redacted"
    assert (await fresh(run)).fence == 2, "it was woken once"
    await resolution.answer_inquiry((await scene.get_question()).pk, "true", decider(scene.ada))
    assert ((await wait_until_ended(run)).state, clerk.end_count) == ("done", 1)


@pytest.mark.usefixtures("short")
async def test_a_run_woken_for_a_secret_that_never_comes_is_parked(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """The process that had the secret ended before it could deliver it."""
    monkeypatch.setattr(secret_channels, "SECRET_TIMEOUT_SECONDS", 0.05)
    use(monkeypatch, Clerk(secret=True))
    run, task = await scene.start()
    await parked(run)
    await wait_for_task(task)
    row = await get_open_inquiry(scene)
    assert await run_in_db_thread(secret_waiters.mark_secret_sent, row)
    assert await run_in_db_thread(leases.requeue_parked, run.pk)
    await publisher.publish_run_changed(run.pk)

    async def parked_again() -> bool:
        return (await parked(run)).fence == 2

    await eventually(parked_again)
    assert (await scene.reload(row)).state == "open"
    assert await runs.stop_run(scene.conversation.pk, decider(scene.eve))


async def test_answer_before_parking_reaches_the_running_turn(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(settings, "PARK_AFTER_SECONDS", 60)
    use(monkeypatch, Clerk(secret=False))
    run, task = await scene.start()
    row = await scene.get_question()
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    await wait_for_task(task)
    current_run = await fresh(run)
    assert (current_run.state, current_run.fence) == ("done", 1)


@pytest.mark.usefixtures("short")
async def test_scripted_demo_continues_after_each_parking(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """The script asks one question after the other, and each waits longer than the hold."""
    providers.use_provider(monkeypatch)
    run, _ = await scene.start()
    await parked(run)
    await resolution.answer_inquiry((await get_open_inquiry(scene)).pk, "true", decider(scene.ada))
    for _ in range(3):
        await parked(run)
        await resolution.decline_inquiry((await get_open_inquiry(scene)).pk, decider(scene.ada))
    assert (await wait_until_ended(run)).state == "done"
    first = results(await scene.elements())[0]
    assert json.loads(first.kind.content)["answer"] is True


# permissions that are asked for again


async def begin_again(scene: Scene, run: Run, cause: str) -> None:
    """Let the calls begin again: a person restarts them, or the server stops and starts."""
    if cause == "restart":
        await runs.interrupt_run(scene.conversation.pk, decider(scene.ada), "restart")
        return
    await runs.release_runs()
    await scene.resume(run)


@pytest.mark.parametrize("cause", ["restart", "stop of the server"])
@pytest.mark.usefixtures("short")
async def test_a_call_skipped_after_it_began_again_does_not_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, cause: str
):
    clerk = Clerk(secret=False, is_slow=True)
    use(monkeypatch, clerk, ApprovalMode.ASK)
    run, _ = await scene.start()
    await approve(scene)
    await parked(run)
    await resolution.answer_inquiry((await get_open_inquiry(scene)).pk, "true", decider(scene.ada))
    await wait_until_working(clerk)
    await begin_again(scene, run, cause)
    await get_open_approval()
    await parked(run)
    await decide(scene, approvals.ApprovalVerdict(False, reason="Not twice."))
    assert (await wait_until_ended(run)).state == "done"
    assert clerk.end_count == 1, "it ran before, not since"
    (response,) = results(await scene.elements())
    assert response.kind.content == model_messages.describe_skip("Not twice.")
    approval_rows = await run_in_db_thread(lambda: list(Approval.objects.order_by("pk")))
    assert [row.was_applied for row in approval_rows] == [True, True]
