"""A provider that fails: when the same is asked again, and after what pause."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.config import RequestConfig
from jpweb.agent.errors import TRANSIENT_FAILURES, FailureKind, ProviderFailed
from jpweb.agent.interrupts import Respond, Restart, Stop
from jpweb.agent.ports import (
    CompleteToolCall,
    PartialToolCall,
    ReplyFinished,
    ReplyMetadata,
    StructuredReply,
    TextDelta,
)
from jpweb.agent.turn import TurnEnd, TurnPorts
from jpweb.stream.events import ChatRequest, ChatResponse
from tests.agent.doubles import (
    QueueProvider,
    TurnBench,
    make_asker,
    other_tasks,
    run_turn,
    wait_forever,
    wait_until,
)

DONE = (TextDelta("message", "Done."), ReplyFinished())


def make_failing_reply(kind=FailureKind.RATE_LIMIT, after=None) -> Any:
    return ProviderFailed("Overloaded.", kind, after)


async def run(stage) -> Any:
    return await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup)


async def test_retry_pause_is_shown_with_the_failure():
    failing = [[make_failing_reply(after=12.4)], [make_failing_reply()]]
    stage = TurnBench(QueueProvider([*failing, DONE]))
    await run(stage)
    retries = [text for variant, text in stage.display.partials if variant == "retry"]
    assert retries == ["12 1 5 Overloaded.", "", "2 2 5 Overloaded.", ""]


@pytest.mark.parametrize("kind", FailureKind)
@pytest.mark.parametrize("before", [[], [PartialToolCall("tool", "{")], [TextDelta("message", "")]])
async def test_transient_failure_before_any_text_is_retried(kind, before):
    stage = TurnBench(QueueProvider([[*before, make_failing_reply(kind)], DONE]))
    if kind in TRANSIENT_FAILURES:
        assert await run(stage) is TurnEnd.COMPLETE
        assert stage.pauses == [1.0]
        first, second = stage.provider.requests
        assert first == second
    else:
        with pytest.raises(ProviderFailed, match="Overloaded"):
            await run(stage)
        assert stage.pauses == []
    assert stage.provider.closed_count == len(stage.provider.requests)


@pytest.mark.parametrize(
    ("come", "kept"),
    [
        (TextDelta("message", "Half a"), [ChatResponse("message", "Half a")]),
        (TextDelta("reasoning", "Hm."), [ChatResponse("reasoning", "Hm.")]),
        (ReplyMetadata("reasoning", {"redacted": "x"}), [ChatResponse("reasoning", "")]),
        # A call of a reply without an end never runs, so it is not on record either.
        (CompleteToolCall("c1", "tool", {}), []),
    ],
)
async def test_retry_after_partial_text_keeps_it_and_continues(come: Any, kept: list[Any]):
    stage = TurnBench(QueueProvider([[come, make_failing_reply()], DONE]), (make_asker(),))
    assert await run(stage) is TurnEnd.COMPLETE
    assert stage.pauses == [1.0]
    _, second = stage.provider.requests
    assert [event.kind for event in second.parts.events] == [ChatRequest("Go."), *kept]
    replies = [e.kind for e in stage.recorder.events if isinstance(e.kind, ChatResponse)]
    assert replies == [*kept, ChatResponse("message", "Done.")]


async def test_failure_after_a_structured_reply_is_not_retried():
    come = StructuredReply({"a": 1})
    stage = TurnBench(QueueProvider([[come, make_failing_reply()], DONE]))
    with pytest.raises(ProviderFailed, match="Overloaded"):
        await run(stage)
    assert len(stage.provider.requests) == 1


async def test_a_reply_that_always_breaks_off_ends_after_the_last_retry():
    broken_reply = [TextDelta("message", "More. "), make_failing_reply()]
    stage = TurnBench(QueueProvider([broken_reply] * 3), request=RequestConfig(max_retries=2))
    with pytest.raises(ProviderFailed, match="Overloaded"):
        await run(stage)
    assert stage.pauses == [1.0, 2.0]
    replies = [e.kind for e in stage.recorder.events if isinstance(e.kind, ChatResponse)]
    assert replies == [ChatResponse("message", "More. ")] * 3


async def test_a_reply_that_breaks_off_before_its_beginning_is_asked_for_again():
    stage = TurnBench(QueueProvider([[], DONE]))
    assert await run(stage) is TurnEnd.COMPLETE
    assert stage.pauses == [1.0]


async def test_retry_pauses_double_up_to_the_longest_and_then_the_turn_fails():
    request = RequestConfig(max_retries=4, base_backoff=2.0, max_backoff=10.0)
    stage = TurnBench(QueueProvider([[make_failing_reply()]] * 5), request=request)
    with pytest.raises(ProviderFailed, match="Overloaded"):
        await run(stage)
    assert stage.pauses == [2.0, 4.0, 8.0, 10.0]
    assert len(stage.provider.requests) == 5


async def test_failure_with_max_retries_0_fails_the_turn():
    stage = TurnBench(
        QueueProvider([[make_failing_reply()], DONE]), request=RequestConfig(max_retries=0)
    )
    with pytest.raises(ProviderFailed):
        await run(stage)
    assert stage.pauses == []


@pytest.mark.parametrize("advised", [0.0, 0.5, 60.0])
async def test_the_providers_advice_comes_before_our_own_pause(advised):
    stage = TurnBench(QueueProvider([[make_failing_reply(after=advised)], DONE]))
    assert await run(stage) is TurnEnd.COMPLETE
    assert stage.pauses == [advised]


async def test_advice_beyond_the_longest_pause_waits_the_longest():
    stage = TurnBench(QueueProvider([[make_failing_reply(after=60.5)], DONE]))
    assert await run(stage) is TurnEnd.COMPLETE
    assert stage.pauses == [60.0]


async def test_retries_are_counted_for_each_cycle():
    call_steps = [CompleteToolCall("c1", "tool", {}), ReplyFinished()]
    replies = [[make_failing_reply()], call_steps, [make_failing_reply()], DONE]
    stage = TurnBench(QueueProvider(replies), (make_asker(),), request=RequestConfig(max_retries=1))
    assert await run(stage) is TurnEnd.COMPLETE
    assert stage.pauses == [1.0, 1.0]


async def interrupt_pause(interrupt) -> tuple[Any, Any]:
    """Interrupt the first of endless pauses; return the stage and how the turn ended."""
    stage = TurnBench(QueueProvider([[make_failing_reply()], DONE]))
    start_event = asyncio.Event()

    async def pause(seconds) -> None:
        start_event.set()
        await wait_forever()

    stage.ports = replace(stage.ports, pause=pause)
    task = asyncio.create_task(run(stage))
    await start_event.wait()
    stage.stop.interrupt(interrupt)
    end = await task
    assert not other_tasks()
    return stage, end


async def test_a_stop_ends_a_pause_and_the_turn():
    stage, end = await interrupt_pause(Stop())
    assert end is TurnEnd.STOPPED
    assert len(stage.provider.requests) == 1
    assert len(stage.recorder.events) == 2


async def test_response_during_a_retry_pause_is_in_the_next_request():
    stage, end = await interrupt_pause(Respond("Try this.", "Alice"))
    assert end is TurnEnd.COMPLETE
    assert stage.recorder.kinds[2:] == [
        ChatRequest("Try this.", author="Alice"),
        ChatResponse("message", "Done."),
    ]
    assert stage.provider.requests[1].parts.events[-1].kind.content == "Try this."


@pytest.mark.parametrize("interrupt", [Restart(), Respond()])
async def test_a_pause_may_be_cut_short(interrupt):
    stage, end = await interrupt_pause(interrupt)
    assert end is TurnEnd.COMPLETE
    assert stage.recorder.kinds[2:] == [ChatResponse("message", "Done.")]


async def test_a_cancellation_ends_a_pause():
    stage = TurnBench(QueueProvider([[make_failing_reply()], DONE]))
    stage.ports = replace(stage.ports, pause=lambda _: wait_forever())
    task = asyncio.create_task(run(stage))
    await wait_until(lambda: stage.provider.closed_count)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not other_tasks()


def test_retry_pause_defaults_to_asyncio_sleep():
    ports = TurnBench(QueueProvider([])).ports
    assert TurnPorts(ports.provider, ports.prompter, ports.recorder, ports.display).pause is (
        asyncio.sleep
    )


TALK = (TextDelta("message", "I would rather talk."), ReplyFinished())
CALL = (CompleteToolCall("c1", "tool", {}), ReplyFinished())


def count_nudges(stage: TurnBench) -> list[int]:
    return [request.nudge_count for request in stage.provider.requests]


@pytest.mark.parametrize("choice", ["tool", "required"])
async def test_a_forced_tool_is_asked_for_until_it_is_called(choice: str):
    stage = TurnBench(QueueProvider([TALK, TALK, CALL, DONE]), (make_asker(),), tool_choice=choice)
    assert await run(stage) is TurnEnd.COMPLETE
    assert count_nudges(stage) == [0, 1, 2, 2]
    assert [request.tool_choice for request in stage.provider.requests] == [*[choice] * 3, "auto"]


async def test_forced_tool_is_requested_at_most_three_times_more():
    stage = TurnBench(QueueProvider([TALK] * 4), (make_asker(),), tool_choice="tool")
    assert await run(stage) is TurnEnd.COMPLETE
    assert count_nudges(stage) == [0, 1, 2, 3]


async def test_reply_without_a_call_ends_the_turn_when_no_tool_is_forced():
    stage = TurnBench(QueueProvider([TALK]), (make_asker(),), tool_choice="auto")
    assert await run(stage) is TurnEnd.COMPLETE
