"""A stop, and a cancellation from outside, at every place where a turn can wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.agent.config import ApprovalMode, RequestConfig
from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.interrupts import Stop
from jpweb.agent.ports import (
    Answer,
    CompleteToolCall,
    PartialToolCall,
    Permitted,
    ReplyFinished,
    TextDelta,
)
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_outcome import Success
from jpweb.agent.turn import TurnEnd
from jpweb.stream.events import ChatResponse, ToolCallResponse
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
)
from tests.agent.doubles import (
    CONFIRM,
    QueueProvider,
    StubTool,
    ToolBench,
    TurnBench,
    make_asker,
    other_tasks,
    run_turn,
    wait_forever,
    wait_until,
)
from tests.builders import make_call


async def run_and_stop(bench, calls, ready) -> Any:
    """Run the calls, say stop once ready, and wait for the end."""
    task = asyncio.create_task(bench.run(calls))
    await wait_until(ready)
    bench.stop.interrupt(Stop())
    await task
    assert not other_tasks()


async def test_stop_withdraws_the_open_question_and_records_a_result():
    bench = ToolBench((make_asker(CONFIRM),), [wait_forever()])
    await run_and_stop(bench, [make_call("c1", "tool")], lambda: bench.prompter.questions)
    assert bench.prompter.withdrawn == [("c1.confirm.1", CancellationReason.USER)]
    assert bench.recorder.outcomes == [Cancelled(CancellationReason.USER)]
    assert bench.recorder.results == [("c1", model_messages.STOPPED, False)]


async def test_a_stop_withdraws_every_open_question():
    bench = ToolBench((make_asker(CONFIRM),), [wait_forever(), wait_forever()])
    calls = [make_call("a", "tool"), make_call("b", "tool")]
    await run_and_stop(bench, calls, lambda: len(bench.prompter.questions) == 2)
    assert sorted(bench.prompter.withdrawn) == [
        ("a.confirm.1", CancellationReason.USER),
        ("b.confirm.1", CancellationReason.USER),
    ]


async def test_stop_cancels_the_running_tool_and_keeps_earlier_results():
    start_event, cleaned = asyncio.Event(), []

    async def slow(arguments, answers) -> Any:
        start_event.set()
        try:
            return await wait_forever()
        finally:
            cleaned.append("slow")

    bench = ToolBench((StubTool("slow", slow), StubTool("fast", lambda *_: Success("result"))))
    await run_and_stop(bench, [make_call("a", "slow"), make_call("b", "fast")], start_event.is_set)
    assert bench.recorder.results == [("a", model_messages.STOPPED, False), ("b", "result", False)]
    assert cleaned == ["slow"]


async def test_stopped_call_notes_its_edited_arguments():
    asker = make_asker(CONFIRM)
    bench = ToolBench((asker,), [wait_forever()], changes={"tool": {"run": ApprovalMode.EDIT}})
    bench.prompter.decisions = [Permitted({"n": 2})]
    await run_and_stop(bench, [make_call("c1", "tool", n=1)], lambda: bench.prompter.questions)
    assert bench.recorder.results == [("c1", model_messages.STOPPED, False)]
    assert bench.recorder.notes(ToolCallResponse) == [{"arguments": {"n": 2}}]


async def test_call_stopped_at_its_result_approval_notes_edited_arguments():
    tool = StubTool("tool", lambda *_: Success("result"))
    bench = ToolBench(
        (tool,), changes={"tool": {"run": ApprovalMode.EDIT, "result": ApprovalMode.ASK}}
    )
    bench.prompter.decisions = [Permitted({"n": 2}), wait_forever()]
    calls = [make_call("c1", "tool", n=1)]
    await run_and_stop(bench, calls, lambda: len(bench.prompter.prompts) == 2)
    assert bench.recorder.notes(ToolCallResponse) == [{"arguments": {"n": 2}}]


async def test_answer_that_comes_with_a_stop_stays_and_reruns_no_tool():
    bench = ToolBench((make_asker(CONFIRM),))

    async def answer() -> Any:
        bench.stop.interrupt(Stop())
        return Answer(value=True)

    bench.replies.append(answer())
    await bench.run([make_call("c1", "tool")])
    assert bench.recorder.outcomes == [Answered(answer=True)]
    assert bench.prompter.withdrawn == []
    assert bench.tools[0].runs == [{}]
    assert bench.recorder.results == [("c1", model_messages.STOPPED, False)]


async def test_a_question_that_is_being_recorded_at_the_stop_is_closed_too(monkeypatch):
    bench = ToolBench((make_asker(CONFIRM),))
    record = bench.recorder.record

    async def record_and_stop(*events, **options) -> Any:
        bench.stop.interrupt(Stop())
        await record(*events, **options)

    monkeypatch.setattr(bench.recorder, "record", record_and_stop)
    await bench.run([make_call("c1", "tool")])
    assert bench.prompter.questions == []
    assert bench.prompter.withdrawn == [("c1.confirm.1", CancellationReason.USER)]
    assert [type(kind) for kind in bench.recorder.kinds] == [
        InquiryRequest,
        InquiryResponse,
        ToolCallResponse,
    ]


async def test_a_cancellation_from_outside_records_nothing_and_leaks_nothing():
    slow = StubTool("slow", lambda *_: wait_forever())
    bench = ToolBench((make_asker(CONFIRM), slow), [wait_forever()])
    task = asyncio.create_task(bench.run([make_call("a", "tool"), make_call("b", "slow")]))
    await bench.prompter.waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [type(kind) for kind in bench.recorder.kinds] == [InquiryRequest]
    assert bench.prompter.withdrawn == []
    assert not other_tasks()


async def turn_stopped(stage, ready) -> Any:
    task = asyncio.create_task(run_turn(stage.ports, "Go.", None, stage.stop, stage.setup))
    await wait_until(ready)
    stage.stop.interrupt(Stop())
    end = await task
    assert not other_tasks()
    return end


async def test_a_stop_while_text_comes_commits_the_text_so_far():
    provider = QueueProvider([[TextDelta("message", "Half a"), asyncio.Event()]])
    stage = TurnBench(provider)
    end = await turn_stopped(stage, lambda: stage.display.partials)
    assert end is TurnEnd.STOPPED
    assert stage.recorder.kinds[2:] == [ChatResponse("message", "Half a")]
    assert provider.closed_count == 1


async def test_a_stop_between_two_pieces_closes_the_stream(monkeypatch):
    stage = TurnBench(QueueProvider([[TextDelta("message", "a"), TextDelta("message", "b")]]))

    async def show_partial(variant, text) -> Any:
        stage.stop.interrupt(Stop())

    monkeypatch.setattr(stage.display, "show_partial", show_partial)
    assert await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup) is TurnEnd.STOPPED
    assert stage.recorder.kinds[2:] == [ChatResponse("message", "a")]
    assert stage.provider.closed_count == 1
    assert not other_tasks()


async def test_a_stop_after_a_call_was_announced_answers_the_call():
    steps = [CompleteToolCall("c1", "tool", {}), PartialToolCall("tool", "{"), asyncio.Event()]
    tool = make_asker(CONFIRM)
    stage = TurnBench(QueueProvider([steps]), (tool,))
    end = await turn_stopped(stage, lambda: stage.display.partials)
    assert end is TurnEnd.STOPPED
    assert stage.recorder.results == [("c1", model_messages.STOPPED, False)]
    assert tool.runs == []


async def test_a_stop_while_a_question_waits_ends_the_turn():
    provider = QueueProvider([[CompleteToolCall("c1", "tool", {}), ReplyFinished()]])
    stage = TurnBench(provider, (make_asker(CONFIRM),), [wait_forever()])
    assert await turn_stopped(stage, lambda: stage.prompter.questions) is TurnEnd.STOPPED
    assert stage.recorder.outcomes == [Cancelled(CancellationReason.USER)]
    assert stage.recorder.results == [("c1", model_messages.STOPPED, False)]
    assert len(provider.requests) == 1


async def test_a_stop_before_the_first_request_sends_none():
    stage = TurnBench(QueueProvider([[ReplyFinished()]]))
    stage.stop.interrupt(Stop())
    assert await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup) is TurnEnd.STOPPED
    assert [kind.TAG for kind in stage.recorder.kinds] == ["turn_start", "chat_request"]


async def test_a_reply_that_was_complete_when_the_stop_came_completes_the_turn(monkeypatch):
    stage = TurnBench(QueueProvider([[TextDelta("message", "Done."), ReplyFinished()]]))
    record = stage.recorder.record

    async def record_and_stop(*events, **options) -> Any:
        await record(*events, **options)
        if isinstance(events[0].kind, ChatResponse):
            stage.stop.interrupt(Stop())

    monkeypatch.setattr(stage.recorder, "record", record_and_stop)
    assert await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup) is TurnEnd.COMPLETE


@pytest.mark.parametrize("steps", [[], [TextDelta("message", "Half a")]])
async def test_a_cancellation_while_text_comes_records_nothing_more(steps):
    stage = TurnBench(QueueProvider([[*steps, asyncio.Event()]]))
    task = asyncio.create_task(run_turn(stage.ports, "Go.", None, stage.stop, stage.setup))
    await wait_until(lambda: stage.provider.requests and len(stage.display.partials) == len(steps))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [kind.TAG for kind in stage.recorder.kinds] == ["turn_start", "chat_request"]
    assert stage.provider.closed_count == 1
    assert not other_tasks()


async def test_a_failing_provider_fails_the_turn_after_the_text_so_far():
    stage = TurnBench(
        QueueProvider(
            [[TextDelta("message", "Half a"), ProviderFailed("Overloaded.", FailureKind.REFUSAL)]]
        )
    )
    with pytest.raises(ProviderFailed, match="Overloaded"):
        await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup)
    assert stage.recorder.kinds[2:] == [ChatResponse("message", "Half a")]


async def test_a_reply_without_an_end_is_a_failure_of_the_provider():
    stage = TurnBench(
        QueueProvider([[TextDelta("message", "Half a")]]), request=RequestConfig(max_retries=0)
    )
    with pytest.raises(ProviderFailed, match="ended before it was complete"):
        await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup)
    assert stage.recorder.kinds[2:] == [ChatResponse("message", "Half a")]
