"""Questions that an ended process left open: who may answer them, and when they are closed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.config import DetachedPolicy, Mode, QuestionConfig, QuestionTarget
from jpweb.agent.interrupts import Respond, Restart, Stop
from jpweb.agent.ports import Answer, ReplyFinished, Skipped, TextDelta
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_outcome import CallProgress, Question, Success
from jpweb.agent.turn import TurnEnd, resume_turn
from jpweb.stream.answer_type import Secret
from jpweb.stream.events import ChatRequest, ConversationEvent, ToolCallResponse, TurnStart
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
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
from tests.builders import called

CALL = called("c1", "tool")
WAITS = InquiryRequest(
    "c1.confirm.1", InquirySource.for_tool("tool"), CONFIRM.to_inquiry_question()
)
NOTE = {"tool_call_id": "c1", "tool": "tool", "question_id": "confirm", "attempt": 1}
WITH_PERSON = NOTE | {"person": True}
LOST, USER = Cancelled(CancellationReason.LOST), Cancelled(CancellationReason.USER)


def event(kind: Any, **note: Any) -> ConversationEvent:
    return ConversationEvent(AT, kind, {"jpweb": note} if note else {})


def stage(*events: Any, tools: Sequence[Any] = (), replies: Any = ()) -> Any:
    """Return a turn that stands at these events, with a tool that asks unless told otherwise."""
    before = [event(TurnStart()), event(ChatRequest("Go.")), *events]
    recorder = ListRecorder([e if isinstance(e, ConversationEvent) else event(e) for e in before])
    provider = QueueProvider([(TextDelta("message", "Done."), ReplyFinished())])
    return Stage(provider, tuple(tools) or (asks(CONFIRM),), list(replies), recorder)


async def resume(made: Any, **known: Any) -> TurnEnd:
    return await resume_turn(made.ports, made.stop, made.setup, **known)


def closed(made: Any) -> list[tuple[str, Any]]:
    """Return what was closed, after a check that it was before any call's response."""
    kinds = [kind for kind in made.recorder.kinds if isinstance(kind, InquiryResponse)]
    ends = [type(k) for k in made.recorder.kinds]
    if kinds:
        last = len(ends) - 1 - ends[::-1].index(InquiryResponse)
        assert last < ends.index(ToolCallResponse)
    return [(response.id, response.outcome) for response in kinds]


# closed with its call


@pytest.mark.parametrize("crashed", [True, False])
@pytest.mark.parametrize("said", [Respond("Leave it."), Respond(), Stop()])
async def test_a_turn_that_is_woken_by_an_interrupt_closes_what_waits(said, crashed):
    made = stage(CALL, event(WAITS, **WITH_PERSON))
    made.stop.interrupt(said)
    end = await resume(made, crashed=crashed)
    assert end is (TurnEnd.STOPPED if isinstance(said, Stop) else TurnEnd.COMPLETE)
    assert closed(made) == [("c1.confirm.1", USER)]
    assert made.tools[0].runs == []


async def test_what_is_said_while_questions_are_closed_is_something_else():
    made = stage(CALL, event(WAITS, **NOTE))
    withdraw = made.prompter.withdraw

    async def withdraw_and_say(*what: Any) -> None:
        await withdraw(*what)
        made.stop.interrupt(Respond("And this."))

    made.prompter.withdraw = withdraw_and_say
    made.stop.interrupt(Respond("Leave it."))
    assert await resume(made) is TurnEnd.COMPLETE
    assert made.recorder.results == [("c1", model_messages.describe_response("Leave it."), False)]
    assert made.recorder.of(ChatRequest)[1:] == [ChatRequest("And this.")]


async def test_a_restart_leaves_it_open_for_the_call_that_asks_it_again():
    made = stage(CALL, event(WAITS, **NOTE), replies=[Answer(value=True)])
    made.stop.interrupt(Restart())
    assert await resume(made) is TurnEnd.COMPLETE
    assert closed(made) == [("c1.confirm.1", Answered(answer=True))]


async def test_a_tool_that_asks_no_more_does_not_leave_its_question_open():
    made = stage(CALL, event(WAITS, **WITH_PERSON), tools=[asks()])
    assert await resume(made, crashed=True) is TurnEnd.COMPLETE
    assert closed(made) == [("c1.confirm.1", LOST)]
    assert made.recorder.results == [("c1", "done", False)]


async def test_nor_does_a_call_that_is_skipped_or_refused_or_whose_tool_is_gone():
    calls = [called("c1", "gated"), called("c2", "gone"), called("c3", "kept")]
    waits = [
        event(replace(WAITS, id=f"{call.id}.q"), **NOTE | {"tool_call_id": call.id})
        for call in calls
    ]
    made = stage(*calls, *waits, tools=[asks(name="gated"), asks(name="kept")])
    gated, kept = made.setup.tools
    made.setup = replace(made.setup, tools=(replace(gated, run=Mode.ASK), kept))
    made.prompter.decisions = [Skipped()]
    made.recorder.held["c3"] = CallProgress("before", is_final=True)
    assert await resume(made, crashed=True) is TurnEnd.COMPLETE
    assert closed(made) == [("c1.q", LOST), ("c2.q", LOST), ("c3.q", LOST)]


async def test_each_of_several_questions_is_closed_once_whatever_their_ids_share():
    second = replace(WAITS, id="c1.confirm.2")
    third = replace(WAITS, id="c1.other.1")
    waits = [event(WAITS, **NOTE), event(second, **NOTE | {"attempt": 2})]
    other = event(third, **NOTE | {"question_id": "other"})
    made = stage(CALL, CALL, *waits, other, tools=[asks()])
    assert await resume(made) is TurnEnd.COMPLETE
    assert closed(made) == [(each.id, LOST) for each in (WAITS, second, third)]


async def test_an_answer_closes_no_other_question_of_its_key():
    second = replace(WAITS, id="c1.confirm.2")
    answer = event(InquiryResponse("c1.confirm.1", Answered(answer=True)))
    waits = [event(WAITS, **NOTE), event(second, **NOTE | {"attempt": 2})]
    made = stage(CALL, *waits, answer, tools=[asks()])
    assert await resume(made) is TurnEnd.COMPLETE
    assert closed(made)[1:] == [("c1.confirm.2", LOST)]


async def test_what_is_closed_is_handed_on_as_it_was_asked():
    secret = Question("confirm", "Key?", Secret(), context="Vault", exclusive=True)
    waits = replace(WAITS, question=secret.to_inquiry_question())
    made = stage(CALL, event(waits, **NOTE), tools=[asks()])
    handed: list[Any] = []

    async def withdraw(asked: Any, _reason: Any) -> None:
        handed.append((asked.inquiry_id, asked.question, asked.source, asked.tool_name))

    made.prompter.withdraw = withdraw
    await resume(made)
    assert handed == [("c1.confirm.1", secret, WAITS.source, "tool")]


# open for whom it was put before


def detached(made: Any, policy: DetachedPolicy) -> Any:
    made.setup = replace(made.setup, detached=policy)
    made.prompter.is_reachable = False
    return made


@pytest.mark.parametrize("policy", list(DetachedPolicy))
@pytest.mark.parametrize("exclusive", [True, False])
async def test_after_a_crash_too_it_waits_for_the_people_it_was_put_before(policy, exclusive):
    question = replace(CONFIRM, exclusive=exclusive, default=False)
    waits = replace(WAITS, question=question.to_inquiry_question())
    made = stage(
        *(CALL, event(waits, **WITH_PERSON)), tools=[asks(question)], replies=[Answer(value=True)]
    )
    assert await resume(detached(made, policy), crashed=True) is TurnEnd.COMPLETE
    assert [asked.inquiry_id for asked in made.prompter.asked] == ["c1.confirm.1"]
    assert closed(made) == [("c1.confirm.1", Answered(answer=True))]


@pytest.mark.parametrize("noted", [{}, {"person": "true"}, {"person": False}])
async def test_one_that_was_not_is_decided_about_again(noted):
    made = stage(CALL, event(WAITS, **NOTE | noted))
    await resume(detached(made, DetachedPolicy.DENY), crashed=True)
    assert closed(made) == [("c1.confirm.1", Cancelled(CancellationReason.NO_PROMPT_BACKEND))]


async def test_another_question_of_that_id_was_not_put_before_anybody():
    before = replace(WAITS, question=replace(CONFIRM, text="Another?").to_inquiry_question())
    made = stage(CALL, event(before, **WITH_PERSON))
    await resume(detached(made, DetachedPolicy.DENY), crashed=True)
    nobody = Cancelled(CancellationReason.NO_PROMPT_BACKEND)
    assert closed(made) == [("c1.confirm.1", LOST), ("c1.confirm.2", nobody)]
    assert made.recorder.notes(InquiryRequest)[1] == NOTE | {"attempt": 2}


async def test_of_two_that_wait_each_is_gone_on_with_under_its_own_number():
    async def run(arguments: Any, answers: Any, ask: Any) -> Any:
        return Success(str([(await ask(each)).value for each in (other, CONFIRM)]))

    other = replace(CONFIRM, id="other")
    waits = [event(WAITS, **WITH_PERSON)]
    waits.append(event(replace(WAITS, id="c1.other.1"), **WITH_PERSON | {"question_id": "other"}))
    made = stage(
        *(CALL, *waits),
        tools=[OutsideStub("tool", run)],
        replies=[Answer(value=True), Answer(value=False)],
    )
    await resume(detached(made, DetachedPolicy.DENY), crashed=True)
    assert [asked.inquiry_id for asked in made.prompter.asked] == ["c1.other.1", "c1.confirm.1"]
    assert made.recorder.results == [("c1", "[True, False]", False)]


async def test_beside_the_request_stands_whether_people_are_asked():
    async def run(arguments: Any, answers: Any, ask: Any) -> Any:
        return Success(str(await ask(CONFIRM)))

    assistant = QuestionConfig(QuestionTarget.ASSISTANT)
    tools = (asks(CONFIRM), OutsideStub("outside", run), asks(CONFIRM, name="a", config=assistant))
    bench = Bench(tools, [never(), never()])
    calls = [CALL, called("c2", "outside"), called("c3", "a")]
    running = asyncio.create_task(bench.run(calls))
    await until(lambda: len(bench.prompter.asked) == 2 and bench.recorder.outcomes)
    running.cancel()
    await asyncio.wait([running])
    notes = {note["tool_call_id"]: note for note in bench.recorder.notes(InquiryRequest)}
    assert [notes[call.id].get("person") for call in calls] == [True, True, None]
