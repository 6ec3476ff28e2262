"""A turn that goes on from the journal (RFD 023)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.agent.calls import texts
from jpweb.agent.ports import Answer, CallTool, Data, Delta, Finished
from jpweb.agent.stopping import Respond, Stop
from jpweb.agent.turn import TurnEnd, resume_turn
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConversationEvent,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse
from tests.agent.doubles import AT, CONFIRM, ListRecorder, QueueProvider, Stage, asks, never, until
from tests.builders import answered, asked, called, returned

DONE = (Delta("message", "Done."), Finished())
START, SAYS, CALL = TurnStart(), ChatRequest("Go."), called("c1", "tool")
NOTE = {"tool_call_id": "c1", "tool": "tool", "question_id": "confirm", "attempt": 1}


def event(kind, **note) -> ConversationEvent:
    return ConversationEvent(AT, kind, {"jpweb": note} if note else {})


def stage(*events, replies=(), turns=(DONE,), tools=None, **more) -> Any:
    recorder = ListRecorder([e if isinstance(e, ConversationEvent) else event(e) for e in events])
    tools = (asks(CONFIRM),) if tools is None else tools
    return Stage(QueueProvider(turns), tools, list(replies), recorder, **more)


async def resume(made) -> Any:
    return await resume_turn(made.ports, made.stop, made.setup)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [START],
        [START, SAYS],
        [START, SAYS, ChatResponse("message", "Half a")],
        [START, SAYS, CALL, returned("c1")],
    ],
    ids=["empty", "started", "asked", "half a text", "results"],
)
async def test_where_no_call_is_open_the_provider_is_asked_with_all_there_is(events):
    made = stage(*events)
    assert await resume(made) is TurnEnd.COMPLETE
    visible = [kind for kind in events if kind.PROVIDER_VISIBLE]
    assert [e.kind for e in made.provider.requests[0].parts.events] == visible
    assert made.recorder.kinds[len(events) :] == [ChatResponse("message", "Done.")]


async def test_open_calls_are_run_first_and_those_with_a_response_are_not():
    made = stage(
        START, SAYS, called("c0", "tool"), CALL, returned("c0"), replies=[Answer(value=True)]
    )
    assert await resume(made) is TurnEnd.COMPLETE
    assert [r.id for r in made.recorder.of(InquiryRequest)] == ["c1.confirm.1"]
    assert made.recorder.kinds[-2:] == [
        ToolCallResponse("c1", "done", is_error=False),
        ChatResponse("message", "Done."),
    ]
    sent = made.provider.requests[0].parts.events
    assert sent[-1].kind == ToolCallResponse("c1", "done", is_error=False)


async def test_a_question_that_was_open_is_asked_again_under_the_next_number():
    made = stage(
        START, SAYS, CALL, event(asked("c1.confirm.1"), **NOTE), replies=[Answer(value=True)]
    )
    assert await resume(made) is TurnEnd.COMPLETE
    assert [r.id for r in made.recorder.of(InquiryRequest)] == ["c1.confirm.1", "c1.confirm.2"]
    assert [r.id for r in made.recorder.of(InquiryResponse)] == ["c1.confirm.2"]


async def test_answers_that_were_to_be_remembered_still_are():
    remembered = event(answered("c1.confirm.1"), remember=True, by={"kind": "person"})
    made = stage(START, SAYS, CALL, event(asked("c1.confirm.1"), **NOTE), remembered)
    assert await resume(made) is TurnEnd.COMPLETE
    assert made.prompter.asked == []
    assert made.recorder.notes(InquiryResponse)[-1] == {"by": {"kind": "memory"}}
    assert made.tools[0].runs == [{}, {"confirm": True}]


async def test_of_an_earlier_turn_neither_numbers_nor_answers_count():
    earlier = [START, SAYS, CALL, event(asked("c1.confirm.1"), **NOTE)]
    ended = [event(answered("c1.confirm.1"), remember=True), returned("c1")]
    spoken = ChatResponse("message", "Done.")
    made = stage(*earlier, *ended, spoken, START, SAYS, CALL, replies=[Answer(value=False)])
    assert await resume(made) is TurnEnd.COMPLETE
    assert [r.id for r in made.recorder.of(InquiryRequest)] == ["c1.confirm.1", "c1.confirm.1"]
    assert made.tools[0].runs[-1] == {"confirm": False}


async def test_a_stop_while_open_calls_run_ends_the_turn_before_any_request():
    made = stage(START, SAYS, CALL, replies=[never()])
    running = asyncio.create_task(resume(made))
    await until(lambda: made.prompter.asked)
    made.stop.say(Stop())
    assert await running is TurnEnd.STOPPED
    assert made.recorder.results == [("c1", texts.STOPPED, False)]
    assert made.provider.requests == []


async def test_a_response_while_open_calls_run_is_told_and_the_turn_goes_on():
    made = stage(START, SAYS, CALL, replies=[never()])
    running = asyncio.create_task(resume(made))
    await until(lambda: made.prompter.asked)
    made.stop.say(Respond("Leave it."))
    assert await running is TurnEnd.COMPLETE
    assert made.recorder.results == [("c1", texts.responded("Leave it."), False)]
    assert made.recorder.of(ChatRequest) == [SAYS]


async def test_calls_of_the_next_cycle_go_on_counting():
    made = stage(
        START,
        SAYS,
        CALL,
        event(asked("c1.confirm.1"), **NOTE),
        answered("c1.confirm.1"),
        returned("c1"),
        turns=([CallTool("c1", "tool", {}), Finished()], DONE),
        replies=[Answer(value=True)],
    )
    assert await resume(made) is TurnEnd.COMPLETE
    assert made.recorder.of(InquiryRequest)[-1].id == "c1.confirm.2"


# the schema of a turn

SCHEMA = {"type": "object"}


async def test_the_first_request_of_the_turn_says_what_every_reply_looks_like():
    wanted = ChatRequest("Go.", SCHEMA)
    replies = ([CallTool("c1", "tool", {}), Finished()], [Data({"a": 1}), Finished()])
    made = stage(START, wanted, ChatRequest("More."), turns=replies, tools=(asks(),))
    assert await resume(made) is TurnEnd.COMPLETE
    assert [request.schema for request in made.provider.requests] == [SCHEMA, SCHEMA]
    assert made.recorder.kinds[-1] == ChatResponse("data", {"a": 1})


@pytest.mark.parametrize(
    "events",
    [
        [START, SAYS, ChatRequest("More.", SCHEMA)],
        [START, ChatRequest("Go.", SCHEMA), ChatResponse("data", 1), START, SAYS],
        [START],
        [],
    ],
)
async def test_a_schema_of_another_request_or_turn_does_not_count(events):
    made = stage(*events)
    await resume(made)
    assert made.provider.requests[0].schema is None


async def test_a_call_whose_tool_is_gone_is_told_so_and_the_turn_goes_on():
    made = stage(START, SAYS, ToolCallRequest("c1", "gone", {}))
    assert await resume(made) is TurnEnd.COMPLETE
    assert made.recorder.results == [("c1", texts.unknown_tool("gone"), True)]
