from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.tools.demo_vault import DemoVault
from jpweb.runtime import recorder, runs
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import resolution
from jpweb.store import conversations, journal
from jpweb.store import runs as stored
from jpweb.store.errors import AlreadyRunning, AlreadySettled, ReadOnlyConversation
from jpweb.store.models import Conversation, Inquiry, Run
from jpweb.stream.events import ChatRequest, ChatResponse, ToolCallResponse
from jpweb.stream.inquiry import CancellationReason
from jpweb.stream.sanitize import INTERRUPTED
from tests.canary.spellings import has_secret
from tests.runtime import providers
from tests.runtime.playing import Scene, subscribe, wait_for_task
from tests.store import making
from tests.store.making import decider

CANARY = "canary-5b1e"
ANSWERS = {"boolean": "true", "select": "not at all", "text": "fräulein.md", "secret": CANARY}


async def reload_run(run: Run) -> Run:
    return await run_in_db_thread(Run.objects.get, pk=run.pk)


async def rows(scene: Scene) -> list[Inquiry]:
    queryset = Inquiry.objects.filter(conversation=scene.conversation).order_by("position")
    return await run_in_db_thread(list, queryset)


def results(elements: Any) -> list[ToolCallResponse]:
    return [e.kind for e in elements if isinstance(e.kind, ToolCallResponse)]


async def test_the_script_asks_and_the_desk_answers(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    providers.use_provider(monkeypatch)
    run, task = await scene.start("Let us begin")
    for kind, answer_text in ANSWERS.items():
        row = await scene.get_question()
        assert row.answer_type == kind
        await resolution.answer_inquiry(row.pk, answer_text, decider(scene.eve))
    await wait_for_task(task)
    elements = await scene.elements()
    assert (await reload_run(run)).state == "done"
    assert [row.state for row in await rows(scene)] == ["answered"] * 3 + ["redacted"]
    assert [row.answer for row in await rows(scene)] == [True, "not at all", "fräulein.md", None]
    assert {row.decider_name for row in await rows(scene)} == {"Eve"}
    assert [row.inquiry_id.count(".") for row in await rows(scene)] == [2] * 4
    reply = elements[-1].kind
    assert isinstance(reply, ChatResponse)
    assert "`true` (boolean)" in reply.content
    assert "fräulein.md" in reply.content
    assert elements[1].kind == ChatRequest("Let us begin", author="Ada")
    assert not has_secret(await scene.texts(), CANARY)
    assert CANARY not in "".join(str(record.__dict__) for record in caplog.records)


async def test_run_with_all_questions_declined_is_done(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch)
    run, task = await scene.start()
    for _ in ANSWERS:
        await resolution.decline_inquiry((await scene.get_question()).pk, decider(scene.eve))
    await wait_for_task(task)
    assert (await reload_run(run)).state == "done"
    assert {(row.state, row.reason) for row in await rows(scene)} == {("cancelled", "user")}
    assert {result.content for result in results(await scene.elements())} == {
        "Tool input cancelled by user."
    }


async def test_a_stop_closes_the_question_in_the_name_of_who_stopped(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch)
    run, task = await scene.start()
    row = await scene.get_question()
    assert await runs.stop_run(scene.conversation.pk, decider(scene.eve)) is True
    await wait_for_task(task)
    row = await scene.reload(row)
    assert (row.state, row.reason, row.decider_id) == ("cancelled", "user", scene.eve.pk)
    assert (await reload_run(run)).state == "stopped"
    assert len(results(await scene.elements())) == 1
    assert await runs.stop_run(scene.conversation.pk, decider(scene.eve)) is False


async def test_a_stop_touches_no_other_conversation(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    provider = providers.Hangs()
    providers.use_provider(monkeypatch, provider)
    run, task = await scene.start()
    await provider.said_event.wait()
    assert await runs.stop_run(scene.conversation.pk + 1, decider(scene.eve)) is False
    assert not task.done()
    assert await runs.stop_run(scene.conversation.pk, decider(scene.eve))
    await wait_for_task(task)
    assert (await reload_run(run)).state == "stopped"
    reply = (await scene.elements())[-1].kind
    assert isinstance(reply, ChatResponse)
    assert reply.content.strip() == "Half a"


async def test_answer_before_the_stop_is_kept(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    providers.use_provider(monkeypatch)
    _, task = await scene.start()
    row = await scene.get_question()
    await run_in_db_thread(making.settle, row, making.ANSWER, decider(scene.ada))
    assert await runs.stop_run(scene.conversation.pk, decider(scene.eve))
    await wait_for_task(task)
    row = await scene.reload(row)
    assert (row.state, row.decider_name) == ("answered", "Ada")


async def test_a_provider_that_fails_is_shown(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    providers.use_provider(monkeypatch, providers.Says(providers.fail_run))
    run, task = await scene.start()
    await wait_for_task(task)
    row = await reload_run(run)
    assert (row.state, row.problem) == ("failed", "The vendor says no.")
    assert row.ended_at is not None
    assert any(e.tag == "chat_response" for e in await scene.elements()), "what came is kept"


async def test_unexpected_exception_fails_the_run_and_is_logged(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def surprise() -> None:
        raise ZeroDivisionError(CANARY)

    providers.use_provider(monkeypatch, providers.Says(surprise))
    run, task = await scene.start()
    await wait_for_task(task)
    row = await reload_run(run)
    assert (row.state, row.problem) == (
        "failed",
        "Internal error in jpweb: ZeroDivisionError. See the server log.",
    )
    assert [
        r.getMessage() for r in caplog.records if r.name == "jpweb.runtime.execution.turn_runner"
    ] == [f"Run {run.pk} failed"]


async def test_failed_tool_call_closes_its_open_question(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """Here it is the desk that breaks, while the question is open."""

    async def breaks(*_args: Any) -> None:
        raise OSError("no memory")

    monkeypatch.setattr(resolution, "wait_for_secret", breaks)
    providers.use_provider(monkeypatch, providers.Asks())
    run, task = await scene.start()
    await wait_for_task(task)
    (row,) = await rows(scene)
    assert (row.state, row.reason, row.decided_by) == ("cancelled", "lost", "system")
    assert (await reload_run(run)).state == "failed"
    (result,) = results(await scene.elements())
    assert (result.content, result.is_error) == (INTERRUPTED, True)


async def test_a_tool_that_raises_fails_the_run_and_says_nothing_of_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    async def breaks(*_args: Any) -> None:
        raise ValueError(CANARY)

    monkeypatch.setattr(DemoVault, "execute", breaks)
    providers.use_provider(monkeypatch, providers.Asks())
    run, task = await scene.start()
    await wait_for_task(task)
    assert (await reload_run(run)).state == "failed"
    (result,) = results(await scene.elements())
    assert result.is_error
    assert not has_secret(await scene.texts(), CANARY)


async def test_a_turn_that_never_ends_is_ended(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    providers.use_provider(monkeypatch, providers.Asks("no_such_tool", forever=True))
    run, task = await scene.start()
    await wait_for_task(task)
    row = await reload_run(run)
    assert row.state == "failed"
    assert "too many rounds" in row.problem


async def test_start_turn_during_a_turn_is_refused(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    providers.use_provider(monkeypatch, providers.Hangs())
    _, task = await scene.start()
    with pytest.raises(AlreadyRunning):
        await runs.start_turn(scene.conversation, scene.eve, "Me too")
    await runs.stop_run(scene.conversation.pk, decider(scene.ada))
    await wait_for_task(task)
    providers.use_provider(monkeypatch, providers.Says())
    _, task = await scene.start("Now")
    await wait_for_task(task)
    kinds = [element.kind for element in await scene.elements()]
    requests = [kind.content for kind in kinds if isinstance(kind, ChatRequest)]
    assert requests == ["Begin", "Now"]


async def test_a_mirrored_conversation_is_not_run(scene: Scene):
    await run_in_db_thread(
        Conversation.objects.filter(pk=scene.conversation.pk).update, origin="mirrored"
    )
    with pytest.raises(ReadOnlyConversation):
        await runs.start_turn(scene.conversation, scene.ada, "Hello")
    assert await run_in_db_thread(Run.objects.count) == 0


async def test_end_of_a_run_is_published_and_clears_partial_text(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    async with (
        subscribe(publisher.make_conversation_topic(scene.conversation.pk)) as reading,
        subscribe(publisher.make_workspace_topic(scene.workspace.pk)) as workspace_signals,
    ):
        _, task = await scene.start()
        await wait_for_task(task)
        signals = reading.take_all()
        assert signals[-2:] == [
            {"kind": "partial", "variant": "message", "text": ""},
            {"kind": "conversation"},
        ]
        assert {"kind": "questions"} in workspace_signals.take_all()


async def test_partial_tool_call_is_not_published_after_the_end_of_a_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(recorder, "DISPLAY_INTERVAL_SECONDS", 0.5)  # longer than the end takes
    providers.use_provider(monkeypatch, providers.BreaksOff())
    async with subscribe(publisher.make_conversation_topic(scene.conversation.pk)) as reading:
        _, task = await scene.start()
        await wait_for_task(task)
        assert reading.take_all()[-1] == {"kind": "conversation"}
        await recorder._display_tasks.wait_for_all()
        assert reading.take_all() == []


async def test_answer_during_the_closing_of_a_failed_run_is_kept(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """The look at what is open and the record of its end are one step."""
    row = await scene.question()
    run = await run_in_db_thread(Run.objects.get, conversation=scene.conversation)
    outcomes = await asyncio.gather(
        run_in_db_thread(stored.close_open, run, CancellationReason.LOST),
        resolution.answer_inquiry(row.pk, "true", decider(scene.ada)),
        return_exceptions=True,
    )
    row = await scene.reload(row)
    assert row.state in ("answered", "cancelled")
    assert outcomes[0] is None, "closing never fails"
    assert isinstance(outcomes[1], AlreadySettled) is (row.state == "cancelled")


async def test_the_title_and_the_text_are_kept_as_said(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    _, task = await scene.start("NUL \x00 and <b>")
    await wait_for_task(task)
    elements = await run_in_db_thread(journal.read_elements, scene.conversation.pk)
    assert elements[1].kind == ChatRequest("NUL \x00 and <b>", author="Ada")
    assert (
        await run_in_db_thread(conversations.get_conversation, scene.conversation.pk)
    ).turns == 1


async def test_provider_error_with_invalid_characters_is_stored_replaced(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    def fail() -> None:
        raise ProviderFailed("half a pair: \ud800, and a NUL: \0", FailureKind.REFUSAL)

    providers.use_provider(monkeypatch, providers.Says(fail))
    run, task = await scene.start()
    await wait_for_task(task)
    assert (await reload_run(run)).problem == "half a pair: \ufffd, and a NUL: \ufffd"


async def test_run_whose_end_cannot_be_recorded_does_not_block_the_next(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    providers.use_provider(monkeypatch, providers.Says(providers.fail_run))

    def broken(*_: object) -> None:
        raise ZeroDivisionError(CANARY)

    monkeypatch.setattr(stored, "close_open", broken)
    run, task = await scene.start()
    with caplog.at_level(logging.ERROR):
        await wait_for_task(task)
    row = await reload_run(run)
    assert (row.state, "saving the end of the turn" in row.problem) == ("failed", True)
    assert "could not be recorded" in caplog.text


async def test_run_whose_open_question_cannot_be_closed_fails_nonetheless(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """Without a state, its lease would expire, and each next holder would fail alike."""

    async def break_off(*_: object) -> None:
        raise OSError("no memory")

    def broken(*_: object) -> None:
        raise ZeroDivisionError(CANARY)

    monkeypatch.setattr(resolution, "wait_for_secret", break_off)
    monkeypatch.setattr(stored, "close_open", broken)
    providers.use_provider(monkeypatch, providers.Asks())
    run, task = await scene.start()
    await wait_for_task(task)
    row = await reload_run(run)
    assert (row.state, row.holder) == ("failed", "")
    assert "its questions were not closed" in caplog.text
