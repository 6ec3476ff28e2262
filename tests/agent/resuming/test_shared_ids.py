"""A resumed turn with several calls of one id, whose record does not tell which one asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.ports import Answer
from jpweb.agent.tool_outcome import NeedsInput, Success, ToolOutcome
from jpweb.agent.turn import TurnEnd
from jpweb.stream.events import ConversationEvent
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse
from tests.agent.doubles import CONFIRM, StubTool
from tests.agent.resuming.journals import CALL, NOTE, WAITS, event, make_turn, resume
from tests.builders import make_answer

TEXTS = ("Delete?", "Rain?")
CALLS = [replace(CALL, arguments={"text": text}) for text in TEXTS]


def ask(arguments: Any, answers: Any) -> ToolOutcome:
    """Ask what the arguments say, and repeat it with the answer."""
    if "confirm" not in answers:
        return NeedsInput(replace(CONFIRM, text=arguments["text"]))
    return Success(f"{arguments['text']} {answers['confirm']}")


def make_request(text: str, attempt: int) -> ConversationEvent:
    question = replace(CONFIRM, text=text).to_inquiry_question()
    request = replace(WAITS, id=f"c1.confirm.{attempt}", question=question)
    return event(request, **NOTE | {"attempt": attempt})


def make_asking_turn(*responses: Any, answers: list[bool]) -> Any:
    requests = [make_request(text, attempt) for attempt, text in enumerate(TEXTS, 1)]
    tool = StubTool("tool", ask)
    replies = [Answer(value) for value in answers]
    return make_turn(*CALLS, *requests, *responses, tools=[tool], replies=replies)


@pytest.mark.parametrize(
    "response",
    [
        make_answer("c1.confirm.2"),
        InquiryResponse("c1.confirm.2", Cancelled(CancellationReason.USER)),
    ],
    ids=["answer", "decline"],
)
async def test_what_a_person_said_to_one_of_them_reaches_no_other(response: Any):
    turn = make_asking_turn(event(response, by={"kind": "person"}), answers=[False, True])
    assert await resume(turn) is TurnEnd.COMPLETE
    asked_questions = [(p.inquiry_id, p.question.text) for p in turn.prompter.questions]
    assert asked_questions == [("c1.confirm.1", "Delete?"), ("c1.confirm.3", "Rain?")]
    assert [result[1] for result in turn.recorder.results] == ["Delete? False", "Rain? True"]


async def test_what_a_person_said_to_an_equal_question_reaches_no_other():
    equal_requests = [make_request("Delete?", attempt) for attempt in (1, 2)]
    decline = InquiryResponse("c1.confirm.2", Cancelled(CancellationReason.USER))
    answers = [event(make_answer("c1.confirm.1")), event(decline)]
    turn = make_turn(
        *(CALLS[0], CALLS[0], *equal_requests, *answers),
        tools=[StubTool("tool", ask)],
        replies=[Answer(value=False), Answer(value=False)],
    )
    assert await resume(turn) is TurnEnd.COMPLETE
    asked_ids = [prompt.inquiry_id for prompt in turn.prompter.questions]
    assert asked_ids == ["c1.confirm.3", "c1.confirm.4"]


async def test_their_open_questions_stay_with_their_calls():
    turn = make_asking_turn(answers=[False, True])
    assert await resume(turn) is TurnEnd.COMPLETE
    assert [r[1] for r in turn.recorder.results] == ["Delete? False", "Rain? True"]
    assert [p.inquiry_id for p in turn.prompter.questions] == ["c1.confirm.1", "c1.confirm.2"]
