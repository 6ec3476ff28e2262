"""What tells the pages: the recorder and the display; and the settings behind a run."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from pytest_django import Settings

from jpweb.agent.ports import Answer, Declined, QuestionPrompt
from jpweb.agent.tool_outcome import Question
from jpweb.runtime import process_identity, recorder
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import resolution
from jpweb.runtime.inquiries.prompter import BrowserPrompter
from jpweb.runtime.recorder import JournalRecorder, SocketDisplay
from jpweb.store import inquiries
from jpweb.store.choices import Act
from jpweb.store.inquiries import Decider
from jpweb.store.models import LedgerEntry, Run
from jpweb.stream.answer_type import Boolean, Secret
from jpweb.stream.events import ChatResponse
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, InquirySource, Redacted
from tests.builders import make_inquiry
from tests.runtime.playing import Scene, start_waiting, subscribe, wait_for_task
from tests.store import making


async def recorded(scene: Scene) -> JournalRecorder:
    run = await run_in_db_thread(making.start_run, scene.talk, scene.ada)
    return JournalRecorder(run, scene.home.pk, SocketDisplay(scene.talk.pk))


async def test_what_is_recorded_is_read_back_and_told(scene: Scene):
    recorder = await recorded(scene)
    async with (
        subscribe(publisher.make_conversation_topic(scene.talk.pk)) as reading,
        subscribe(publisher.make_workspace_topic(scene.home.pk)) as workspace_signals,
    ):
        await recorder.record(making.event(ChatResponse("message", "A word")))
        assert await reading() == {"kind": "conversation"}
        assert workspace_signals.take_all() == [], "no question came or went"
        await recorder.record(making.event(make_inquiry("call_1.q.1")))
        assert await reading() == {"kind": "conversation"}
        assert await workspace_signals() == {"kind": "questions"}
    assert await recorder.elements() == await scene.elements()
    row = await run_in_db_thread(inquiries.find_by_inquiry_id, scene.talk.pk, "call_1.q.1")
    assert row.run_id == recorder.run.pk


async def test_what_could_not_be_recorded_is_not_told(scene: Scene):
    recorder = await recorded(scene)
    await run_in_db_thread(Run.objects.all().delete)
    await run_in_db_thread(scene.talk.delete)
    async with subscribe(
        publisher.make_conversation_topic(recorder.run.conversation_id)
    ) as reading:
        with pytest.raises(Exception, match="was deleted"):
            await recorder.record(making.event(ChatResponse("message", "A word")))
        assert reading.take_all() == []


async def test_a_glance_is_had_ten_times_a_second_and_the_end_always(
    monkeypatch: pytest.MonkeyPatch,
):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(recorder, "time", SimpleNamespace(monotonic=lambda: clock.now))
    display = SocketDisplay(7)
    async with subscribe(publisher.make_conversation_topic(7)) as reading:
        for clock.now, text in ((100.0, "a"), (100.05, "ab"), (100.11, "abc"), (100.12, "")):
            await display.partial("message", text)
        signals = reading.take_all()
    assert [signal["text"] for signal in signals] == ["a", "abc", ""]


async def test_the_newest_text_is_had_also_where_none_follows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recorder, "time", SimpleNamespace(monotonic=lambda: 100.0))
    display = SocketDisplay(7)
    async with subscribe(publisher.make_conversation_topic(7)) as reading:
        for text in ("a", "ab", "abc"):
            await display.partial("message", text)
        assert [(await reading())["text"] for _ in range(2)] == ["a", "abc"]
        assert reading.take_all() == []


async def test_a_text_that_was_recorded_meanwhile_is_not_told(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(recorder, "time", SimpleNamespace(monotonic=lambda: 100.0))
    journal_recorder = await recorded(scene)
    async with subscribe(publisher.make_conversation_topic(scene.talk.pk)) as reading:
        for text in ("A", "A word"):
            await journal_recorder.display.partial("message", text)
        await journal_recorder.record(making.event(ChatResponse("message", "A word")))
        await recorder._display_tasks.wait_for_all()
        assert [signal["kind"] for signal in reading.take_all()] == ["partial", "conversation"]


def make_prompt(inquiry_id: str) -> QuestionPrompt:
    return QuestionPrompt(
        inquiry_id, Question("q", "Go on?", Boolean()), InquirySource.for_tool("t"), "t", None
    )


async def test_the_prompter_gives_what_the_desk_got(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resolution, "ROW_POLL_SECONDS", 0.01)
    row = await scene.question()
    prompter = BrowserPrompter(scene.talk.pk, scene.home.pk, lambda: Decider("system"))
    for outcome, reply in (
        (Answered(False), Answer(False)),
        (Cancelled(CancellationReason.USER), Declined(CancellationReason.USER)),
        (Cancelled(CancellationReason.LOST), Declined(CancellationReason.LOST)),
    ):
        row = await scene.question()
        call = await start_waiting(row, lambda row: prompter.ask(make_prompt(row.inquiry_id)))
        await run_in_db_thread(making.settle, row, outcome)
        assert await wait_for_task(call) == reply


async def test_a_question_is_withdrawn_once(scene: Scene):
    row = await scene.question()
    by = making.decider(scene.eve)
    prompter = BrowserPrompter(scene.talk.pk, scene.home.pk, lambda: by)
    await prompter.withdraw(make_prompt(row.inquiry_id), CancellationReason.USER)
    row = await scene.reload(row)
    assert (row.state, row.reason, row.decider_name) == ("cancelled", "user", "Eve")
    length = len(await scene.elements())
    await prompter.withdraw(make_prompt(row.inquiry_id), CancellationReason.LOST)
    assert len(await scene.elements()) == length
    assert (await scene.reload(row)).reason == "user"


async def test_question_that_nobody_interrupted_is_closed_by_the_system(scene: Scene):
    row = await scene.question()
    earlier_interrupter = making.decider(scene.eve)
    prompter = BrowserPrompter(scene.talk.pk, scene.home.pk, lambda: earlier_interrupter)
    await prompter.withdraw(make_prompt(row.inquiry_id), CancellationReason.LOST)
    row = await scene.reload(row)
    assert (row.reason, row.decided_by, row.decider_name) == ("lost", "system", "")
    (event,) = (await scene.elements())[-1].events
    assert event.note == {"by": {"kind": "system"}, "withdrawn": True}
    entry = await run_in_db_thread(
        LedgerEntry.objects.get, act=Act.INQUIRY_CANCELLED, subject=f"inquiry:{row.pk}"
    )
    assert entry.person_id is None


async def test_secret_that_went_to_an_ended_call_is_lost_and_not_declined(scene: Scene):
    row = await scene.question(Secret())
    await run_in_db_thread(making.settle, row, Redacted())
    prompter = BrowserPrompter(scene.talk.pk, scene.home.pk, lambda: Decider("system"))
    prompt = replace(
        make_prompt(row.inquiry_id), question=Question("q", "What is the word?", Secret())
    )
    reply = await wait_for_task(asyncio.create_task(prompter.ask(prompt)))
    assert reply == Declined(CancellationReason.LOST)


def test_a_provider_that_nobody_wrote_is_told_at_the_start(settings: Settings):
    call_command("check")
    settings.PROVIDER = "gpt-17"
    with pytest.raises(SystemCheckError, match="which is no provider"):
        call_command("check")


def test_a_process_is_named_for_its_installation(settings: Settings):
    first = process_identity.get_process_name()
    assert process_identity.get_process_name() == first
    settings.DATA_DIR = "/somewhere/" + "x" * 200
    assert process_identity.get_process_name() != first
    assert process_identity.get_process_name().startswith(process_identity.get_installation_name())
    assert len(process_identity.get_process_name()) <= 150
