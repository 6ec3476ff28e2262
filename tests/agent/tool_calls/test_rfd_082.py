"""The tests that RFD 082 lists for whoever runs tools, by the names it gives them.

Those of the stream alone are in ``tests/stream/test_rfd_082.py``.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from jpweb.agent.config import (
    ApprovalMode,
    ModelConfig,
    QuestionConfig,
    QuestionTarget,
    StaticAnswer,
)
from jpweb.agent.errors import FailureKind, InquiryFailed, ProviderFailed
from jpweb.agent.interrupts import Stop
from jpweb.agent.ports import (
    Answer,
    CompleteToolCall,
    Declined,
    Permitted,
    ReplyFinished,
    Skipped,
    StructuredReply,
    TextDelta,
)
from jpweb.agent.redaction import REDACTED_TEXT
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.inquiry_backend import LlmInquiryBackend
from jpweb.agent.tool_calls.turn_state import AnswerKey, PermissionKey, RememberedAnswer, TurnState
from jpweb.agent.tool_outcome import NeedsInput, Question, Success
from jpweb.agent.tools.local import LocalTool, ToolContext
from jpweb.stream import wire
from jpweb.stream.answer_type import Boolean, Option, Secret, Select, Text
from jpweb.stream.events import ToolCallRequest
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    Redacted,
    SourceTag,
)
from tests.agent.doubles import (
    CONFIRM,
    OutsideStub,
    QueueProvider,
    StubTool,
    ToolBench,
    TurnBench,
    make_asker,
    run_turn,
    wait_forever,
)
from tests.agent.tools.local import commands
from tests.builders import make_call
from tests.canary.spellings import has_secret

CALL = ToolCallRequest("call_1", "fs", {})
PASSPHRASE = Question("key", "Passphrase?", Secret())
CANARY = "correct horse battery"
KEY = AnswerKey("fs", "confirm")
ASSISTANT = QuestionConfig(QuestionTarget.ASSISTANT)


# Phase 2


@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("permitted", [True, False])
async def test_turn_cache_split(answer, permitted):
    """The question has the id that held permissions in the one map of old."""
    question = Question("__permission__", "?", Boolean())
    fs, other_tool = make_asker(question, name="fs"), make_asker(question, name="other")
    bench = ToolBench(
        (fs, other_tool),
        [Answer(answer, remember=True)],
        changes={"other": {"run": ApprovalMode.ASK}},
    )
    bench.prompter.decisions = [
        Permitted({}, remember=True) if permitted else Skipped(remember=True)
    ]
    await bench.run([CALL])
    answers = {AnswerKey("fs", "__permission__"): RememberedAnswer(answer)}
    assert bench.state.remembered_tool_answers == answers
    assert bench.state.remembered_permission_decisions == {}
    bench.replies.append(Declined(CancellationReason.USER))
    await bench.run([make_call("call_2", "other")])
    permissions = {PermissionKey("other"): permitted}
    assert bench.state.remembered_tool_answers == answers
    assert bench.state.remembered_permission_decisions == permissions
    # each is found again, by its own caller alone
    bench.replies[:] = [Declined(CancellationReason.USER)] if permitted else []
    await bench.run([CALL, make_call("call_3", "other")])
    assert fs.runs[-1] == {"__permission__": answer}
    assert len(bench.prompter.prompts) == 1
    assert (bench.state.remembered_tool_answers, bench.state.remembered_permission_decisions) == (
        answers,
        permissions,
    )


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        (CONFIRM, Declined(CancellationReason.USER)),
        (CONFIRM, Declined(CancellationReason.EXPIRED)),
        (PASSPHRASE, Answer(CANARY, remember=True)),
    ],
)
async def test_turn_cache_split_keeps_cancelled_and_redacted_out_of_both_maps(question, reply):
    bench = ToolBench(
        (make_asker(question, name="fs"),), [reply], changes={"fs": {"run": ApprovalMode.ASK}}
    )
    bench.prompter.decisions = [Permitted({})]
    await bench.run([CALL])
    assert isinstance(bench.recorder.outcomes[0], Cancelled | Redacted)
    assert bench.state.remembered_tool_answers == {}
    assert bench.state.remembered_permission_decisions == {}
    resumed = TurnState.from_elements(await bench.recorder.load_elements())
    assert resumed.remembered_tool_answers == {}
    assert resumed.remembered_permission_decisions == {}


# Phase 3


def pairs(recorder) -> Any:
    """Return the ids of requests and of responses, each in order."""
    return (
        [request.id for request in recorder.of(InquiryRequest)],
        [response.id for response in recorder.of(InquiryResponse)],
    )


async def test_attempt_counter():
    def run(arguments, answers) -> Any:
        good = answers.get("name") == "good"
        return Success("ok") if good else NeedsInput(Question("name", "?", Text()))

    bench = ToolBench((StubTool("fs", run),), [Answer("bad"), Answer("good")])
    await bench.run([CALL])
    ids = ["call_1.name.1", "call_1.name.2"]
    assert pairs(bench.recorder) == (ids, ids)


CYCLE = [CompleteToolCall("call_1", "fs", {}), ReplyFinished()]
DONE = [TextDelta("message", "Done."), ReplyFinished()]


async def turns(count, *replies) -> Any:
    stage = TurnBench(
        QueueProvider(replies),
        (make_asker(CONFIRM, name="fs"),),
        [Answer(value=True)] * len(replies),
    )
    for _ in range(count):
        await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup)
    return stage.recorder


async def test_cross_cycle_uniqueness_within_a_turn():
    ids = ["call_1.confirm.1", "call_1.confirm.2"]
    assert pairs(await turns(1, CYCLE, CYCLE, DONE)) == (ids, ids)


async def test_per_turn_reset():
    ids = ["call_1.confirm.1"] * 2
    assert pairs(await turns(2, CYCLE, DONE, CYCLE, DONE)) == (ids, ids)


async def test_secret_prompter_answer():
    bench = ToolBench((make_asker(PASSPHRASE, name="fs"),), [Answer(CANARY)])
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Redacted()]
    assert bench.tools[0].runs[-1] == {"key": CANARY}
    assert not has_secret(bench.recorder.raw(), CANARY)


async def test_secret_static_answer():
    config = QuestionConfig(answer=StaticAnswer(CANARY))
    bench = ToolBench((make_asker(PASSPHRASE, name="fs", config=config),))
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Redacted()]
    assert bench.tools[0].runs[-1] == {"key": CANARY}
    assert not has_secret(bench.recorder.raw(), CANARY)


OPENING = """
import json, os, sys
answers = json.load(open(os.environ["JPWEB_CONTEXT"]))["tool"]["answers"]
if "key" in answers:
    print("Opened with", answers["key"], "of", len(answers["key"]))
else:
    question = {"id": "key", "text": "Passphrase?", "answer_type": {"type": "secret"}}
    print(json.dumps({"type": "needs_input", "question": question}))
"""


async def test_local_tool_secret(tmp_path):
    configured = commands.make_config(commands.make_python_command(OPENING))
    local = LocalTool(configured, ToolContext(tmp_path, "otvo8", "jp-c1"))
    tool = OutsideStub("fs", local.execute)
    bench = ToolBench((tool,), [Answer(CANARY)], changes={"fs": {"source": configured.source}})
    await bench.run([CALL])
    assert bench.recorder.of(InquiryRequest)[0].question.answer_type == Secret()
    assert bench.recorder.outcomes == [Redacted()]
    text = f"Opened with {REDACTED_TEXT} of {len(CANARY)}\n"
    assert bench.recorder.results == [("call_1", text, False)]
    assert not has_secret(bench.recorder.raw(), CANARY)


async def test_cache_bypass():
    question = Question("confirm", "?", Secret())
    state = TurnState({KEY: RememberedAnswer("old")})
    bench = ToolBench((make_asker(question, name="fs"),), [Answer(CANARY, remember=True)], state)
    await bench.run([CALL])
    assert bench.tools[0].runs[-1] == {"confirm": CANARY}  # not read
    assert bench.state.remembered_tool_answers == {KEY: RememberedAnswer("old")}  # not written


@pytest.mark.parametrize(
    ("kind", "value"), [(Boolean(), False), (Select((Option("a"), Option("b"))), "b"), (Text(), "")]
)
async def test_non_secret_regression(kind, value):
    question = Question("confirm", "?", kind)
    bench = ToolBench((make_asker(question, name="fs"),), [Answer(value, remember=True)])
    await bench.run([CALL])
    await bench.run([make_call("call_2", "fs")])
    assert bench.recorder.outcomes == [Answered(value), Answered(value)]
    assert bench.state.remembered_tool_answers == {KEY: RememberedAnswer(value)}
    assert len(bench.prompter.questions) == 1


@pytest.mark.parametrize("call_id", ["call_1", "a.b", "", "1.2.3"])
@pytest.mark.parametrize("reply", [Answer(value=True), Declined(CancellationReason.USER)])
async def test_inquiry_id_round_trip_via_prompt_events(call_id, reply):
    bench = ToolBench((make_asker(CONFIRM, name="fs"),), [reply])
    await bench.run([make_call(call_id, "fs")])
    [prompt] = bench.prompter.questions
    assert pairs(bench.recorder) == ([prompt.inquiry_id], [prompt.inquiry_id])


class FailingBackend:
    def __init__(self, failure) -> None:
        self.failure = failure

    async def inquire(self, *_: Any) -> Any:
        raise self.failure


@pytest.mark.parametrize(
    "steps",
    [
        [ProviderFailed("Refused.", FailureKind.REFUSAL)],
        [TextDelta("message", "yes"), ReplyFinished()],
        [StructuredReply({"reply": True}), ReplyFinished()],
        [StructuredReply({"answer": "yes"}), ReplyFinished()],
        [CompleteToolCall("x", "fs", {}), ReplyFinished()],
    ],
    ids=["provider", "missing data", "no answer", "unfit answer", "other"],
)
async def test_cancellation_reason_mapping(steps):
    provider = QueueProvider([steps])
    backend = LlmInquiryBackend(lambda _: provider, ModelConfig("vendor", "model"))
    bench = ToolBench((make_asker(CONFIRM, name="fs", config=ASSISTANT),), backend=backend)
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Cancelled(CancellationReason.BACKEND_ERROR)]
    [(_, text, is_error)] = bench.recorder.results
    assert "You may retry" in text
    assert is_error


async def test_cancellation_reason_mapping_of_any_failure_of_a_backend():
    bench = ToolBench(
        (make_asker(CONFIRM, name="fs", config=ASSISTANT),),
        backend=FailingBackend(InquiryFailed("x")),
    )
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Cancelled(CancellationReason.BACKEND_ERROR)]
    assert bench.recorder.results == [
        ("call_1", model_messages.describe_backend_failure("fs", "confirm", "x"), True)
    ]


async def test_cancellation_reason_mapping_of_a_fired_token():
    class Stopping:
        async def inquire(self, *_: Any) -> Any:
            bench.stop.interrupt(Stop())
            await wait_forever()

    bench = ToolBench((make_asker(CONFIRM, name="fs", config=ASSISTANT),), backend=Stopping())
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Cancelled(CancellationReason.USER)]
    assert bench.recorder.results == [("call_1", model_messages.STOPPED, False)]


async def check_guard(target, reason, *, reachable) -> None:
    bench = ToolBench((make_asker(PASSPHRASE, name="fs", config=QuestionConfig(target)),))
    bench.prompter.is_reachable = reachable
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Cancelled(reason)]
    assert bench.recorder.results == [
        ("call_1", model_messages.describe_refusal("fs", "key", reason), True)
    ]
    assert bench.prompter.questions == []
    assert len(bench.tools[0].runs) == 1


async def test_secret_routing_guard_no_tty():
    await check_guard(QuestionTarget.USER, CancellationReason.NO_PROMPT_BACKEND, reachable=False)


@pytest.mark.parametrize("reachable", [True, False])
async def test_secret_routing_guard_assistant_target(reachable):
    reason = CancellationReason.ASSISTANT_ROUTING_DENIED
    await check_guard(QuestionTarget.ASSISTANT, reason, reachable=reachable)


async def test_assistant_attribution_of_a_synthetic_tool():
    tool = make_asker(CONFIRM, name="fs")
    tool.source = InquirySource(SourceTag.ASSISTANT)
    bench = ToolBench((tool, make_asker(CONFIRM, name="other")), [Answer(value=True)] * 2)
    await bench.run([CALL])
    await bench.run([make_call("call_2", "other")])
    sources = [request.source for request in bench.recorder.of(InquiryRequest)]
    assert sources == [tool.source, InquirySource.for_tool("other")]
    element_json = json.loads(wire.write_element(bench.recorder.events[0]).raw)
    assert element_json["source"] == {"source": "assistant"}


async def test_inquiry_request_is_recorded_before_the_question_is_shown():
    bench = ToolBench((make_asker(CONFIRM, name="fs"),), [Answer(value=True)])
    await bench.run([CALL])
    assert [type(kind) for kind in bench.prompter.on_record_when_asked[0]] == [InquiryRequest]
