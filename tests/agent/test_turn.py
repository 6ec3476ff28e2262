from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from jpweb.agent.ports import Answer, CompleteToolCall, ReplyFinished, TextDelta
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tools import BUILTINS
from jpweb.agent.turn import TurnEnd, TurnPorts
from jpweb.agent.turn_setup import UNCONFIGURED_SETUP
from jpweb.stream import wire
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConversationEvent,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse
from tests.agent.doubles import (
    AT,
    CONFIRM,
    QueueProvider,
    TurnBench,
    make_asker,
    run_turn,
)
from tests.agent.recorder import ListRecorder

DONE = (TextDelta("message", "Done."), ReplyFinished())


async def run(stage, content="Go.", author=None) -> Any:
    return await run_turn(stage.ports, content, author, stage.stop, stage.setup)


async def test_a_turn_without_tool_calls_is_one_reply():
    stage = TurnBench(QueueProvider([DONE]))
    assert await run(stage, "Hello", "Alice") is TurnEnd.COMPLETE
    assert stage.recorder.events == [
        ConversationEvent(AT, TurnStart()),
        ConversationEvent(AT, ChatRequest("Hello", author="Alice")),
        ConversationEvent(AT, ChatResponse("message", "Done.")),
    ]


async def test_the_query_is_committed_at_once_with_the_turns_start(monkeypatch):
    batches = []
    stage = TurnBench(QueueProvider([DONE]))

    async def record(*events, **_more) -> Any:
        batches.append([event.kind.TAG for event in events])

    monkeypatch.setattr(stage.recorder, "record", record)
    await run(stage)
    assert batches[0] == ["turn_start", "chat_request"]


async def test_pieces_of_one_variant_become_one_event():
    pieces = [
        TextDelta("reasoning", "Let me "),
        TextDelta("reasoning", "see."),
        TextDelta("message", "It "),
        TextDelta("message", "works."),
        ReplyFinished(),
    ]
    stage = TurnBench(QueueProvider([pieces]))
    await run(stage)
    assert stage.recorder.kinds[2:] == [
        ChatResponse("reasoning", "Let me see."),
        ChatResponse("message", "It works."),
    ]
    assert stage.display.partials == [
        ("reasoning", "Let me "),
        ("reasoning", "Let me see."),
        ("message", "It "),
        ("message", "It works."),
    ]


async def test_a_tool_call_commits_the_text_before_it_and_itself():
    first = [
        TextDelta("message", "One"),
        CompleteToolCall("a", "tool", {"x": 1}),
        TextDelta("message", "Two"),
        CompleteToolCall("b", "gone", {}),
        ReplyFinished(),
    ]
    stage = TurnBench(QueueProvider([first, DONE]), (make_asker(CONFIRM),), [Answer(value=True)])
    assert await run(stage) is TurnEnd.COMPLETE
    without_inquiries = [
        kind
        for kind in stage.recorder.kinds[2:]
        if not isinstance(kind, InquiryRequest | InquiryResponse)
    ]
    assert without_inquiries == [
        ChatResponse("message", "One"),
        ToolCallRequest("a", "tool", {"x": 1}),
        ChatResponse("message", "Two"),
        ToolCallRequest("b", "gone", {}),
        ToolCallResponse("a", "done", is_error=False),
        ToolCallResponse("b", model_messages.describe_unknown_tool("gone"), is_error=True),
        ChatResponse("message", "Done."),
    ]


async def test_a_reply_of_nothing_completes_the_turn():
    stage = TurnBench(QueueProvider([[TextDelta("message", ""), ReplyFinished()]]))
    assert await run(stage) is TurnEnd.COMPLETE
    assert len(stage.recorder.events) == 2


async def test_turn_ignores_events_after_reply_finished():
    stage = TurnBench(QueueProvider([[ReplyFinished(), TextDelta("message", "too late")]]))
    await run(stage)
    assert len(stage.recorder.events) == 2
    assert stage.provider.closed_count == 1


async def test_turn_cycle_sends_system_prompt_tools_and_visible_events():
    stage = TurnBench(
        QueueProvider([[CompleteToolCall("a", "tool", {}), ReplyFinished()], DONE]), (make_asker(),)
    )
    await run(stage)
    first, second = stage.provider.requests
    assert first.parts.system == second.parts.system == ("Be brief.",)
    assert [tool.name for tool in first.tools] == ["tool"]
    assert [e.kind for e in first.parts.events] == [ChatRequest("Go.")]
    assert [e.kind.TAG for e in second.parts.events] == [
        "chat_request",
        "tool_call_request",
        "tool_call_response",
    ]


async def test_turn_sends_no_inquiry_events_to_the_provider():
    stage = TurnBench(
        QueueProvider([[CompleteToolCall("a", "tool", {}), ReplyFinished()], DONE]),
        (make_asker(CONFIRM),),
        [Answer(value=True)],
    )
    await run(stage)
    assert len(stage.recorder.of(InquiryRequest)) == 1
    for request in stage.provider.requests:
        assert all(event.kind.PROVIDER_VISIBLE for event in request.parts.events)


async def test_a_call_that_a_crash_left_open_is_closed_in_the_request_alone():
    kinds: list[Any] = [TurnStart(), ChatRequest("Before."), ToolCallRequest("old", "tool", {})]
    recorder = ListRecorder([ConversationEvent(AT, kind) for kind in kinds])
    stage = TurnBench(QueueProvider([DONE]), recorder=recorder)
    await run(stage)
    [request] = stage.provider.requests
    assert [event.kind for event in request.parts.events] == [
        ChatRequest("Before."),
        ToolCallRequest("old", "tool", {}),
        ToolCallResponse("old", model_messages.INTERRUPTED, is_error=True),
        ChatRequest("Go."),
    ]
    assert recorder.of(ToolCallResponse) == []


async def test_attempts_count_over_a_turns_cycles_and_restart_with_the_next():
    cycle = [CompleteToolCall("same", "tool", {}), ReplyFinished()]
    replies = [Answer(value=True)] * 3
    stage = TurnBench(
        QueueProvider([cycle, cycle, DONE, cycle, DONE]), (make_asker(CONFIRM),), replies
    )
    await run(stage)
    await run(stage)
    assert [request.id for request in stage.recorder.of(InquiryRequest)] == [
        "same.confirm.1",
        "same.confirm.2",
        "same.confirm.1",
    ]


async def test_an_answer_is_remembered_over_the_cycles_of_a_turn_but_not_longer():
    cycle = [CompleteToolCall("c", "tool", {}), ReplyFinished()]
    replies = [Answer(value=True, remember=True), Answer(value=False)]
    stage = TurnBench(
        QueueProvider([cycle, cycle, DONE, cycle, DONE]), (make_asker(CONFIRM),), replies
    )
    await run(stage)
    assert len(stage.prompter.questions) == 1
    await run(stage)
    assert len(stage.prompter.questions) == 2


async def test_turn_with_endless_tool_calls_ends_at_its_limit():
    cycle = [CompleteToolCall("c", "tool", {}), ReplyFinished()]
    stage = TurnBench(QueueProvider([cycle] * 4), (make_asker(),), cycle_limit=3)
    assert await run(stage) is TurnEnd.CYCLE_LIMIT
    assert len(stage.recorder.of(ToolCallResponse)) == 3
    assert len(stage.provider.requests) == 3


async def test_a_provider_may_be_any_iterator():
    class IteratorProvider:
        NAME = "plain"

        def stream(self, request) -> Any:
            return self

        def __aiter__(self) -> AsyncIterator[object]:
            return self

        async def __anext__(self) -> Any:
            return ReplyFinished()

    stage = TurnBench(IteratorProvider())
    assert await run(stage) is TurnEnd.COMPLETE


async def test_turn_without_configuration_offers_builtins_and_uses_the_clock():
    stage = TurnBench(QueueProvider([DONE]))
    ports = stage.ports
    real = TurnPorts(ports.provider, ports.prompter, ports.recorder, ports.display)
    await run_turn(real, "Go.", None, stage.stop)
    tool_names = [tool.name for tool in stage.provider.requests[0].tools]
    assert tool_names == [tool.NAME for tool in BUILTINS]
    assert UNCONFIGURED_SETUP.cycle_limit == 50
    assert all(event.timestamp > AT for event in stage.recorder.events)
    assert all(
        wire.read_element(wire.write_element(e).raw).body == e for e in stage.recorder.events
    )
