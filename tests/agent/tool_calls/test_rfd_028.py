"""The tests that RFD 028 asks for, phase by phase: "unit tests", "with mock provider", "wiring".

The details of each are in ``test_inquire.py`` and ``test_coordinator.py``.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.agent.config import ModelConfig, QuestionConfig, QuestionTarget
from jpweb.agent.errors import FailureKind, InquiryFailed, ProviderFailed, SettlementConflict
from jpweb.agent.ports import Answer, CompleteToolCall, ReplyFinished, StructuredReply, TextDelta
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.inquiry_backend import LlmInquiryBackend, make_inquiry_schema
from jpweb.agent.tool_outcome import Question
from jpweb.agent.turn import TurnEnd
from jpweb.stream.answer_type import AnswerType, Boolean, Option, Select, Text
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, InquiryResponse
from tests.agent.doubles import (
    CONFIRM,
    QueueProvider,
    ToolBench,
    TurnBench,
    make_asker,
    other_tasks,
    run_turn,
    wait_until,
)
from tests.builders import make_call, stream

TO_ASSISTANT = QuestionConfig(QuestionTarget.ASSISTANT)
CALL = ToolCallRequest("call_123", "fs_modify_file", {})
STREAM = stream(TurnStart(), ChatRequest("Go."), CALL)
KINDS: dict[str, AnswerType] = {
    "boolean": Boolean(),
    "select": Select((Option("a"), Option("b"))),
    "text": Text(),
}


def backend(*replies) -> tuple[LlmInquiryBackend, QueueProvider]:
    provider = QueueProvider(replies)
    return LlmInquiryBackend(lambda _: provider, ModelConfig("vendor", "model")), provider


def answer(value) -> Any:
    return [StructuredReply({"answer": value}), ReplyFinished()]


async def inquire(question, *replies) -> Any:
    return await backend(*replies)[0].inquire(STREAM, CALL, question, TO_ASSISTANT)


# Phase 1


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("boolean", {"type": "boolean"}),
        ("select", {"type": "string", "enum": ["a", "b"]}),
        ("text", {"type": "string"}),
    ],
)
def test_inquiry_schema_has_the_schema_of_its_answer_type(name, schema):
    """JP sends no ``inquiry_id``, whatever the RFD shows."""
    inquiry_schema = make_inquiry_schema(KINDS[name])
    assert inquiry_schema["properties"] == {"answer": schema}
    assert inquiry_schema["required"] == ["answer"]
    assert inquiry_schema["additionalProperties"] is False


@pytest.mark.parametrize(("name", "value"), [("boolean", False), ("select", "b"), ("text", "x")])
async def test_inquire_returns_the_structured_answer(name, value):
    assert await inquire(Question("q", "?", KINDS[name]), answer(value)) == value


@pytest.mark.parametrize("data", [{}, {"answer": "yes"}, [], None])
async def test_inquire_without_a_fitting_answer_fails(data):
    with pytest.raises(InquiryFailed):
        await inquire(CONFIRM, [StructuredReply(data), ReplyFinished()])


# Phase 2


async def test_inquire_sends_the_paused_call_and_the_answers_schema():
    inquiry_backend, provider = backend(answer(value=True))
    before = [element.raw for element in STREAM]
    assert await inquiry_backend.inquire(STREAM, CALL, CONFIRM, TO_ASSISTANT) is True
    [request] = provider.requests
    *_, response, question = [event.kind for event in request.parts.events]
    assert response == ToolCallResponse(CALL.id, "Tool paused: Overwrite?", is_error=False)
    assert isinstance(question, ChatRequest)
    assert question.schema == make_inquiry_schema(Boolean())
    assert [element.raw for element in STREAM] == before


# Phase 3


class Answering:
    """The mock backend: each question waits until the test lets it."""

    def __init__(self) -> None:
        self.call_ids: list[str] = []
        self.answers: dict[str, asyncio.Future[Any]] = {}

    async def inquire(self, elements, call, question, config) -> Any:
        self.call_ids.append(call.id)
        self.answers[call.id] = asyncio.get_running_loop().create_future()
        return await self.answers[call.id]


async def test_assistant_answers_a_question_of_a_tool():
    mock = Answering()
    tool = make_asker(CONFIRM, config=TO_ASSISTANT)
    bench = ToolBench((tool,), backend=mock)
    task = asyncio.create_task(bench.run([make_call("c1", "tool")]))
    await wait_until(lambda: mock.call_ids)
    mock.answers["c1"].set_result(True)
    await task
    assert tool.runs == [{}, {"confirm": True}]
    assert bench.recorder.outcomes == [Answered(answer=True)]
    assert bench.recorder.notes(InquiryResponse) == [{"by": {"kind": "assistant"}}]
    assert bench.recorder.results == [("c1", "done", False)]
    assert bench.prompter.questions == []


async def test_assistant_answers_questions_of_parallel_calls():
    mock = Answering()
    tool = make_asker(CONFIRM, config=TO_ASSISTANT)
    bench = ToolBench((tool,), backend=mock)
    calls = [make_call("c1", "tool"), make_call("c2", "tool")]
    task = asyncio.create_task(bench.run(calls))
    await wait_until(lambda: len(mock.call_ids) == 2)
    mock.answers["c2"].set_result(False)
    await wait_until(lambda: bench.recorder.outcomes)
    mock.answers["c1"].set_result(True)
    await task
    assert [(r.id, r.outcome) for r in bench.recorder.of(InquiryResponse)] == [
        ("c2.confirm.1", Answered(answer=False)),
        ("c1.confirm.1", Answered(answer=True)),
    ]
    assert [result[0] for result in bench.recorder.results] == ["c1", "c2"]
    assert not other_tasks()


async def test_assistant_answers_several_questions_of_one_call():
    second = Question("second", "?", Text())
    inquiry_backend, provider = backend(answer(value=True), answer("x"))
    bench = ToolBench((make_asker(CONFIRM, second, config=TO_ASSISTANT),), backend=inquiry_backend)
    await bench.run([make_call("c1", "tool")])
    assert bench.tools[0].runs[-1] == {"confirm": True, "second": "x"}
    assert len(provider.requests) == 2


async def test_failed_inquiry_cancels_its_question():
    inquiry_backend, _ = backend([TextDelta("message", "no"), ReplyFinished()])
    bench = ToolBench((make_asker(CONFIRM, config=TO_ASSISTANT),), backend=inquiry_backend)
    await bench.run([make_call("c1", "tool")])
    assert bench.recorder.outcomes == [Cancelled(CancellationReason.BACKEND_ERROR)]
    text = model_messages.describe_backend_failure(
        "tool", "confirm", "the reply holds no structured data"
    )
    assert bench.recorder.results == [("c1", text, True)]


@pytest.mark.parametrize(
    "reply", [answer(value=True), [TextDelta("message", "no"), ReplyFinished()]]
)
async def test_person_who_answers_before_the_assistant_settles_the_question(monkeypatch, reply):
    inquiry_backend, _ = backend(reply)
    bench = ToolBench((make_asker(CONFIRM, config=TO_ASSISTANT),), backend=inquiry_backend)
    bench.prompter.replies = [Answer(False)]
    real = bench.recorder.record

    async def record(*events, **options) -> None:
        if any(isinstance(event.kind, InquiryResponse) for event in events):
            monkeypatch.setattr(bench.recorder, "record", real)
            raise SettlementConflict("This question is settled already.")
        await real(*events, **options)

    monkeypatch.setattr(bench.recorder, "record", record)
    await bench.run([make_call("c1", "tool")])
    assert bench.tools[0].runs[-1] == {"confirm": False}
    assert bench.recorder.outcomes == [Answered(False)]


async def test_an_answer_of_the_assistant_is_not_remembered():
    inquiry_backend, provider = backend(answer(value=True), answer(value=False))
    bench = ToolBench((make_asker(CONFIRM, config=TO_ASSISTANT),), backend=inquiry_backend)
    await bench.run([make_call("c1", "tool")])
    await bench.run([make_call("c2", "tool")])
    assert len(provider.requests) == 2
    assert bench.state.remembered_tool_answers == {}


# Phase 4


async def test_turn_of_an_inquiry_has_its_final_result_alone():
    inquiry_backend, inquired = backend(answer(value=True))
    call_steps = [CompleteToolCall("c1", "tool", {"path": "a"}), ReplyFinished()]
    main = QueueProvider([call_steps, [TextDelta("message", "Done."), ReplyFinished()]])
    stage = TurnBench(main, (make_asker(CONFIRM, config=TO_ASSISTANT),), backend=inquiry_backend)
    assert await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup) is TurnEnd.COMPLETE
    assert len(inquired.requests) == 1
    assert [type(kind) for kind in stage.recorder.kinds][-2:] == [ToolCallResponse, ChatResponse]
    # the turn itself sees the final result alone
    assert [event.kind for event in main.requests[1].parts.events] == [
        ChatRequest("Go."),
        ToolCallRequest("c1", "tool", {"path": "a"}),
        ToolCallResponse("c1", "done", is_error=False),
    ]
    assert "Tool paused" not in stage.recorder.raw()
    assert stage.recorder.of(ChatRequest) == [ChatRequest("Go.")]


async def test_question_without_a_person_goes_to_the_backend():
    """Phase 5: a person's question goes to the backend where no person is (policy ``auto``)."""
    inquiry_backend, inquired = backend(answer(value=True))
    bench = ToolBench((make_asker(CONFIRM),), backend=inquiry_backend)
    bench.prompter.is_reachable = False
    await bench.run([make_call("c1", "tool")])
    assert bench.recorder.outcomes == [Answered(answer=True)]
    assert len(inquired.requests) == 1


async def test_a_failing_secondary_provider_does_not_fail_the_turn():
    def refuse(model) -> Any:
        raise ProviderFailed("No key.", FailureKind.WRONG_KEY)

    inquiry_backend = LlmInquiryBackend(refuse, ModelConfig("vendor", "model"))
    call_steps = [CompleteToolCall("c1", "tool", {}), ReplyFinished()]
    main = QueueProvider([call_steps, [ReplyFinished()]])
    stage = TurnBench(main, (make_asker(CONFIRM, config=TO_ASSISTANT),), backend=inquiry_backend)
    assert await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup) is TurnEnd.COMPLETE
    assert stage.recorder.outcomes == [Cancelled(CancellationReason.BACKEND_ERROR)]
