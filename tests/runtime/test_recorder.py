"""Recorder and display: what they append, and what they publish of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from jpweb.runtime import recorder
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.recorder import JournalRecorder, SocketDisplay
from jpweb.store import inquiries
from jpweb.store.models import Run
from jpweb.stream.events import ChatResponse
from jpweb.stream.inquiry import Answered, InquiryResponse
from tests.builders import make_inquiry
from tests.runtime.playing import Scene, subscribe
from tests.store import making


async def recorded(scene: Scene) -> JournalRecorder:
    run = await run_in_db_thread(making.start_run, scene.conversation, scene.ada)
    return JournalRecorder(run, scene.workspace.pk, SocketDisplay(scene.conversation.pk))


async def test_recorded_event_is_stored_and_published(scene: Scene):
    recorder = await recorded(scene)
    async with (
        subscribe(publisher.make_conversation_topic(scene.conversation.pk)) as reading,
        subscribe(publisher.make_workspace_topic(scene.workspace.pk)) as workspace_signals,
    ):
        await recorder.record(making.event(ChatResponse("message", "A word")))
        assert await reading() == {"kind": "conversation"}
        assert workspace_signals.take_all() == [], "no question came or went"
        await recorder.record(making.event(make_inquiry("call_1.q.1")))
        assert await reading() == {"kind": "conversation"}
        assert await workspace_signals() == {"kind": "questions"}
    assert await recorder.load_elements() == await scene.elements()
    row = await run_in_db_thread(inquiries.find_by_inquiry_id, scene.conversation.pk, "call_1.q.1")
    assert row.run_id == recorder.run.pk


async def test_event_that_could_not_be_recorded_is_not_published(scene: Scene):
    recorder = await recorded(scene)
    await run_in_db_thread(Run.objects.all().delete)
    await run_in_db_thread(scene.conversation.delete)
    async with subscribe(
        publisher.make_conversation_topic(recorder.run.conversation_id)
    ) as reading:
        with pytest.raises(Exception, match="was deleted"):
            await recorder.record(making.event(ChatResponse("message", "A word")))
        assert reading.take_all() == []


async def test_partial_text_is_sent_ten_times_a_second_and_at_its_end(
    monkeypatch: pytest.MonkeyPatch,
):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(recorder, "time", SimpleNamespace(monotonic=lambda: clock.now))
    display = SocketDisplay(7)
    async with subscribe(publisher.make_conversation_topic(7)) as reading:
        for clock.now, text in ((100.0, "a"), (100.05, "ab"), (100.11, "abc"), (100.12, "")):
            await display.show_partial("message", text)
        signals = reading.take_all()
    assert [signal["text"] for signal in signals] == ["a", "abc", ""]


async def test_newest_partial_text_is_sent_when_no_other_follows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recorder, "time", SimpleNamespace(monotonic=lambda: 100.0))
    display = SocketDisplay(7)
    async with subscribe(publisher.make_conversation_topic(7)) as reading:
        for text in ("a", "ab", "abc"):
            await display.show_partial("message", text)
        assert [(await reading())["text"] for _ in range(2)] == ["a", "abc"]
        assert reading.take_all() == []


async def test_partial_text_recorded_meanwhile_is_not_published(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(recorder, "time", SimpleNamespace(monotonic=lambda: 100.0))
    journal_recorder = await recorded(scene)
    async with subscribe(publisher.make_conversation_topic(scene.conversation.pk)) as reading:
        for text in ("A", "A word"):
            await journal_recorder.display.show_partial("message", text)
        await journal_recorder.record(making.event(ChatResponse("message", "A word")))
        await recorder._display_tasks.wait_for_all()
        assert [signal["kind"] for signal in reading.take_all()] == ["partial", "conversation"]


async def test_partial_text_has_the_length_of_the_journal_that_it_follows(scene: Scene):
    journal_recorder = await recorded(scene)
    display = journal_recorder.display
    async with subscribe(publisher.make_conversation_topic(scene.conversation.pk)) as reading:
        length = len(await journal_recorder.load_elements())
        await display.show_partial("retry", "1 1 3 busy")
        await journal_recorder.record(making.event(ChatResponse("reasoning", "Hm")))
        await display.show_partial("retry", "1 2 3 busy")
        await display.show_partial("retry", "")
        signals = [signal for signal in reading.take_all() if signal["kind"] == "partial"]
    assert [signal.get("entry_count") for signal in signals] == [length, length + 1, None]


@pytest.mark.parametrize("is_settled", [True, False])
async def test_record_keeps_the_row_of_a_question_until_it_is_settled(
    scene: Scene, is_settled: bool
):
    run = await run_in_db_thread(making.start_run, scene.conversation)
    recorder = JournalRecorder(
        run, scene.conversation.workspace_id, SocketDisplay(scene.conversation.pk)
    )
    await recorder.record(making.event(make_inquiry("c.go_on.1", "Go on?")))
    assert list(recorder.opened_rows) == ["c.go_on.1"]
    if is_settled:
        await recorder.record(making.event(InquiryResponse("c.go_on.1", Answered(True))))
    assert bool(recorder.opened_rows) is not is_settled
