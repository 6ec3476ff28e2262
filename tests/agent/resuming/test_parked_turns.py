"""A parked turn, rebuilt from the journal."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.config import ApprovalMode, DetachedPolicy, QuestionConfig, QuestionTarget
from jpweb.agent.ports import Answer, Declined, Permitted, Skipped
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_outcome import Question, Success
from jpweb.agent.turn import TurnEnd, resume_turn
from jpweb.stream.answer_type import Secret, Text
from jpweb.stream.events import ConversationEvent, ToolCallResponse
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryOutcome,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    Redacted,
)
from tests.agent.doubles import (
    CONFIRM,
    OutsideStub,
    ToolBench,
    make_asker,
    wait_forever,
    wait_until,
)
from tests.agent.resuming.journals import CALL, NOTE, WAITS, event, make_turn, resume
from tests.builders import make_answer, make_call, make_result

EXPIRED, USER = CancellationReason.EXPIRED, CancellationReason.USER
PERSON = {"by": {"kind": "person"}}


def settle(outcome: InquiryOutcome, **note: Any) -> ConversationEvent:
    return event(InquiryResponse("c1.confirm.1", outcome), **note)


async def resume_to_notes(turn: Any, **options: Any) -> Any:
    """Resume a turn to its end; returns the notes of its calls' responses."""
    assert await resume(turn, **options) is TurnEnd.COMPLETE
    return turn.recorder.notes(ToolCallResponse)


# which calls were run again


async def test_a_call_that_waited_at_its_question_was_not_running():
    turn = make_turn(CALL, event(WAITS, **NOTE), replies=[Answer(value=True)])
    assert await resume_to_notes(turn) == [None]


@pytest.mark.parametrize(
    "outcome", [Answered(answer=True), Cancelled(USER), Cancelled(EXPIRED)], ids=str
)
async def test_parked_call_with_a_settled_question_was_not_running(outcome):
    turn = make_turn(CALL, event(WAITS, **NOTE), settle(outcome, **PERSON))
    assert await resume_to_notes(turn) == [None]
    assert turn.recorder.saved_progress == []


async def test_call_that_had_its_answer_before_the_process_ended_had_begun():
    turn = make_turn(CALL, event(WAITS, **NOTE), settle(Answered(answer=True), **PERSON))
    assert await resume_to_notes(turn, has_crashed=True) == [{"again": True}]


@pytest.mark.parametrize("kind", ["configuration", "memory", "assistant"])
async def test_answer_without_a_person_marks_the_call_as_running(kind):
    turn = make_turn(CALL, event(WAITS, **NOTE), settle(Answered(answer=True), by={"kind": kind}))
    assert await resume_to_notes(turn) == [{"again": True}]


async def test_a_later_question_waits_though_an_earlier_one_was_answered():
    second = replace(WAITS, id="c1.second.1", question=CONFIRM.to_inquiry_question())
    tools = (make_asker(CONFIRM, replace(CONFIRM, id="second")),)
    turn = make_turn(
        *(CALL, event(WAITS, **NOTE), settle(Answered(answer=True), **PERSON)),
        event(second, **NOTE | {"question_id": "second"}),
        tools=tools,
        replies=[Answer(value=False)],
    )
    assert await resume_to_notes(turn, has_crashed=True) == [None]
    assert tools[0].runs[-1] == {"confirm": True, "second": False}


@pytest.mark.parametrize(
    ("outcome", "note"),
    [
        (Redacted(), {}),
        (Cancelled(CancellationReason.LOST), {}),
        (Cancelled(CancellationReason.BACKEND_ERROR), {}),
        (Cancelled(USER), {"withdrawn": True}),
        (Answered(answer=True), {"by": "odd"}),
    ],
)
async def test_question_settled_otherwise_marks_the_call_as_running(outcome, note):
    turn = make_turn(
        CALL, event(WAITS, **NOTE), settle(outcome, **note), replies=[Answer(value=True)]
    )
    assert await resume_to_notes(turn, has_crashed=True) == [{"again": True}]


async def test_call_with_a_question_inside_its_run_was_running():
    async def run(arguments: Any, answers: Any, ask: Any) -> Any:
        return Success(str((await ask(CONFIRM)).value))

    tools = (OutsideStub("tool", run),)
    first = ToolBench(tools, [wait_forever()])
    task = asyncio.create_task(first.run([CALL]))
    await wait_until(lambda: first.prompter.questions)
    task.cancel()
    await asyncio.wait([task])
    [note] = first.recorder.notes(InquiryRequest)
    assert note == NOTE | {"person": True, "in_call": True}
    turn = make_turn(CALL, event(WAITS, **note), tools=tools, replies=[Answer(value=True)])
    assert await resume_to_notes(turn, has_crashed=True) == [{"again": True}]


async def test_call_that_waited_for_permission_and_later_ones_had_not_begun():
    tools = (make_asker(), make_asker(name="free"))
    calls = [make_call("c0", "free"), CALL, make_call("c2", "tool"), make_call("c3", "free")]
    turn = make_turn(*calls, tools=tools, tool={"run": ApprovalMode.ASK})
    turn.prompter.decisions = [Permitted({}), Permitted({})]
    rerun_note = {"again": True}
    assert await resume_to_notes(turn, waiting_call_ids=frozenset({"c1"})) == [
        rerun_note,
        None,
        None,
        rerun_note,
    ]


async def test_calls_before_the_one_awaiting_permission_were_permitted():
    calls = [CALL, make_call("c2", "tool")]
    turn = make_turn(*calls, tools=(make_asker(),), tool={"run": ApprovalMode.EDIT})
    turn.prompter.decisions = [Permitted({}), Permitted({})]
    assert await resume_to_notes(turn, waiting_call_ids=frozenset({"c2"})) == [
        {"again": True},
        None,
    ]


# permission


@pytest.mark.parametrize(
    "mode", [ApprovalMode.ASK, ApprovalMode.EDIT, ApprovalMode.UNATTENDED, ApprovalMode.SKIP]
)
async def test_permission_asked_before_parking_skips_the_detached_policy(mode):
    """They may have decided already, before they left: the policy is not asked again."""
    turn = make_turn(CALL, tools=(make_asker(),), tool={"run": mode})
    turn.setup = replace(turn.setup, detached=DetachedPolicy.AUTO)
    turn.prompter.is_reachable = False
    turn.prompter.decisions = [Skipped("No.")]
    await resume_to_notes(turn, waiting_call_ids=frozenset({"c1"}))
    assert turn.recorder.results == [("c1", model_messages.describe_skip("No."), False)]
    assert turn.prompter.prompts[0].edit is (mode is ApprovalMode.EDIT)


async def test_a_call_that_waits_at_its_question_is_not_asked_about_again():
    gated = {"tool": {"run": ApprovalMode.EDIT}}
    tools = (make_asker(CONFIRM),)
    first = ToolBench(tools, [wait_forever()], changes=gated)
    first.prompter.decisions = [Permitted({"n": 2})]
    task = asyncio.create_task(first.run([CALL]))
    await wait_until(lambda: first.prompter.questions)
    task.cancel()
    await asyncio.wait([task])
    [note] = first.recorder.notes(InquiryRequest)
    assert note == NOTE | {"person": True, "permitted": True, "arguments": {"n": 2}}
    run_arguments: list[Any] = []
    run = tools[0].run

    def run_recorded(arguments: Any, answers: Any) -> Any:
        run_arguments.append(dict(arguments))
        return run(arguments, answers)

    tools[0].run = run_recorded
    turn = make_turn(CALL, event(WAITS, **note), tools=tools, replies=[Answer(value=True)], **gated)
    assert await resume_to_notes(turn) == [{"arguments": {"n": 2}}]
    assert turn.prompter.prompts == []
    assert run_arguments == [{"n": 2}, {"n": 2}]


@pytest.mark.parametrize("edits", [None, "odd"])
async def test_a_call_that_was_permitted_as_it_is_runs_as_it_is(edits):
    note = NOTE | {"permitted": True} | ({} if edits is None else {"arguments": edits})
    turn = make_turn(
        CALL,
        event(WAITS, **note),
        settle(Answered(answer=True), **PERSON),
        tool={"run": ApprovalMode.ASK},
    )
    assert await resume_to_notes(turn) == [None]
    assert turn.prompter.prompts == []
    assert turn.tools[0].runs == [{"confirm": True}]


async def test_a_call_that_was_running_needs_permission_again():
    note = NOTE | {"permitted": True}
    turn = make_turn(
        CALL,
        event(WAITS, **note),
        settle(Answered(answer=True), **PERSON),
        tool={"run": ApprovalMode.ASK},
    )
    turn.prompter.decisions = [Permitted({})]
    assert await resume_to_notes(turn, has_crashed=True) == [{"again": True}]
    assert len(turn.prompter.prompts) == 1


async def test_permission_does_not_apply_to_a_later_call_of_its_id():
    before = [CALL, event(WAITS, **NOTE | {"permitted": True}), settle(Answered(answer=True))]
    turn = make_turn(
        *before, make_result("c1"), CALL, tools=(make_asker(),), tool={"run": ApprovalMode.ASK}
    )
    turn.prompter.decisions = [Skipped()]
    await resume_to_notes(turn)
    assert turn.recorder.results[-1] == ("c1", model_messages.SKIPPED, False)


async def test_a_permission_is_noted_beside_the_questions_of_its_own_call_alone():
    first = ToolBench(
        (make_asker(CONFIRM), make_asker(CONFIRM, name="free")),
        [Answer(value=True)] * 3,
        changes={"tool": {"run": ApprovalMode.ASK}},
    )
    first.prompter.decisions = [Permitted({})]
    await first.run([CALL])
    await first.run([make_call("c1", "free")])
    notes = first.recorder.notes(InquiryRequest)
    assert [note.get("permitted") for note in notes] == [True, None]


@pytest.mark.parametrize(
    ("may_run", "text"),
    [(True, "done"), (False, model_messages.SKIPPED_REMEMBERED)],
    ids=["run", "skip"],
)
async def test_permission_for_the_turn_holds_after_parking(may_run, text):
    turn = make_turn(CALL, tools=(make_asker(),), tool={"run": ApprovalMode.ASK})
    await resume_to_notes(turn, permissions={("tool", ""): may_run})
    assert turn.recorder.results == [("c1", text, False)]
    assert turn.prompter.prompts == []


# questions


@pytest.mark.parametrize("exclusive", [True, False])
async def test_question_to_a_person_stays_open_after_resuming_without_one(exclusive):
    question = replace(CONFIRM, exclusive=exclusive)
    request = replace(WAITS, question=question.to_inquiry_question())
    tools = (make_asker(question),)
    turn = make_turn(CALL, event(request, **NOTE), tools=tools, replies=[Answer(value=True)])
    turn.setup = replace(turn.setup, detached=DetachedPolicy.AUTO)
    turn.prompter.is_reachable = False
    await resume_to_notes(turn)
    assert [prompt.inquiry_id for prompt in turn.prompter.questions] == ["c1.confirm.1"]


async def test_rebuilt_turn_applies_the_policy_to_open_questions_again():
    question = replace(CONFIRM, exclusive=True)
    request = replace(WAITS, question=question.to_inquiry_question())
    turn = make_turn(CALL, event(request, **NOTE), tools=(make_asker(question),))
    turn.setup = replace(turn.setup, detached=DetachedPolicy.AUTO)
    turn.prompter.is_reachable = False
    await resume_to_notes(turn, has_crashed=True)
    reason = CancellationReason.NO_PROMPT_BACKEND
    assert turn.recorder.outcomes == [Cancelled(reason)]


async def test_a_question_for_the_assistant_does_not_become_a_persons():
    class AffirmingBackend:
        async def inquire(self, *_: Any) -> Any:
            return True

    config = QuestionConfig(QuestionTarget.ASSISTANT)
    turn = make_turn(CALL, event(WAITS, **NOTE), tools=(make_asker(CONFIRM, config=config),))
    turn.ports = replace(turn.ports, backend=AffirmingBackend())
    await resume_to_notes(turn)
    assert turn.recorder.outcomes == [Answered(answer=True)]
    assert turn.prompter.questions == []


async def live(declined: Declined, config: QuestionConfig | None = None) -> Any:
    bench = ToolBench((make_asker(CONFIRM, config=config),), [declined])
    await bench.run([CALL])
    return bench


@pytest.mark.parametrize(
    ("declined", "text", "is_error"),
    [
        (Declined(EXPIRED), model_messages.describe_unanswered("tool", "confirm", EXPIRED), True),
        (Declined(USER), model_messages.INPUT_CANCELLED, False),
        (Declined(USER, "Ask Ann."), "Tool input cancelled by user: Ask Ann.", False),
    ],
    ids=["expired", "declined", "noted"],
)
async def test_question_that_ended_while_parked_ends_its_call_as_if_running(
    declined, text, is_error
):
    bench = await live(declined)
    assert bench.recorder.results == [("c1", text, is_error)]
    assert len(bench.tools[0].runs) == 1
    response = bench.recorder.events[1]
    turn = make_turn(CALL, event(WAITS, **NOTE), response)
    assert await resume_to_notes(turn) == [None]
    assert turn.prompter.questions == []
    assert turn.recorder.results == bench.recorder.results
    assert len(turn.tools[0].runs) == 1


async def test_a_note_that_is_no_text_is_none():
    turn = make_turn(CALL, event(WAITS, **NOTE), settle(Cancelled(USER), note=["x"], **PERSON))
    await resume_to_notes(turn)
    assert turn.recorder.results == [("c1", model_messages.INPUT_CANCELLED, False)]


async def test_repeated_question_ignores_its_earlier_outcome():
    second = replace(WAITS, id="c1.confirm.2")
    turn = make_turn(
        *(CALL, event(WAITS, **NOTE), settle(Cancelled(USER), **PERSON)),
        event(second, **NOTE | {"attempt": 2}),
        replies=[Answer(value=True)],
    )
    await resume_to_notes(turn)
    assert [prompt.inquiry_id for prompt in turn.prompter.questions] == ["c1.confirm.2"]
    assert turn.recorder.results == [("c1", "done", False)]


async def test_question_expires_at_its_stated_time_also_after_parking():
    config = QuestionConfig(expires_after=90.0)
    bench = await live(Declined(USER), config)
    tools = (make_asker(CONFIRM, config=config),)
    turn = make_turn(CALL, event(WAITS, **NOTE), tools=tools, replies=[Answer(value=True)])
    await resume_to_notes(turn)
    prompts = [*bench.prompter.questions, *turn.prompter.questions]
    assert [prompt.expires_after for prompt in prompts] == [90.0, 90.0]


async def test_a_question_without_an_expiry_waits_for_ever():
    bench = await live(Declined(USER))
    assert [prompt.expires_after for prompt in bench.prompter.questions] == [None]


async def test_a_secret_that_was_given_before_is_asked_for_again():
    question = Question("confirm", "Key?", Secret())
    request = replace(WAITS, question=question.to_inquiry_question())
    turn = make_turn(
        *(CALL, event(request, **NOTE), settle(Redacted(), **PERSON)),
        tools=(make_asker(question),),
        replies=[Answer("hunter2")],
    )
    assert await resume_to_notes(turn) == [{"again": True}]
    assert [prompt.inquiry_id for prompt in turn.prompter.questions] == ["c1.confirm.2"]


async def test_resumed_turn_continues_only_the_answered_of_two_calls():
    """The other stays as it is: its question keeps its number, and nobody is asked twice."""
    other_question = Question("other", "?", Text())
    tools = (make_asker(CONFIRM), make_asker(other_question, name="b"))
    request = InquiryRequest(
        "c2.other.1", InquirySource.for_tool("b"), other_question.to_inquiry_question()
    )
    note = {"tool_call_id": "c2", "tool": "b", "question_id": "other", "attempt": 1}
    turn = make_turn(
        *(CALL, make_call("c2", "b"), event(WAITS, **NOTE), event(request, **note)),
        event(make_answer("c1.confirm.1"), **PERSON),
        tools=tools,
        replies=[wait_forever()],
    )
    task = asyncio.create_task(resume_turn(turn.ports, turn.stop, turn.setup))
    await turn.ports.idle_tracker.wait_idle()
    assert [prompt.inquiry_id for prompt in turn.prompter.questions] == ["c2.other.1"]
    assert list(turn.recorder.progress) == ["c1"]
    task.cancel()
    await asyncio.wait([task])
    assert turn.recorder.of(InquiryRequest) == [WAITS, request]
