"""A turn that was put down while it waited for people, and is rebuilt from the journal."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.config import DetachedPolicy, Mode, QuestionConfig, QuestionTarget
from jpweb.agent.ports import Answer, Declined, Permitted, ReplyFinished, Skipped, TextDelta
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_outcome import Question, Success
from jpweb.agent.turn import TurnEnd, resume_turn
from jpweb.stream.answer_type import Secret, Text
from jpweb.stream.events import ChatRequest, ConversationEvent, ToolCallResponse, TurnStart
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
    AT,
    CONFIRM,
    Bench,
    ListRecorder,
    OutsideStub,
    QueueProvider,
    Stage,
    asks,
    never,
    until,
)
from tests.builders import answered, called, returned

DONE = (TextDelta("message", "Done."), ReplyFinished())
CALL = called("c1", "tool")
WAITS = InquiryRequest(
    "c1.confirm.1", InquirySource.for_tool("tool"), CONFIRM.to_inquiry_question()
)
NOTE = {"tool_call_id": "c1", "tool": "tool", "question_id": "confirm", "attempt": 1}
EXPIRED, USER = CancellationReason.EXPIRED, CancellationReason.USER
PERSON = {"by": {"kind": "person"}}


def event(kind: Any, **note: Any) -> ConversationEvent:
    return ConversationEvent(AT, kind, {"jpweb": note} if note else {})


def ended(outcome: InquiryOutcome, **note: Any) -> ConversationEvent:
    return event(InquiryResponse("c1.confirm.1", outcome), **note)


def stage(*events: Any, tools: Any = None, replies: Any = (), **changes: Any) -> Any:
    before = [event(TurnStart()), event(ChatRequest("Go."))]
    recorder = ListRecorder(
        [*before, *(e if isinstance(e, ConversationEvent) else event(e) for e in events)]
    )
    tools = (asks(CONFIRM),) if tools is None else tools
    made = Stage(QueueProvider([DONE]), tools, list(replies), recorder)
    configs = tuple(replace(c, **changes.get(c.name, {})) for c in made.setup.tools)
    made.setup = replace(made.setup, tools=configs)
    return made


async def resume(made: Any, **known: Any) -> Any:
    end = await resume_turn(made.ports, made.stop, made.setup, **known)
    assert end is TurnEnd.COMPLETE
    return made.recorder.notes(ToolCallResponse)


# which calls were run again


async def test_a_call_that_waited_at_its_question_was_not_running():
    made = stage(CALL, event(WAITS, **NOTE), replies=[Answer(value=True)])
    assert await resume(made) == [None]


@pytest.mark.parametrize(
    "outcome", [Answered(answer=True), Cancelled(USER), Cancelled(EXPIRED)], ids=str
)
async def test_nor_was_one_whose_question_ended_while_it_was_put_down(outcome):
    made = stage(CALL, event(WAITS, **NOTE), ended(outcome, **PERSON))
    assert await resume(made) == [None]
    assert made.recorder.keeps == []


async def test_with_an_answer_that_had_reached_it_before_the_process_ended_it_was():
    made = stage(CALL, event(WAITS, **NOTE), ended(Answered(answer=True), **PERSON))
    assert await resume(made, crashed=True) == [{"again": True}]


@pytest.mark.parametrize("kind", ["configuration", "memory", "assistant"])
async def test_what_the_process_answered_itself_had_reached_the_call(kind):
    made = stage(CALL, event(WAITS, **NOTE), ended(Answered(answer=True), by={"kind": kind}))
    assert await resume(made) == [{"again": True}]


async def test_a_later_question_waits_though_an_earlier_one_was_answered():
    second = replace(WAITS, id="c1.second.1", question=CONFIRM.to_inquiry_question())
    tools = (asks(CONFIRM, replace(CONFIRM, id="second")),)
    made = stage(
        *(CALL, event(WAITS, **NOTE), ended(Answered(answer=True), **PERSON)),
        event(second, **NOTE | {"question_id": "second"}),
        tools=tools,
        replies=[Answer(value=False)],
    )
    assert await resume(made, crashed=True) == [None]
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
async def test_other_ends_of_a_question_leave_the_call_running(outcome, note):
    made = stage(CALL, event(WAITS, **NOTE), ended(outcome, **note), replies=[Answer(value=True)])
    assert await resume(made, crashed=True) == [{"again": True}]


async def test_a_tool_that_lived_while_it_asked_was_running():
    async def run(arguments: Any, answers: Any, ask: Any) -> Any:
        return Success(str((await ask(CONFIRM)).value))

    tools = (OutsideStub("tool", run),)
    first = Bench(tools, [never()])
    running = asyncio.create_task(first.run([CALL]))
    await until(lambda: first.prompter.asked)
    running.cancel()
    await asyncio.wait([running])
    [note] = first.recorder.notes(InquiryRequest)
    assert note == NOTE | {"person": True, "in_call": True}
    made = stage(CALL, event(WAITS, **note), tools=tools, replies=[Answer(value=True)])
    assert await resume(made, crashed=True) == [{"again": True}]


async def test_a_call_that_waited_for_permission_and_those_behind_it_had_not_begun():
    tools = (asks(), asks(name="free"))
    calls = [called("c0", "free"), CALL, called("c2", "tool"), called("c3", "free")]
    made = stage(*calls, tools=tools, tool={"run": Mode.ASK})
    made.prompter.decisions = [Permitted({}), Permitted({})]
    again = {"again": True}
    assert await resume(made, waiting=frozenset({"c1"})) == [again, None, None, again]


async def test_calls_before_the_one_that_waits_for_permission_had_got_theirs():
    calls = [CALL, called("c2", "tool")]
    made = stage(*calls, tools=(asks(),), tool={"run": Mode.EDIT})
    made.prompter.decisions = [Permitted({}), Permitted({})]
    assert await resume(made, waiting=frozenset({"c2"})) == [{"again": True}, None]


# permission


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.EDIT, Mode.UNATTENDED, Mode.SKIP])
async def test_who_was_asked_about_a_call_decides_though_nobody_is_there_now(mode):
    """They may have decided already, before they left: the policy is not asked again."""
    made = stage(CALL, tools=(asks(),), tool={"run": mode})
    made.setup = replace(made.setup, detached=DetachedPolicy.AUTO)
    made.prompter.is_reachable = False
    made.prompter.decisions = [Skipped("No.")]
    await resume(made, waiting=frozenset({"c1"}))
    assert made.recorder.results == [("c1", model_messages.describe_skip("No."), False)]
    assert made.prompter.prompts[0].edit is (mode is Mode.EDIT)


async def test_a_call_that_waits_at_its_question_is_not_asked_about_again():
    gated = {"tool": {"run": Mode.EDIT}}
    tools = (asks(CONFIRM),)
    first = Bench(tools, [never()], changes=gated)
    first.prompter.decisions = [Permitted({"n": 2})]
    running = asyncio.create_task(first.run([CALL]))
    await until(lambda: first.prompter.asked)
    running.cancel()
    await asyncio.wait([running])
    [note] = first.recorder.notes(InquiryRequest)
    assert note == NOTE | {"person": True, "permitted": True, "arguments": {"n": 2}}
    seen: list[Any] = []
    run = tools[0].run

    def watched(arguments: Any, answers: Any) -> Any:
        seen.append(dict(arguments))
        return run(arguments, answers)

    tools[0].run = watched
    made = stage(CALL, event(WAITS, **note), tools=tools, replies=[Answer(value=True)], **gated)
    assert await resume(made) == [{"arguments": {"n": 2}}]
    assert made.prompter.prompts == []
    assert seen == [{"n": 2}, {"n": 2}]


@pytest.mark.parametrize("noted", [None, "odd"])
async def test_a_call_that_was_permitted_as_it_is_runs_as_it_is(noted):
    note = NOTE | {"permitted": True} | ({} if noted is None else {"arguments": noted})
    made = stage(
        CALL, event(WAITS, **note), ended(Answered(answer=True), **PERSON), tool={"run": Mode.ASK}
    )
    assert await resume(made) == [None]
    assert made.prompter.prompts == []
    assert made.tools[0].runs == [{"confirm": True}]


async def test_a_call_that_was_running_needs_permission_again():
    note = NOTE | {"permitted": True}
    made = stage(
        CALL, event(WAITS, **note), ended(Answered(answer=True), **PERSON), tool={"run": Mode.ASK}
    )
    made.prompter.decisions = [Permitted({})]
    assert await resume(made, crashed=True) == [{"again": True}]
    assert len(made.prompter.prompts) == 1


async def test_another_call_of_its_id_was_not_permitted():
    before = [CALL, event(WAITS, **NOTE | {"permitted": True}), ended(Answered(answer=True))]
    made = stage(*before, returned("c1"), CALL, tools=(asks(),), tool={"run": Mode.ASK})
    made.prompter.decisions = [Skipped()]
    await resume(made)
    assert made.recorder.results[-1] == ("c1", model_messages.SKIPPED, False)


async def test_a_permission_is_noted_beside_the_questions_of_its_own_call_alone():
    first = Bench(
        (asks(CONFIRM), asks(CONFIRM, name="free")),
        [Answer(value=True)] * 3,
        changes={"tool": {"run": Mode.ASK}},
    )
    first.prompter.decisions = [Permitted({})]
    await first.run([CALL])
    await first.run([called("c1", "free")])
    notes = first.recorder.notes(InquiryRequest)
    assert [note.get("permitted") for note in notes] == [True, None]


@pytest.mark.parametrize(
    ("may_run", "text"),
    [(True, "done"), (False, model_messages.SKIPPED_REMEMBERED)],
    ids=["run", "skip"],
)
async def test_what_people_decided_for_the_rest_of_the_turn_still_holds(may_run, text):
    made = stage(CALL, tools=(asks(),), tool={"run": Mode.ASK})
    await resume(made, permissions={("tool", ""): may_run})
    assert made.recorder.results == [("c1", text, False)]
    assert made.prompter.prompts == []


# questions


@pytest.mark.parametrize("exclusive", [True, False])
async def test_a_question_to_a_person_waits_on_for_one_though_nobody_is_there_now(exclusive):
    question = replace(CONFIRM, exclusive=exclusive)
    waits = replace(WAITS, question=question.to_inquiry_question())
    tools = (asks(question),)
    made = stage(CALL, event(waits, **NOTE), tools=tools, replies=[Answer(value=True)])
    made.setup = replace(made.setup, detached=DetachedPolicy.AUTO)
    made.prompter.is_reachable = False
    await resume(made)
    assert [asked.inquiry_id for asked in made.prompter.asked] == ["c1.confirm.1"]


async def test_after_a_process_ended_the_policy_decides_about_open_questions_again():
    question = replace(CONFIRM, exclusive=True)
    waits = replace(WAITS, question=question.to_inquiry_question())
    made = stage(CALL, event(waits, **NOTE), tools=(asks(question),))
    made.setup = replace(made.setup, detached=DetachedPolicy.AUTO)
    made.prompter.is_reachable = False
    await resume(made, crashed=True)
    reason = CancellationReason.NO_PROMPT_BACKEND
    assert made.recorder.outcomes == [Cancelled(reason)]


async def test_a_question_for_the_assistant_does_not_become_a_persons():
    class Backend:
        async def inquire(self, *_: Any) -> Any:
            return True

    config = QuestionConfig(QuestionTarget.ASSISTANT)
    made = stage(CALL, event(WAITS, **NOTE), tools=(asks(CONFIRM, config=config),))
    made.ports = replace(made.ports, backend=Backend())
    await resume(made)
    assert made.recorder.outcomes == [Answered(answer=True)]
    assert made.prompter.asked == []


async def live(declined: Declined, config: QuestionConfig | None = None) -> Any:
    bench = Bench((asks(CONFIRM, config=config),), [declined])
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
async def test_a_question_that_ended_while_the_turn_was_put_down_ends_its_call_as_if_it_were_up(
    declined, text, is_error
):
    bench = await live(declined)
    assert bench.recorder.results == [("c1", text, is_error)]
    assert len(bench.tools[0].runs) == 1
    response = bench.recorder.events[1]
    made = stage(CALL, event(WAITS, **NOTE), response)
    assert await resume(made) == [None]
    assert made.prompter.asked == []
    assert made.recorder.results == bench.recorder.results
    assert len(made.tools[0].runs) == 1


async def test_a_note_that_is_no_text_is_none():
    made = stage(CALL, event(WAITS, **NOTE), ended(Cancelled(USER), note=["x"], **PERSON))
    await resume(made)
    assert made.recorder.results == [("c1", model_messages.INPUT_CANCELLED, False)]


async def test_what_closed_a_question_counts_no_longer_once_it_was_asked_anew():
    second = replace(WAITS, id="c1.confirm.2")
    made = stage(
        *(CALL, event(WAITS, **NOTE), ended(Cancelled(USER), **PERSON)),
        event(second, **NOTE | {"attempt": 2}),
        replies=[Answer(value=True)],
    )
    await resume(made)
    assert [asked.inquiry_id for asked in made.prompter.asked] == ["c1.confirm.2"]
    assert made.recorder.results == [("c1", "done", False)]


async def test_a_question_tells_when_it_expires_and_does_so_after_the_turn_was_put_down_too():
    config = QuestionConfig(expires_after=90.0)
    bench = await live(Declined(USER), config)
    tools = (asks(CONFIRM, config=config),)
    made = stage(CALL, event(WAITS, **NOTE), tools=tools, replies=[Answer(value=True)])
    await resume(made)
    asked = [*bench.prompter.asked, *made.prompter.asked]
    assert [each.expires_after for each in asked] == [90.0, 90.0]


async def test_a_question_without_an_expiry_waits_for_ever():
    bench = await live(Declined(USER))
    assert [each.expires_after for each in bench.prompter.asked] == [None]


async def test_a_secret_that_was_given_before_is_asked_for_again():
    question = Question("confirm", "Key?", Secret())
    waits = replace(WAITS, question=question.to_inquiry_question())
    made = stage(
        *(CALL, event(waits, **NOTE), ended(Redacted(), **PERSON)),
        tools=(asks(question),),
        replies=[Answer("hunter2")],
    )
    assert await resume(made) == [{"again": True}]
    assert [asked.inquiry_id for asked in made.prompter.asked] == ["c1.confirm.2"]


async def test_two_calls_wait_and_the_one_that_was_answered_goes_on_alone():
    """The other stays as it is: its question keeps its number, and nobody is asked twice."""
    other = Question("other", "?", Text())
    tools = (asks(CONFIRM), asks(other, name="b"))
    waits = InquiryRequest("c2.other.1", InquirySource.for_tool("b"), other.to_inquiry_question())
    note = {"tool_call_id": "c2", "tool": "b", "question_id": "other", "attempt": 1}
    made = stage(
        *(CALL, called("c2", "b"), event(WAITS, **NOTE), event(waits, **note)),
        event(answered("c1.confirm.1"), **PERSON),
        tools=tools,
        replies=[never()],
    )
    running = asyncio.create_task(
        resume_turn(made.ports, made.stop, made.setup, waiting=frozenset())
    )
    await made.ports.idle_tracker.wait_idle()
    assert [asked.inquiry_id for asked in made.prompter.asked] == ["c2.other.1"]
    assert list(made.recorder.held) == ["c1"]
    running.cancel()
    await asyncio.wait([running])
    assert made.recorder.of(InquiryRequest) == [WAITS, waits]
