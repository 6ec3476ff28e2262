"""Questions that an ended process left open: who may answer them, and when they are closed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.config import (
    ApprovalMode,
    DetachedPolicy,
    QuestionConfig,
    QuestionTarget,
    StaticAnswer,
)
from jpweb.agent.errors import SettlementConflict
from jpweb.agent.interrupts import Respond, Restart, Stop
from jpweb.agent.ports import Answer, Declined, Skipped
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_outcome import CallProgress, Question, Success
from jpweb.agent.turn import TurnEnd
from jpweb.stream.answer_type import Secret
from jpweb.stream.events import ChatRequest, ConversationEvent, ToolCallResponse
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
)
from tests.agent.doubles import (
    CONFIRM,
    OutsideStub,
    ToolBench,
    make_asker,
    wait_forever,
    wait_until,
)
from tests.agent.recorder import ListRecorder
from tests.agent.resuming.journals import CALL, NOTE, WAITS, event, make_turn, resume
from tests.builders import make_call

WITH_PERSON = NOTE | {"person": True}
LOST, USER = Cancelled(CancellationReason.LOST), Cancelled(CancellationReason.USER)


def list_closed_questions(turn: Any) -> list[tuple[str, Any]]:
    """Return what was closed, after a check that it was before any call's response."""
    kinds = [kind for kind in turn.recorder.kinds if isinstance(kind, InquiryResponse)]
    kind_types = [type(k) for k in turn.recorder.kinds]
    if kinds:
        last = len(kind_types) - 1 - kind_types[::-1].index(InquiryResponse)
        assert last < kind_types.index(ToolCallResponse)
    return [(response.id, response.outcome) for response in kinds]


# closed with its call


@pytest.mark.parametrize("crashed", [True, False])
@pytest.mark.parametrize("interrupt", [Respond("Leave it."), Respond(), Stop()])
async def test_interrupted_turn_closes_its_open_questions(interrupt, crashed):
    turn = make_turn(CALL, event(WAITS, **WITH_PERSON))
    turn.stop.interrupt(interrupt)
    end = await resume(turn, has_crashed=crashed)
    assert end is (TurnEnd.STOPPED if isinstance(interrupt, Stop) else TurnEnd.COMPLETE)
    assert list_closed_questions(turn) == [("c1.confirm.1", USER)]
    assert turn.tools[0].runs == []


async def test_reply_during_the_closing_of_questions_is_a_separate_message():
    turn = make_turn(CALL, event(WAITS, **NOTE))
    withdraw = turn.prompter.withdraw

    async def withdraw_and_say(*arguments: Any) -> None:
        await withdraw(*arguments)
        turn.stop.interrupt(Respond("And this."))

    turn.prompter.withdraw = withdraw_and_say
    turn.stop.interrupt(Respond("Leave it."))
    assert await resume(turn) is TurnEnd.COMPLETE
    assert turn.recorder.results == [("c1", model_messages.describe_response("Leave it."), False)]
    assert turn.recorder.of(ChatRequest)[1:] == [ChatRequest("And this.")]


async def test_restart_keeps_a_question_open_for_the_call_that_repeats_it():
    turn = make_turn(CALL, event(WAITS, **NOTE), replies=[Answer(value=True)])
    turn.stop.interrupt(Restart())
    assert await resume(turn) is TurnEnd.COMPLETE
    assert list_closed_questions(turn) == [("c1.confirm.1", Answered(answer=True))]


async def test_a_tool_that_asks_no_more_does_not_leave_its_question_open():
    turn = make_turn(CALL, event(WAITS, **WITH_PERSON), tools=[make_asker()])
    assert await resume(turn, has_crashed=True) is TurnEnd.COMPLETE
    assert list_closed_questions(turn) == [("c1.confirm.1", LOST)]
    assert turn.recorder.results == [("c1", "done", False)]


async def test_skipped_refused_or_removed_call_closes_its_open_question():
    calls = [make_call("c1", "gated"), make_call("c2", "gone"), make_call("c3", "kept")]
    waiting_events = [
        event(replace(WAITS, id=f"{call.id}.q"), **NOTE | {"tool_call_id": call.id})
        for call in calls
    ]
    turn = make_turn(
        *calls, *waiting_events, tools=[make_asker(name="gated"), make_asker(name="kept")]
    )
    gated, ungated = turn.setup.tools
    turn.setup = replace(turn.setup, tools=(replace(gated, run=ApprovalMode.ASK), ungated))
    turn.prompter.decisions = [Skipped()]
    turn.recorder.progress["c3"] = CallProgress("before", is_final=True)
    assert await resume(turn, has_crashed=True) is TurnEnd.COMPLETE
    assert list_closed_questions(turn) == [("c1.q", LOST), ("c2.q", LOST), ("c3.q", LOST)]


async def test_open_questions_with_shared_ids_are_each_closed_once():
    second = replace(WAITS, id="c1.confirm.2")
    third = replace(WAITS, id="c1.other.1")
    waiting_events = [event(WAITS, **NOTE), event(second, **NOTE | {"attempt": 2})]
    third_event = event(third, **NOTE | {"question_id": "other"})
    turn = make_turn(CALL, CALL, *waiting_events, third_event, tools=[make_asker()])
    assert await resume(turn) is TurnEnd.COMPLETE
    assert list_closed_questions(turn) == [(request.id, LOST) for request in (WAITS, second, third)]


async def test_an_answer_closes_no_other_question_of_its_key():
    second = replace(WAITS, id="c1.confirm.2")
    answer = event(InquiryResponse("c1.confirm.1", Answered(answer=True)))
    waiting_events = [event(WAITS, **NOTE), event(second, **NOTE | {"attempt": 2})]
    turn = make_turn(CALL, *waiting_events, answer, tools=[make_asker()])
    assert await resume(turn) is TurnEnd.COMPLETE
    assert list_closed_questions(turn)[1:] == [("c1.confirm.2", LOST)]


async def test_withdrawn_question_is_passed_on_unchanged():
    secret = Question("confirm", "Key?", Secret(), context="Vault", exclusive=True)
    request = replace(WAITS, question=secret.to_inquiry_question())
    turn = make_turn(CALL, event(request, **NOTE), tools=[make_asker()])
    handed: list[Any] = []

    async def withdraw(prompt: Any, _reason: Any) -> None:
        handed.append((prompt.inquiry_id, prompt.question, prompt.source, prompt.tool_name))

    turn.prompter.withdraw = withdraw
    await resume(turn)
    assert handed == [("c1.confirm.1", secret, WAITS.source, "tool")]


# open for whom it was put before


def detach(turn: Any, policy: DetachedPolicy) -> Any:
    turn.setup = replace(turn.setup, detached=policy)
    turn.prompter.is_reachable = False
    return turn


@pytest.mark.parametrize("policy", list(DetachedPolicy))
@pytest.mark.parametrize("exclusive", [True, False])
async def test_question_shown_to_people_stays_open_after_a_crash(policy, exclusive):
    question = replace(CONFIRM, exclusive=exclusive, default=False)
    request = replace(WAITS, question=question.to_inquiry_question())
    turn = make_turn(
        *(CALL, event(request, **WITH_PERSON)),
        tools=[make_asker(question)],
        replies=[Answer(value=True)],
    )
    assert await resume(detach(turn, policy), has_crashed=True) is TurnEnd.COMPLETE
    assert [prompt.inquiry_id for prompt in turn.prompter.questions] == ["c1.confirm.1"]
    assert list_closed_questions(turn) == [("c1.confirm.1", Answered(answer=True))]


@pytest.mark.parametrize("note_fields", [{}, {"person": "true"}, {"person": False}])
async def test_question_not_shown_to_people_is_routed_again_after_a_crash(note_fields):
    turn = make_turn(CALL, event(WAITS, **NOTE | note_fields))
    await resume(detach(turn, DetachedPolicy.DENY), has_crashed=True)
    assert list_closed_questions(turn) == [
        ("c1.confirm.1", Cancelled(CancellationReason.NO_PROMPT_BACKEND))
    ]


async def test_changed_question_of_a_shown_id_is_routed_again_after_a_crash():
    before = replace(WAITS, question=replace(CONFIRM, text="Another?").to_inquiry_question())
    turn = make_turn(CALL, event(before, **WITH_PERSON))
    await resume(detach(turn, DetachedPolicy.DENY), has_crashed=True)
    refusal = Cancelled(CancellationReason.NO_PROMPT_BACKEND)
    assert list_closed_questions(turn) == [("c1.confirm.1", LOST), ("c1.confirm.2", refusal)]
    assert turn.recorder.notes(InquiryRequest)[1] == NOTE | {"attempt": 2}


async def test_two_open_questions_of_a_call_continue_with_their_ids():
    async def run(arguments: Any, answers: Any, ask: Any) -> Any:
        return Success(
            str([(await ask(question)).value for question in (second_question, CONFIRM)])
        )

    second_question = replace(CONFIRM, id="other")
    waiting_events = [event(WAITS, **WITH_PERSON)]
    waiting_events.append(
        event(replace(WAITS, id="c1.other.1"), **WITH_PERSON | {"question_id": "other"})
    )
    turn = make_turn(
        *(CALL, *waiting_events),
        tools=[OutsideStub("tool", run)],
        replies=[Answer(value=True), Answer(value=False)],
    )
    await resume(detach(turn, DetachedPolicy.DENY), has_crashed=True)
    assert [prompt.inquiry_id for prompt in turn.prompter.questions] == [
        "c1.other.1",
        "c1.confirm.1",
    ]
    assert turn.recorder.results == [("c1", "[True, False]", False)]


class AnsweredFirst(ListRecorder):
    """Lets a person answer the question just before the first response of the turn to it."""

    is_answered = False

    async def record(self, *events: ConversationEvent, **options: Any) -> None:
        ids = [event.kind.id for event in events if isinstance(event.kind, InquiryResponse)]
        if ids == [WAITS.id] and not self.is_answered:
            self.is_answered = True  # the prompter commits the person's reply after this
            raise SettlementConflict("This question is already settled.")
        await super().record(*events, **options)


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Answer(value=False), Answered(answer=False)),
        (Declined(CancellationReason.USER), USER),
    ],
    ids=["answered", "declined"],
)
@pytest.mark.parametrize("route", ["remembered", "static", "refused"])
async def test_question_settled_on_the_way_back_to_it_keeps_that_outcome(route, reply, outcome):
    configs = {
        "static": QuestionConfig(answer=StaticAnswer(True)),
        "refused": QuestionConfig(answer=StaticAnswer("neither")),
    }
    first_call = make_call("c0", "tool")
    first = event(replace(WAITS, id="c0.confirm.1"), **WITH_PERSON | {"tool_call_id": "c0"})
    response = InquiryResponse("c0.confirm.1", Answered(answer=True))
    answer = event(response, remember=route == "remembered", by={"kind": "person"})
    turn = make_turn(
        *(first_call, CALL, first, event(WAITS, **WITH_PERSON), answer),
        tools=[make_asker(CONFIRM, config=configs.get(route))],
        replies=[reply],
    )
    turn.recorder = turn.prompter.recorder = AnsweredFirst(turn.recorder.events)
    turn.ports = replace(turn.ports, recorder=turn.recorder)
    assert await resume(turn) is TurnEnd.COMPLETE
    assert list_closed_questions(turn) == [
        ("c0.confirm.1", Answered(answer=True)),
        ("c1.confirm.1", outcome),
    ]
    assert ({"confirm": False} in turn.tools[0].runs) is isinstance(reply, Answer)


async def test_inquiry_request_notes_if_people_were_asked():
    async def run(arguments: Any, answers: Any, ask: Any) -> Any:
        return Success(str(await ask(CONFIRM)))

    assistant = QuestionConfig(QuestionTarget.ASSISTANT)
    tools = (
        make_asker(CONFIRM),
        OutsideStub("outside", run),
        make_asker(CONFIRM, name="a", config=assistant),
    )
    bench = ToolBench(tools, [wait_forever(), wait_forever()])
    calls = [CALL, make_call("c2", "outside"), make_call("c3", "a")]
    task = asyncio.create_task(bench.run(calls))
    await wait_until(lambda: len(bench.prompter.questions) == 2 and bench.recorder.outcomes)
    task.cancel()
    await asyncio.wait([task])
    notes = {note["tool_call_id"]: note for note in bench.recorder.notes(InquiryRequest)}
    assert [notes[call.id].get("person") for call in calls] == [True, True, None]
