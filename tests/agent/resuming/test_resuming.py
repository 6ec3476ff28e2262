"""A turn that goes on from the journal (RFD 023)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.interrupts import Respond, Stop
from jpweb.agent.ports import Answer, CompleteToolCall, ReplyFinished, StructuredReply, TextDelta
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_outcome import NeedsInput, Success
from jpweb.agent.turn import TurnEnd
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConversationEvent,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    Redacted,
)
from tests.agent.doubles import (
    CONFIRM,
    OutsideStub,
    QueueProvider,
    StubTool,
    TurnBench,
    make_asker,
    wait_forever,
    wait_until,
)
from tests.agent.recorder import ListRecorder
from tests.agent.resuming.journals import CALL, DONE, NOTE, SAYS, START, WAITS, event, resume
from tests.builders import make_answer, make_call, make_inquiry, make_result


def make_turn(*events, replies=(), turns=(DONE,), tools=None, **options) -> Any:
    recorder = ListRecorder([e if isinstance(e, ConversationEvent) else event(e) for e in events])
    tools = (make_asker(CONFIRM),) if tools is None else tools
    return TurnBench(QueueProvider(turns), tools, list(replies), recorder, **options)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [START],
        [START, SAYS],
        [START, SAYS, ChatResponse("message", "Half a")],
        [START, SAYS, CALL, make_result("c1")],
    ],
    ids=["empty", "started", "asked", "half a text", "results"],
)
async def test_resumed_turn_without_open_calls_sends_all_events(events):
    turn = make_turn(*events)
    assert await resume(turn) is TurnEnd.COMPLETE
    visible = [kind for kind in events if kind.PROVIDER_VISIBLE]
    assert [e.kind for e in turn.provider.requests[0].parts.events] == visible
    assert turn.recorder.kinds[len(events) :] == [ChatResponse("message", "Done.")]


async def test_open_calls_are_run_first_and_those_with_a_response_are_not():
    turn = make_turn(
        START, SAYS, make_call("c0", "tool"), CALL, make_result("c0"), replies=[Answer(value=True)]
    )
    assert await resume(turn) is TurnEnd.COMPLETE
    assert [r.id for r in turn.recorder.of(InquiryRequest)] == ["c1.confirm.1"]
    assert turn.recorder.kinds[-2:] == [
        ToolCallResponse("c1", "done", is_error=False),
        ChatResponse("message", "Done."),
    ]
    request_events = turn.provider.requests[0].parts.events
    assert request_events[-1].kind == ToolCallResponse("c1", "done", is_error=False)


async def test_resumed_turn_keeps_the_id_of_an_open_question():
    turn = make_turn(START, SAYS, CALL, event(WAITS, **NOTE), replies=[Answer(value=True)])
    assert await resume(turn) is TurnEnd.COMPLETE
    assert turn.recorder.of(InquiryRequest) == [WAITS]
    assert [r.id for r in turn.recorder.of(InquiryResponse)] == ["c1.confirm.1"]
    assert [prompt.inquiry_id for prompt in turn.prompter.questions] == ["c1.confirm.1"]
    assert turn.tools[0].runs == [{}, {"confirm": True}]


@pytest.mark.parametrize(
    "before",
    [
        replace(WAITS, question=replace(CONFIRM, text="Another?").to_inquiry_question()),
        replace(WAITS, source=InquirySource.for_tool("other")),
    ],
)
async def test_resumed_turn_closes_a_changed_question_and_asks_again(before):
    turn = make_turn(START, SAYS, CALL, event(before, **NOTE), replies=[Answer(value=True)])
    assert await resume(turn) is TurnEnd.COMPLETE
    assert turn.recorder.outcomes == [Cancelled(CancellationReason.LOST), Answered(answer=True)]
    assert [r.id for r in turn.recorder.of(InquiryResponse)] == ["c1.confirm.1", "c1.confirm.2"]


async def test_resumed_call_continues_with_its_recorded_answers():
    answer = event(make_answer("c1.confirm.1"), by={"kind": "person"})
    turn = make_turn(START, SAYS, CALL, event(WAITS, **NOTE), answer)
    assert await resume(turn) is TurnEnd.COMPLETE
    assert turn.prompter.questions == []
    assert turn.recorder.of(InquiryRequest) == [WAITS]
    assert turn.tools[0].runs == [{"confirm": True}]


async def test_resumed_turn_does_not_repeat_a_declined_question():
    no = event(InquiryResponse("c1.confirm.1", Cancelled(CancellationReason.USER)))
    turn = make_turn(START, SAYS, CALL, event(WAITS, **NOTE), no)
    assert await resume(turn) is TurnEnd.COMPLETE
    assert turn.prompter.questions == []
    assert turn.recorder.results == [("c1", model_messages.INPUT_CANCELLED, False)]


@pytest.mark.parametrize(
    "outcome", [Redacted(), Cancelled(CancellationReason.BACKEND_ERROR)], ids=["secret", "failed"]
)
async def test_resumed_turn_repeats_an_unanswered_question_with_the_next_id(outcome):
    response_event = event(InquiryResponse("c1.confirm.1", outcome))
    turn = make_turn(
        START, SAYS, CALL, event(WAITS, **NOTE), response_event, replies=[Answer(value=True)]
    )
    assert await resume(turn) is TurnEnd.COMPLETE
    assert [r.id for r in turn.recorder.of(InquiryRequest)] == ["c1.confirm.1", "c1.confirm.2"]


async def test_resumed_call_ignores_answers_of_an_ended_call_of_its_id():
    answer = event(make_answer("c1.confirm.1"), by={"kind": "person"})
    no = event(InquiryResponse("c1.confirm.2", Cancelled(CancellationReason.USER)))
    open_still = event(replace(WAITS, id="c1.confirm.3"), **NOTE)
    before = [event(WAITS, **NOTE), answer, event(replace(WAITS, id="c1.confirm.2"), **NOTE), no]
    turn = make_turn(
        *(START, SAYS, CALL, *before, open_still, make_result("c1"), CALL),
        replies=[Answer(value=False)],
    )
    assert await resume(turn) is TurnEnd.COMPLETE
    assert [r.id for r in turn.recorder.of(InquiryRequest)][-1] == "c1.confirm.4"
    assert turn.tools[0].runs == [{}, {"confirm": False}]


async def test_resumed_tool_that_asked_in_call_gets_its_earlier_answers():
    async def run(arguments, answers, ask) -> Any:
        return Success(str([(await ask(CONFIRM)).value, (await ask(CONFIRM)).value]))

    answer = event(make_answer("c1.confirm.1"), by={"kind": "person"})
    tools = (OutsideStub("tool", run),)
    turn = make_turn(
        START, SAYS, CALL, event(WAITS, **NOTE), answer, tools=tools, replies=[Answer(value=False)]
    )
    assert await resume(turn) is TurnEnd.COMPLETE
    assert turn.recorder.results == [("c1", "[True, False]", False)]
    assert [prompt.inquiry_id for prompt in turn.prompter.questions] == ["c1.confirm.2"]


async def test_answers_that_were_to_be_remembered_still_are():
    response_event = event(make_answer("c1.confirm.1"), remember=True, by={"kind": "person"})
    two = [make_call("c1", "tool"), make_call("c2", "tool")]
    turn = make_turn(START, SAYS, *two, event(WAITS, **NOTE), response_event)
    assert await resume(turn) is TurnEnd.COMPLETE
    assert turn.prompter.questions == []
    assert turn.recorder.notes(InquiryResponse)[-1] == {"by": {"kind": "memory"}}
    assert turn.tools[0].runs[-1] == {"confirm": True}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ({"kind": "person", "name": "Ada", "id": 7}, {"name": "Ada", "id": 7}),
        ({"kind": "person", "name": "Ada", "id": "7"}, {"name": "Ada", "id": None}),
        ({"kind": "person", "name": 7, "id": 7}, {}),
        ("person", {}),
    ],
)
async def test_resumed_turn_names_who_gave_a_remembered_answer(by, expected):
    response_event = event(make_answer("c1.confirm.1"), remember=True, by=by)
    two = [make_call("c1", "tool"), make_call("c2", "tool")]
    turn = make_turn(START, SAYS, *two, event(WAITS, **NOTE), response_event)
    await resume(turn)
    assert turn.recorder.notes(InquiryResponse)[-1] == {"by": {"kind": "memory"} | expected}


async def test_resumed_turn_ignores_question_ids_and_answers_of_earlier_turns():
    earlier = [START, SAYS, CALL, event(make_inquiry("c1.confirm.1"), **NOTE)]
    closing_events = [event(make_answer("c1.confirm.1"), remember=True), make_result("c1")]
    spoken = ChatResponse("message", "Done.")
    turn = make_turn(
        *earlier, *closing_events, spoken, START, SAYS, CALL, replies=[Answer(value=False)]
    )
    assert await resume(turn) is TurnEnd.COMPLETE
    assert [r.id for r in turn.recorder.of(InquiryRequest)] == ["c1.confirm.1", "c1.confirm.1"]
    assert turn.tools[0].runs[-1] == {"confirm": False}


async def test_a_stop_while_open_calls_run_ends_the_turn_before_any_request():
    turn = make_turn(START, SAYS, CALL, replies=[wait_forever()])
    task = asyncio.create_task(resume(turn))
    await wait_until(lambda: turn.prompter.questions)
    turn.stop.interrupt(Stop())
    assert await task is TurnEnd.STOPPED
    assert turn.recorder.results == [("c1", model_messages.STOPPED, False)]
    assert turn.provider.requests == []


async def test_response_to_resumed_calls_becomes_their_result():
    turn = make_turn(START, SAYS, CALL, replies=[wait_forever()])
    task = asyncio.create_task(resume(turn))
    await wait_until(lambda: turn.prompter.questions)
    turn.stop.interrupt(Respond("Leave it."))
    assert await task is TurnEnd.COMPLETE
    assert turn.recorder.results == [("c1", model_messages.describe_response("Leave it."), False)]
    assert turn.recorder.of(ChatRequest) == [SAYS]


async def test_calls_of_the_next_cycle_go_on_counting():
    turn = make_turn(
        START,
        SAYS,
        CALL,
        event(make_inquiry("c1.confirm.1"), **NOTE),
        make_answer("c1.confirm.1"),
        make_result("c1"),
        turns=([CompleteToolCall("c1", "tool", {}), ReplyFinished()], DONE),
        replies=[Answer(value=True)],
    )
    assert await resume(turn) is TurnEnd.COMPLETE
    assert turn.recorder.of(InquiryRequest)[-1].id == "c1.confirm.2"


# the schema of a turn

SCHEMA = {"type": "object"}


async def test_turn_uses_the_schema_of_its_first_request():
    schema_request = ChatRequest("Go.", SCHEMA)
    replies = (
        [CompleteToolCall("c1", "tool", {}), ReplyFinished()],
        [StructuredReply({"a": 1}), ReplyFinished()],
    )
    turn = make_turn(
        START, schema_request, ChatRequest("More."), turns=replies, tools=(make_asker(),)
    )
    assert await resume(turn) is TurnEnd.COMPLETE
    assert [request.schema for request in turn.provider.requests] == [SCHEMA, SCHEMA]
    assert turn.recorder.kinds[-1] == ChatResponse("data", {"a": 1})


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
    turn = make_turn(*events)
    await resume(turn)
    assert turn.provider.requests[0].schema is None


async def test_resumed_call_of_a_removed_tool_fails_and_the_turn_continues():
    turn = make_turn(START, SAYS, ToolCallRequest("c1", "gone", {}))
    assert await resume(turn) is TurnEnd.COMPLETE
    assert turn.recorder.results == [("c1", model_messages.describe_unknown_tool("gone"), True)]


async def test_resumed_turn_repeats_a_question_withdrawn_by_a_restart():
    withdrawn = event(
        InquiryResponse("c1.confirm.1", Cancelled(CancellationReason.USER)), withdrawn=True
    )
    turn = make_turn(
        START, SAYS, CALL, event(WAITS, **NOTE), withdrawn, replies=[Answer(value=True)]
    )
    assert await resume(turn) is TurnEnd.COMPLETE
    assert [prompt.inquiry_id for prompt in turn.prompter.questions] == ["c1.confirm.2"]


async def test_a_call_that_is_run_again_says_so_and_later_ones_do_not():
    second_call = (CompleteToolCall("c2", "tool", {}), ReplyFinished())
    replies = [Answer(value=True), Answer(value=True)]
    turn = make_turn(START, SAYS, CALL, turns=[second_call, DONE], replies=replies)
    assert await resume(turn) is TurnEnd.COMPLETE
    assert turn.recorder.notes(ToolCallResponse) == [{"again": True}, None]


# other calls of the same id


async def test_a_later_call_of_the_same_id_was_not_run_again():
    second_call = (CompleteToolCall("c1", "tool", {}), ReplyFinished())
    turn = make_turn(START, SAYS, CALL, turns=[second_call, DONE], tools=(make_asker(),))
    assert await resume(turn) is TurnEnd.COMPLETE
    assert turn.recorder.notes(ToolCallResponse) == [{"again": True}, None]


@pytest.mark.parametrize("reason", [CancellationReason.USER, CancellationReason.EXPIRED])
async def test_resumed_call_ignores_closed_questions_of_a_call_of_its_id(reason):
    no = event(InquiryResponse("c1.confirm.1", Cancelled(reason)))
    before = [START, SAYS, CALL, event(WAITS, **NOTE), no, make_result("c1")]
    turn = make_turn(*before, CALL, replies=[Answer(value=True)])
    assert await resume(turn) is TurnEnd.COMPLETE
    assert turn.recorder.results[-1] == ("c1", "done", False)
    assert turn.recorder.notes(ToolCallResponse)[-1] == {"again": True}


async def test_permitted_arguments_do_not_count_for_another_call_of_the_id():
    note = NOTE | {"permitted": True, "arguments": {"n": 2}}
    answer = event(make_answer("c1.confirm.1"), by={"kind": "person"})
    free = event(replace(WAITS, id="c1.confirm.2", source=InquirySource.for_tool("free")), **NOTE)
    run_arguments: list[Any] = []

    def run(arguments, answers) -> Any:
        run_arguments.append(dict(arguments))
        return Success("done") if answers else NeedsInput(CONFIRM)

    before = [START, SAYS, CALL, event(WAITS, **note), answer, make_result("c1")]
    turn = make_turn(
        *before, make_call("c1", "free"), free, tools=(StubTool("free", run),), replies=[Answer(1)]
    )
    assert await resume(turn) is TurnEnd.COMPLETE
    assert run_arguments == [{}, {}]


WHOLE = (
    TextDelta("message", "Both."),
    CompleteToolCall("c1", "tool", {}),
    TextDelta("message", "And."),
    CompleteToolCall("c2", "tool", {}),
    TextDelta("message", "So."),
)


@pytest.mark.parametrize("piece_count", range(len(WHOLE) + 1))
async def test_reply_cut_off_at_any_piece_is_asked_for_again(piece_count):
    hang = asyncio.Event()
    cut = (*WHOLE[:piece_count], hang, *WHOLE[piece_count:], ReplyFinished())
    turn = make_turn(START, SAYS, turns=(cut,), tools=(make_asker(),))
    task = asyncio.create_task(resume(turn))
    await wait_until(lambda: turn.provider.waiting is hang)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    second_turn = make_turn(
        *turn.recorder.events, turns=((*WHOLE, ReplyFinished()), DONE), tools=(make_asker(),)
    )
    assert await resume(second_turn) is TurnEnd.COMPLETE
    assert [call.id for call in second_turn.recorder.of(ToolCallRequest)] == ["c1", "c2"]
    assert second_turn.recorder.results == [("c1", "done", False), ("c2", "done", False)]
    assert len(second_turn.provider.requests) == 2


async def test_reply_calls_and_text_after_them_are_one_commit(monkeypatch):
    turn = make_turn(START, SAYS, turns=((*WHOLE, ReplyFinished()), DONE), tools=(make_asker(),))
    commits, record = [], turn.recorder.record

    async def note_commit(*events, **options) -> None:
        commits.append([type(event.kind) for event in events])
        await record(*events, **options)

    monkeypatch.setattr(turn.recorder, "record", note_commit)
    await resume(turn)
    assert commits[:2] == [
        [ChatResponse],
        [ToolCallRequest, ChatResponse, ToolCallRequest, ChatResponse],
    ]
