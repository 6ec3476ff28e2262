"""Restart and respond, said to a turn wherever it is. Calls alone: ``calls/test_interrupts``."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.interrupts import Respond, Restart, Stop
from jpweb.agent.ports import Answer, CompleteToolCall, PartialToolCall, ReplyFinished, TextDelta
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_outcome import Success
from jpweb.agent.turn import TurnEnd
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from tests.agent.doubles import (
    CONFIRM,
    QueueProvider,
    StubTool,
    TurnBench,
    make_asker,
    other_tasks,
    run_turn,
    wait_forever,
    wait_until,
)

DONE = (TextDelta("message", "Done."), ReplyFinished())
SAID = Respond("Leave it.", "Alice")
TOLD = ChatRequest("Leave it.", author="Alice")
#: A complete call, and the beginning of the next one.
CALLED = (CompleteToolCall("c1", "tool", {}), PartialToolCall("tool", "{"))


async def interrupt_turn(stage, ready, *interrupts) -> Any:
    task = asyncio.create_task(run_turn(stage.ports, "Go.", None, stage.stop, stage.setup))
    await wait_until(ready)
    for interrupt in interrupts:
        stage.stop.interrupt(interrupt)
    end = await task
    assert not other_tasks()
    return end


def make_hanging_turn(*steps) -> Any:
    """Return a stage whose first reply hangs after these steps."""
    steps = steps or (TextDelta("message", "Half a"),)
    return TurnBench(QueueProvider([[*steps, asyncio.Event()], DONE]), (make_asker(),))


async def test_response_to_a_reply_follows_its_partial_text_in_the_turn():
    stage = make_hanging_turn()
    assert await interrupt_turn(stage, lambda: stage.display.partials, SAID) is TurnEnd.COMPLETE
    assert stage.recorder.kinds == [
        TurnStart(),
        ChatRequest("Go."),
        ChatResponse("message", "Half a"),
        TOLD,
        ChatResponse("message", "Done."),
    ]
    assert [e.kind for e in stage.provider.requests[1].parts.events] == stage.recorder.kinds[1:4]
    assert stage.provider.closed_count == 2


@pytest.mark.parametrize("interrupt", [Respond(), Restart()])
async def test_interrupt_without_text_continues_the_reply(interrupt):
    stage = make_hanging_turn()
    assert (
        await interrupt_turn(stage, lambda: stage.display.partials, interrupt) is TurnEnd.COMPLETE
    )
    assert stage.recorder.kinds[2:] == [
        ChatResponse("message", "Half a"),
        ChatResponse("message", "Done."),
    ]
    assert stage.stop.pending is None


async def test_response_to_a_reply_is_the_result_of_its_unrun_call():
    stage = make_hanging_turn(*CALLED)
    await interrupt_turn(stage, lambda: stage.display.partials, SAID)
    assert stage.recorder.results == [("c1", model_messages.describe_response("Leave it."), False)]
    assert stage.recorder.of(ChatRequest) == [ChatRequest("Go.")]
    assert len(stage.provider.requests) == 2


@pytest.mark.parametrize("interrupt", [Respond(), Restart()], ids=["respond", "restart"])
async def test_reply_interrupted_without_words_records_no_call(interrupt):
    stage = make_hanging_turn(*CALLED)
    assert (
        await interrupt_turn(stage, lambda: stage.display.partials, interrupt) is TurnEnd.COMPLETE
    )
    assert stage.recorder.of(ToolCallRequest) == []
    assert len(stage.provider.requests) == 2


@pytest.mark.parametrize(
    ("interrupts", "end"),
    [
        ([SAID, Stop()], TurnEnd.STOPPED),
        ([Stop(), SAID], TurnEnd.STOPPED),
        ([Stop(), Restart()], TurnEnd.STOPPED),
        ([Restart(), SAID], TurnEnd.COMPLETE),
        ([SAID, Restart()], TurnEnd.COMPLETE),
    ],
)
async def test_a_stop_beats_a_response_and_a_response_a_restart(interrupts, end):
    stage = make_hanging_turn()
    assert await interrupt_turn(stage, lambda: stage.display.partials, *interrupts) is end
    assert (TOLD in stage.recorder.kinds) == (end is TurnEnd.COMPLETE)


async def test_response_to_running_calls_reaches_the_model_once():
    provider = QueueProvider([[CompleteToolCall("c1", "tool", {}), ReplyFinished()], DONE])
    stage = TurnBench(provider, (make_asker(CONFIRM),), [wait_forever()])
    assert await interrupt_turn(stage, lambda: stage.prompter.questions, SAID) is TurnEnd.COMPLETE
    assert stage.recorder.results == [("c1", model_messages.describe_response("Leave it."), False)]
    assert stage.recorder.of(ChatRequest) == [ChatRequest("Go.")]


async def test_response_after_all_results_reaches_the_model():
    def run(arguments, answers) -> Any:
        stage.stop.interrupt(SAID)
        return Success("result")

    provider = QueueProvider([[CompleteToolCall("c1", "tool", {}), ReplyFinished()], DONE])
    stage = TurnBench(provider, (StubTool("tool", run),))
    assert await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup) is TurnEnd.COMPLETE
    assert stage.recorder.results == [("c1", "result", False)]
    assert stage.recorder.kinds[-2:] == [TOLD, ChatResponse("message", "Done.")]


def interrupt_after(stage, kind, *interrupts) -> None:
    """Say that each time an event of the kind has just been recorded, once for each."""
    queue, record = list(interrupts), stage.recorder.record

    async def record_and_say(*events, **options) -> None:
        await record(*events, **options)
        if isinstance(events[0].kind, kind) and queue:
            stage.stop.interrupt(queue.pop(0))

    stage.recorder.record = record_and_say


async def test_response_at_the_end_of_a_reply_starts_another_cycle():
    stage = TurnBench(QueueProvider([DONE, DONE]))
    interrupt_after(stage, ChatResponse, SAID)
    assert await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup) is TurnEnd.COMPLETE
    assert stage.recorder.kinds[2:] == [
        ChatResponse("message", "Done."),
        TOLD,
        ChatResponse("message", "Done."),
    ]


@pytest.mark.parametrize("interrupt", [Respond(), Restart(), Stop()])
async def test_interrupt_without_text_after_a_complete_reply_ends_the_turn(interrupt):
    stage = TurnBench(QueueProvider([DONE]))
    interrupt_after(stage, ChatResponse, interrupt)
    assert await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup) is TurnEnd.COMPLETE


async def test_a_turn_that_is_restarted_without_end_is_ended_by_its_limit():
    replies = [[TextDelta("message", f"{n}"), TextDelta("message", "!")] for n in range(3)]
    stage = TurnBench(QueueProvider(replies), cycle_limit=3)
    display_partial = stage.display.show_partial

    async def show_partial(variant, text) -> None:
        await display_partial(variant, text)
        stage.stop.interrupt(Restart())

    stage.display.show_partial = show_partial  # type: ignore[method-assign]  # a double
    end = await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup)
    assert end is TurnEnd.CYCLE_LIMIT


async def test_two_responses_reach_the_model_once_each():
    replies = [[CompleteToolCall("c1", "tool", {}), ReplyFinished()], DONE]
    stage = TurnBench(QueueProvider(replies), (make_asker(CONFIRM),), [wait_forever()])
    interrupt_after(stage, ToolCallResponse, Respond("And this.", "Eve"))
    assert await interrupt_turn(stage, lambda: stage.prompter.questions, SAID) is TurnEnd.COMPLETE
    assert stage.recorder.results == [("c1", model_messages.describe_response("Leave it."), False)]
    assert stage.recorder.of(ChatRequest)[1:] == [ChatRequest("And this.", author="Eve")]


async def test_interrupts_are_handled_with_the_event_that_carries_their_text():
    replies = [[CompleteToolCall("c1", "tool", {}), ReplyFinished()], DONE]
    stage = TurnBench(QueueProvider(replies), (make_asker(CONFIRM),), [wait_forever()])
    interrupt_after(stage, ToolCallResponse, Respond("And this.", "Eve", (3,)))
    first, second = Respond("Leave it.", "Alice", (1,)), Respond("Now.", "Bob", (2,))
    await interrupt_turn(stage, lambda: stage.prompter.questions, first, second)
    assert stage.recorder.handled_interrupts == [
        (1, ToolCallResponse),
        (2, ToolCallResponse),
        (3, ChatRequest),
    ]


@pytest.mark.parametrize("interrupt", [Respond(interrupt_ids=(1,)), Restart((1,))])
async def test_interrupt_of_a_reply_is_handled_though_no_event_carries_it(interrupt):
    stage = make_hanging_turn()
    await interrupt_turn(stage, lambda: stage.display.partials, interrupt)
    assert stage.recorder.handled_interrupts == [(1, None)]


async def test_interrupt_without_text_is_handled_with_the_responses_of_its_calls():
    replies = [[CompleteToolCall("c1", "tool", {}), ReplyFinished()], DONE]
    stage = TurnBench(QueueProvider(replies), (make_asker(CONFIRM),), [wait_forever()])
    await interrupt_turn(
        stage, lambda: stage.prompter.questions, Restart((1,)), Respond(interrupt_ids=(2,))
    )
    assert stage.recorder.handled_interrupts == [(1, ToolCallResponse), (2, ToolCallResponse)]


async def test_restart_is_handled_before_its_calls_begin_again():
    replies = [[CompleteToolCall("c1", "tool", {}), ReplyFinished()], DONE]
    answers = [wait_forever(), Answer(value=True)]
    stage = TurnBench(QueueProvider(replies), (make_asker(CONFIRM),), answers)
    await interrupt_turn(stage, lambda: stage.prompter.questions, Restart((1,)), Restart((2,)))
    assert stage.recorder.handled_interrupts == [(1, None), (2, None)]
    assert stage.recorder.results == [("c1", "done", False)]


async def test_response_that_a_stop_overtakes_is_handled_by_no_event():
    replies = [[CompleteToolCall("c1", "tool", {}), ReplyFinished()], DONE]
    stage = TurnBench(QueueProvider(replies), (make_asker(CONFIRM),), [wait_forever()])
    response = Respond("no", "Alice", (1,))
    await interrupt_turn(stage, lambda: stage.prompter.questions, response, Stop())
    assert stage.recorder.handled_interrupts == []


async def test_response_to_a_failing_reply_is_recorded():
    failing = ProviderFailed("No.", FailureKind.WRONG_KEY)
    stage = TurnBench(QueueProvider([[TextDelta("message", "Half a"), asyncio.Event(), failing]]))

    class Late(QueueProvider):
        async def stream(self, request) -> Any:
            yield TextDelta("message", "Half a")
            stage.stop.interrupt(SAID)
            raise failing

    stage.ports = replace(stage.ports, provider=Late([]))
    with pytest.raises(ProviderFailed):
        await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup)
    assert stage.recorder.kinds[2:] == [ChatResponse("message", "Half a"), TOLD]


@pytest.mark.parametrize("choice", ["required", "tool"])
async def test_a_choice_of_tool_holds_until_one_is_called(choice):
    replies = [
        [TextDelta("message", "Hm."), asyncio.Event()],
        [CompleteToolCall("c1", "tool", {}), ReplyFinished()],
    ]
    stage = TurnBench(
        QueueProvider([*replies, DONE]), (StubTool("tool", lambda *_: Success("ok")),)
    )
    stage.setup = replace(stage.setup, tool_choice=choice)
    assert await interrupt_turn(stage, lambda: stage.display.partials, SAID) is TurnEnd.COMPLETE
    assert [r.tool_choice for r in stage.provider.requests] == [choice, choice, "auto"]


async def test_a_formatter_holds_up_no_stop():
    start_event = asyncio.Event()

    async def slow(_arguments) -> Any:
        start_event.set()
        return await wait_forever()

    replies = [[CompleteToolCall("c1", "tool", {}), ReplyFinished()]]
    stage = TurnBench(QueueProvider(replies), (make_asker(),))
    stage.setup = replace(stage.setup, formatters={"tool": slow})
    assert await interrupt_turn(stage, start_event.is_set, Stop()) is TurnEnd.STOPPED
    assert stage.recorder.results == [("c1", model_messages.STOPPED, False)]
