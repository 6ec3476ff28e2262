"""The tests that RFD 083 lists for whoever runs tools, phases 1 and 2.

Those of its persisted shapes are in ``tests/stream/test_rfd_083.py``; ``ask_user`` by itself is in
``tests/agent/tools/test_ask_user.py``.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from jpweb.agent.config import (
    AllowToggle,
    EnableConfig,
    QuestionConfig,
    QuestionTarget,
    StaticAnswer,
)
from jpweb.agent.ports import Answer, AnswerSource, CompleteToolCall, ReplyFinished, TextDelta
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.turn_state import AnswerKey, RememberedAnswer, TurnState
from jpweb.agent.tool_outcome import Question
from jpweb.agent.tools.ask_user import AskUser
from jpweb.agent.turn import TurnEnd
from jpweb.agent.turn_setup import make_default_config
from jpweb.stream import wire
from jpweb.stream.answer_type import Boolean, Option, Secret, Select, Text
from jpweb.stream.events import ToolCallRequest
from jpweb.stream.inquiry import (
    Answered,
    AnswerReusePolicy,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    SourceTag,
)
from tests.agent.doubles import QueueProvider, ToolBench, TurnBench, make_asker, run_turn
from tests.builders import make_call

CALL = ToolCallRequest("call_1", "fs", {})
KEY = AnswerKey("fs", "q")
EXCLUSIVE = Question("q", "?", Boolean(), exclusive=True)
ONCE = Question("q", "?", Boolean(), persistence=AnswerReusePolicy.NONE)


def make_bench(question, *replies, config=None, **options) -> Any:
    return ToolBench((make_asker(question, name="fs", config=config),), list(replies), **options)


# Phase 1


async def check_refusal(target, reason, *, reachable) -> None:
    bench = make_bench(EXCLUSIVE, config=QuestionConfig(target))
    bench.prompter.is_reachable = reachable
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Cancelled(reason)]
    assert bench.recorder.results == [
        ("call_1", model_messages.describe_refusal("fs", "q", reason), True)
    ]
    assert "Do not retry this tool call in this turn" in bench.recorder.results[0][1]


async def test_exclusive_routing_check_no_tty():
    await check_refusal(QuestionTarget.USER, CancellationReason.NO_PROMPT_BACKEND, reachable=False)


@pytest.mark.parametrize("reachable", [True, False])
async def test_exclusive_routing_check_assistant_target(reachable):
    reason = CancellationReason.ASSISTANT_ROUTING_DENIED
    await check_refusal(QuestionTarget.ASSISTANT, reason, reachable=reachable)


class ApprovingBackend:
    async def inquire(self, *_: Any) -> Any:
        return True


@pytest.mark.parametrize("authored", [True, False])
@pytest.mark.parametrize("configured", [True, False, None])
async def test_the_configuration_overrides_the_authors_flag_both_ways(authored, configured):
    question = Question("q", "?", Boolean(), exclusive=authored)
    config = QuestionConfig(QuestionTarget.ASSISTANT, exclusive=configured)
    bench = make_bench(question, config=config, backend=ApprovingBackend())
    await bench.run([CALL])
    exclusive = authored if configured is None else configured
    assert bench.recorder.of(InquiryRequest)[0].question.exclusive is exclusive
    assert bench.recorder.outcomes == [
        Cancelled(CancellationReason.ASSISTANT_ROUTING_DENIED)
        if exclusive
        else Answered(answer=True)
    ]


async def test_secret_question_is_never_routed_to_the_assistant():
    config = QuestionConfig(QuestionTarget.ASSISTANT, exclusive=False)
    bench = make_bench(Question("q", "?", Secret()), config=config, backend=ApprovingBackend())
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Cancelled(CancellationReason.ASSISTANT_ROUTING_DENIED)]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Boolean(), "true"),
        (Text(), True),
        (Select((Option("a"), Option("b"))), "c"),
        (Secret(), 7),
    ],
)
@pytest.mark.parametrize("exclusive", [True, False])
async def test_static_answer_validation(kind, value, exclusive):
    config = QuestionConfig(answer=StaticAnswer(value))
    bench = make_bench(Question("q", "?", kind, exclusive=exclusive), config=config)
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Cancelled(CancellationReason.INVALID_STATIC_ANSWER)]
    [(_, text, is_error)] = bench.recorder.results
    assert "conversation.tools.fs.questions.q.answer" in text
    assert "do not retry" in text
    assert is_error


async def test_persistence_none_bypasses_the_cache_lookup_on_both_sides():
    state = TurnState({KEY: RememberedAnswer(value=True)})
    bench = make_bench(ONCE, Answer(value=False, remember=True), state=state)
    await bench.run([CALL])
    assert bench.tools[0].runs[-1] == {"q": False}
    assert bench.state.remembered_tool_answers == {KEY: RememberedAnswer(value=True)}


async def test_a_question_is_recorded_with_context_exclusive_and_persistence():
    question = Question("q", "?", Boolean(), True, "Why.", True, AnswerReusePolicy.NONE)
    bench = make_bench(question, Answer(value=True))
    await bench.run([CALL])
    recorded = json.loads(wire.write_element(bench.recorder.events[0]).raw)["question"]
    assert recorded == {
        "text": "?",
        "answer_type": {"type": "boolean"},
        "default": True,
        "context": "Why.",
        "exclusive": True,
        "persistence": "none",
    }


async def test_prompt_label_reaches_the_prompter_only_where_configured():
    for label in ("Assistant", None):
        bench = make_bench(EXCLUSIVE, Answer(value=True), config=QuestionConfig(prompt_label=label))
        await bench.run([CALL])
        assert bench.prompter.questions[0].label == label


# Phase 2: ask_user in a turn

ASK = {"question": "Which colour?", "answer_type": "select", "options": ["red", "blue"]}


async def test_ask_user_needs_input_then_success():
    call_steps = [CompleteToolCall("call_1", "ask_user", ASK), ReplyFinished()]
    provider = QueueProvider([call_steps, [TextDelta("message", "Blue it is."), ReplyFinished()]])
    stage = TurnBench(provider, replies=[Answer("blue")])
    end = await run_turn(stage.ports, "Paint it.", None, stage.stop)
    assert end is TurnEnd.COMPLETE
    [request] = stage.recorder.of(InquiryRequest)
    assert request.source == InquirySource(SourceTag.ASSISTANT)
    assert request.question.exclusive
    assert request.question.persistence is AnswerReusePolicy.NONE
    assert stage.prompter.questions[0].label == "Assistant"
    assert stage.recorder.outcomes == [Answered("blue")]
    body = '{"answer_type":"select","answer":"blue"}'
    assert stage.recorder.results == [("call_1", body, False)]


async def test_ask_user_definition_is_exposed_to_providers():
    provider = QueueProvider([[ReplyFinished()]])
    stage = TurnBench(provider)
    await run_turn(stage.ports, "Go.", None, stage.stop)
    [definition] = [tool for tool in provider.requests[0].tools if tool.name == "ask_user"]
    assert definition.model_description == AskUser.DESCRIPTION
    assert definition.parameters == AskUser.PARAMETERS
    assert definition.parameters["required"] == ["question"]


def test_ask_user_inquiry_source_is_the_assistant():
    assert AskUser().make_inquiry_source("ask_user") == InquirySource(SourceTag.ASSISTANT)


def test_ask_user_is_on_and_is_switched_by_its_name_alone():
    config = make_default_config(AskUser())
    assert config.enable == EnableConfig(state=True, allow_toggle=AllowToggle.IF_NAMED)
    assert config.questions["answer"].prompt_label == "Assistant"


async def test_remembered_answer_names_the_person_who_gave_it():
    bench = make_bench(EXCLUSIVE, Answer(value=True, remember=True, source=AnswerSource("Ada", 7)))
    await bench.run([make_call("c1", "fs")])
    await bench.run([make_call("c2", "fs")])
    by = {"kind": "memory", "name": "Ada", "id": 7}
    assert bench.recorder.notes(InquiryResponse)[-1] == {"by": by}
