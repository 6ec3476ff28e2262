"""Running calls, asking, remembering. Stopping is in ``test_interruptions``."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Final

import pytest

from jpweb.agent.config import QuestionConfig, QuestionTarget, StaticAnswer
from jpweb.agent.ports import Answer, Declined
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.routing import UseStatic
from jpweb.agent.tool_calls.turn_state import AnswerKey, RememberedAnswer, TurnState
from jpweb.agent.tool_outcome import MAX_CALL_QUESTIONS, Failed, NeedsInput, Question, Success
from jpweb.stream.answer_type import Boolean, Option, Secret, Select, Text
from jpweb.stream.events import ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import (
    Answered,
    AnswerReusePolicy,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    Redacted,
    SourceTag,
)
from tests.agent.doubles import CONFIRM, StubTool, ToolBench, make_asker, other_tasks, wait_forever
from tests.builders import make_call

PASSPHRASE = Question("confirm", "Passphrase?", Secret())
KEY = AnswerKey("tool", "confirm")
CALL = ToolCallRequest("c1", "tool", {})


def make_static(value) -> Any:
    return QuestionConfig(answer=StaticAnswer(value))


async def test_results_are_recorded_after_the_batch_in_the_order_of_the_calls():
    order = []

    async def slow(arguments, answers) -> Any:
        for _ in range(5):
            await asyncio.sleep(0)
        order.append("slow")
        return Success("first")

    def fast(arguments, answers) -> Any:
        order.append("fast")
        return Failed("second")

    bench = ToolBench((StubTool("slow", slow), StubTool("fast", fast)))
    await bench.run([make_call("a", "slow"), make_call("b", "fast")])
    assert order == ["fast", "slow"]
    assert bench.recorder.kinds == [
        ToolCallResponse("a", "first", is_error=False),
        ToolCallResponse("b", "second", is_error=True),
    ]
    assert not other_tasks()


async def test_a_tool_that_does_not_exist_is_an_error_for_the_model():
    bench = ToolBench(())
    await bench.run([make_call("a", "gone")])
    assert bench.recorder.results == [("a", model_messages.describe_unknown_tool("gone"), True)]


async def test_a_bad_question_id_leaves_no_trace_but_the_error():
    question = Question("a.b", "?", Boolean())
    bench = ToolBench((make_asker(question),))
    await bench.run([CALL])
    assert bench.recorder.kinds == [
        ToolCallResponse("c1", model_messages.describe_bad_id("tool"), is_error=True)
    ]


async def test_a_question_is_recorded_whole_and_answered_by_a_person():
    question = replace(CONFIRM, default=True, context="Three files.", exclusive=True)
    bench = ToolBench((make_asker(question),), [Answer(value=True)])
    await bench.run([CALL])
    assert bench.recorder.kinds == [
        InquiryRequest(
            "c1.confirm.1", InquirySource.for_tool("tool"), question.to_inquiry_question()
        ),
        InquiryResponse("c1.confirm.1", Answered(answer=True)),
        ToolCallResponse("c1", "done", is_error=False),
    ]
    assert bench.tools[0].runs == [{}, {"confirm": True}]


async def test_inquiry_request_notes_the_parts_of_its_id():
    bench = ToolBench((make_asker(CONFIRM),), [Answer(value=True)])
    await bench.run([CALL])
    note = {"tool_call_id": "c1", "tool": "tool", "question_id": "confirm", "attempt": 1}
    note["person"] = True
    assert bench.recorder.notes(InquiryRequest) == [note]


async def test_question_label_is_noted_and_shown_and_keeps_the_source():
    tool = make_asker(CONFIRM, config=QuestionConfig(prompt_label="Assistant"))
    bench = ToolBench((tool,), [Answer(value=True)])
    await bench.run([CALL])
    assert bench.recorder.notes(InquiryRequest)[0]["label"] == "Assistant"
    assert bench.prompter.questions[0].label == "Assistant"
    assert bench.prompter.questions[0].source == InquirySource.for_tool("tool")


async def test_the_source_that_the_tool_declares_is_recorded_verbatim():
    tool = make_asker(CONFIRM)
    tool.source = InquirySource(SourceTag.ASSISTANT)
    bench = ToolBench((tool,), [Answer(value=True)])
    await bench.run([CALL])
    assert bench.recorder.of(InquiryRequest)[0].source == tool.source


@pytest.mark.parametrize(
    "bench",
    [
        ToolBench((make_asker(CONFIRM),), [Answer(value=True)]),
        ToolBench((make_asker(CONFIRM, config=make_static(value=True)),)),
        ToolBench((make_asker(CONFIRM, config=make_static("wrong")),)),
        ToolBench((make_asker(CONFIRM, config=QuestionConfig(QuestionTarget.ASSISTANT)),)),
        ToolBench((make_asker(CONFIRM),), state=TurnState({KEY: RememberedAnswer(value=True)})),
    ],
    ids=["person", "static", "invalid", "assistant", "remembered"],
)
async def test_inquiry_request_is_recorded_before_its_response(bench):
    await bench.run([CALL])
    kinds = [type(kind) for kind in bench.recorder.kinds]
    assert kinds == [InquiryRequest, InquiryResponse, ToolCallResponse]
    kinds_on_record = bench.prompter.on_record_when_asked
    assert [[type(kind) for kind in kinds] for kinds in kinds_on_record] in ([], [[InquiryRequest]])


async def test_question_is_recorded_before_the_inquiry_backend_is_called():
    class CheckingBackend:
        async def inquire(self, elements: Any, *_: Any) -> Any:
            assert len(elements) == len(bench.recorder.of(InquiryRequest)) == 1
            return True

    tools = (make_asker(CONFIRM, config=QuestionConfig(QuestionTarget.ASSISTANT)),)
    bench = ToolBench(tools, backend=CheckingBackend())
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Answered(answer=True)]


async def test_asking_the_same_again_is_the_next_attempt():
    def run(arguments, answers) -> Any:
        ok = answers.get("confirm") == "good"
        return Success("ok") if ok else NeedsInput(Question("confirm", "?", Text()))

    tool = StubTool("tool", run)
    bench = ToolBench((tool,), [Answer("bad"), Answer("good")])
    await bench.run([CALL])
    assert bench.asked_ids == ["c1.confirm.1", "c1.confirm.2"]
    assert [r.id for r in bench.recorder.of(InquiryResponse)] == bench.asked_ids
    assert tool.runs == [{}, {"confirm": "bad"}, {"confirm": "good"}]


async def test_answers_to_several_questions_accumulate():
    second = Question("second", "?", Text())
    bench = ToolBench((make_asker(CONFIRM, second),), [Answer(value=False), Answer("text")])
    await bench.run([CALL])
    assert bench.asked_ids == ["c1.confirm.1", "c1.second.1"]
    assert bench.tools[0].runs[-1] == {"confirm": False, "second": "text"}


async def test_question_ids_of_a_reused_call_id_continue_counting():
    bench = ToolBench((make_asker(CONFIRM),), [Answer(value=True), Answer(value=True)])
    await bench.run([CALL])
    await bench.run([CALL])
    assert bench.asked_ids == ["c1.confirm.1", "c1.confirm.2"]


async def test_a_new_turn_counts_from_one_again():
    bench = ToolBench((make_asker(CONFIRM),), [Answer(value=True)])
    await bench.run([CALL])
    second_bench = ToolBench(bench.tools, [Answer(value=True)], recorder=bench.recorder)
    await second_bench.run([CALL])
    assert second_bench.asked_ids == ["c1.confirm.1", "c1.confirm.1"]


async def test_questions_of_two_calls_with_one_id_have_different_ids():
    bench = ToolBench((make_asker(CONFIRM),), [Answer(value=True), Answer(value=False)])
    await bench.run([CALL, CALL])
    assert bench.asked_ids == ["c1.confirm.1", "c1.confirm.2"]


async def test_concurrent_questions_of_two_calls_get_separate_answers():
    first, second = asyncio.Event(), asyncio.Event()

    async def reply(own_reply, others_reply, value) -> Any:
        own_reply.set()
        await others_reply.wait()
        return Answer(value)

    tools = (make_asker(CONFIRM, name="a"), make_asker(CONFIRM, name="b"))
    bench = ToolBench(tools, [reply(first, second, True), reply(second, first, False)])
    await bench.run([make_call("1", "a"), make_call("2", "b")])
    assert [tool.runs[-1] for tool in tools] == [{"confirm": True}, {"confirm": False}]
    assert [r[0] for r in bench.recorder.results] == ["1", "2"]


async def test_a_declined_question_is_no_error_and_the_tool_is_not_run_again():
    bench = ToolBench((make_asker(CONFIRM),), [Declined(CancellationReason.USER)])
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Cancelled(CancellationReason.USER)]
    assert bench.recorder.results == [("c1", "Tool input cancelled by user.", False)]
    assert len(bench.tools[0].runs) == 1


@pytest.mark.parametrize("reason", [CancellationReason.EXPIRED, CancellationReason.LOST])
async def test_question_closed_by_the_system_is_an_error_with_its_reason(reason):
    bench = ToolBench((make_asker(CONFIRM),), [Declined(reason)])
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Cancelled(reason)]
    assert bench.recorder.results == [
        ("c1", model_messages.describe_unanswered("tool", "confirm", reason), True)
    ]


async def test_an_answer_is_remembered_for_the_turn_when_the_person_says_so():
    bench = ToolBench((make_asker(CONFIRM),), [Answer(value=True, remember=True)])
    await bench.run([CALL])
    await bench.run([make_call("c2", "tool", other="arguments")])
    assert bench.recorder.outcomes == [Answered(answer=True), Answered(answer=True)]
    assert bench.recorder.notes(InquiryResponse)[1] == {"by": {"kind": "memory"}}
    assert len(bench.prompter.questions) == 1
    assert bench.tools[0].runs[-1] == {"confirm": True}


async def test_an_answer_is_not_remembered_unasked():
    bench = ToolBench((make_asker(CONFIRM),), [Answer(value=True)])
    await bench.run([CALL])
    assert bench.state.remembered_tool_answers == {}


@pytest.mark.parametrize(
    ("question", "value"),
    [
        (CONFIRM, True),
        (Question("confirm", "?", Select((Option("a"), Option("b")))), "b"),
        (Question("confirm", "?", Text()), ""),
    ],
)
async def test_answers_that_are_no_secrets_are_recorded_and_remembered(question, value):
    bench = ToolBench((make_asker(question),), [Answer(value, remember=True)])
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Answered(value)]
    assert bench.state.remembered_tool_answers == {KEY: RememberedAnswer(value)}


@pytest.mark.parametrize(
    "question", [PASSPHRASE, replace(CONFIRM, persistence=AnswerReusePolicy.NONE)]
)
async def test_secret_or_unpersisted_answer_is_not_remembered(question):
    value = "x" if question is PASSPHRASE else True
    bench = ToolBench((make_asker(question),), [Answer(value, remember=True)])
    await bench.run([CALL])
    assert bench.tools[0].runs[-1] == {"confirm": value}
    assert bench.state.remembered_tool_answers == {}


@pytest.mark.parametrize(
    ("question", "memory", "value"),
    [
        (PASSPHRASE, "old", "new"),
        (replace(CONFIRM, persistence=AnswerReusePolicy.NONE), True, False),
    ],
)
async def test_secret_or_unpersisted_question_uses_no_remembered_answer(question, memory, value):
    state = TurnState({KEY: RememberedAnswer(memory)})
    bench = ToolBench((make_asker(question),), [Answer(value)], state)
    await bench.run([CALL])
    assert bench.tools[0].runs[-1] == {"confirm": value}
    assert bench.state.remembered_tool_answers == {KEY: RememberedAnswer(memory)}


async def test_a_cancelled_question_enters_no_memory():
    bench = ToolBench((make_asker(CONFIRM),), [Declined(CancellationReason.USER)])
    await bench.run([CALL])
    assert bench.state.remembered_tool_answers == {}


async def test_a_remembered_answer_comes_before_a_static_one():
    tool = make_asker(CONFIRM, config=make_static(value=False))
    bench = ToolBench((tool,), state=TurnState({KEY: RememberedAnswer(value=True)}))
    await bench.run([CALL])
    assert bench.tools[0].runs[-1] == {"confirm": True}


async def test_a_static_answer_reaches_the_tool_only_once_it_has_asked():
    bench = ToolBench((make_asker(CONFIRM, config=make_static(value=False)),))
    await bench.run([CALL])
    assert bench.tools[0].runs == [{}, {"confirm": False}]
    assert bench.recorder.outcomes == [Answered(answer=False)]
    assert bench.recorder.notes(InquiryResponse) == [{"by": {"kind": "configuration"}}]
    assert bench.prompter.questions == []


async def test_invalid_static_answer_is_an_error_that_names_the_setting():
    bench = ToolBench((make_asker(CONFIRM, config=make_static("yes")),))
    await bench.run([CALL])
    reason: Final = CancellationReason.INVALID_STATIC_ANSWER
    assert bench.recorder.outcomes == [Cancelled(reason)]
    assert bench.recorder.notes(InquiryResponse) == [{"by": {"kind": "configuration"}}]
    assert bench.recorder.results == [
        ("c1", model_messages.describe_refusal("tool", "confirm", reason), True)
    ]
    assert bench.tools[0].runs == [{}]


async def test_a_secret_from_a_person_is_delivered_and_redacted():
    bench = ToolBench((make_asker(PASSPHRASE),), [Answer("hunter2")])
    await bench.run([CALL])
    assert bench.tools[0].runs[-1] == {"confirm": "hunter2"}
    assert bench.recorder.outcomes == [Redacted()]
    assert "hunter2" not in bench.recorder.raw()


async def test_a_secret_from_the_configuration_is_delivered_and_redacted():
    bench = ToolBench((make_asker(PASSPHRASE, config=make_static("hunter2")),))
    await bench.run([CALL])
    assert bench.tools[0].runs[-1] == {"confirm": "hunter2"}
    assert bench.recorder.outcomes == [Redacted()]
    assert "hunter2" not in bench.recorder.raw()


@pytest.mark.parametrize("question", [PASSPHRASE, replace(CONFIRM, exclusive=True)])
@pytest.mark.parametrize(
    ("target", "reachable", "reason"),
    [
        (QuestionTarget.USER, False, CancellationReason.NO_PROMPT_BACKEND),
        (QuestionTarget.ASSISTANT, True, CancellationReason.ASSISTANT_ROUTING_DENIED),
        (QuestionTarget.ASSISTANT, False, CancellationReason.ASSISTANT_ROUTING_DENIED),
    ],
)
async def test_human_only_question_needs_a_reachable_person(question, target, reachable, reason):
    bench = ToolBench((make_asker(question, config=QuestionConfig(target)),))
    bench.prompter.is_reachable = reachable
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Cancelled(reason)]
    assert bench.recorder.notes(InquiryResponse) == [{"by": {"kind": "system"}}]
    assert bench.recorder.results == [
        ("c1", model_messages.describe_refusal("tool", "confirm", reason), True)
    ]
    assert bench.prompter.questions == []


@pytest.mark.parametrize(
    ("target", "reachable"), [(QuestionTarget.USER, False), (QuestionTarget.ASSISTANT, True)]
)
async def test_question_for_a_missing_inquiry_backend_fails_with_retry_text(target, reachable):
    bench = ToolBench((make_asker(CONFIRM, config=QuestionConfig(target)),))
    bench.prompter.is_reachable = reachable
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Cancelled(CancellationReason.BACKEND_ERROR)]
    assert bench.recorder.notes(InquiryResponse) == [{"by": {"kind": "system"}}]
    text = model_messages.describe_backend_failure(
        "tool", "confirm", "no inquiry backend is set up here"
    )
    assert bench.recorder.results == [("c1", text, True)]


async def test_a_tool_that_never_stops_asking_is_ended():
    tool = StubTool("tool", lambda *_: NeedsInput(CONFIRM), {"confirm": make_static(value=True)})
    bench = ToolBench((tool,))
    await bench.run([CALL])
    assert len(bench.recorder.of(InquiryRequest)) == MAX_CALL_QUESTIONS == 25
    assert len(bench.recorder.of(InquiryResponse)) == MAX_CALL_QUESTIONS
    assert bench.recorder.results == [("c1", model_messages.describe_too_many("tool", 25), True)]


async def test_call_can_ask_up_to_max_call_questions():
    questions = [Question(f"q{n}", "?", Boolean()) for n in range(MAX_CALL_QUESTIONS)]
    bench = ToolBench((make_asker(*questions, config=make_static(value=True)),))
    await bench.run([CALL])
    assert bench.recorder.results == [("c1", "done", False)]


async def test_tool_that_raises_ends_the_batch_and_leaves_questions_open():
    async def fail(arguments, answers) -> Any:
        await bench.prompter.waiting.wait()
        raise RuntimeError("bug")

    bench = ToolBench((make_asker(CONFIRM), StubTool("broken", fail)), [wait_forever()])
    with pytest.raises(RuntimeError, match="bug"):
        await bench.run([CALL, make_call("c2", "broken")])
    assert [type(kind) for kind in bench.recorder.kinds] == [InquiryRequest]
    assert bench.prompter.withdrawn == []
    assert not other_tasks()


def test_answer_reprs_hide_the_value():
    holders = (Answer("hunter2"), StaticAnswer("hunter2"), UseStatic("hunter2"))
    assert "hunter2" not in repr(holders)
