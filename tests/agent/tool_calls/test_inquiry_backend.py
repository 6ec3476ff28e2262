"""The secondary assistant: what it is sent, what it may answer, what goes wrong."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.config import InquiryConfig, ModelConfig, QuestionConfig
from jpweb.agent.errors import TRANSIENT_FAILURES, FailureKind, InquiryFailed, ProviderFailed
from jpweb.agent.ports import (
    CompleteToolCall,
    PartialToolCall,
    ReplyFinished,
    ReplyMetadata,
    StructuredReply,
    TextDelta,
)
from jpweb.agent.tool_calls.inquiry_backend import (
    MAX_REPLY_BYTES,
    MAX_RETRIES,
    LlmInquiryBackend,
    make_inquiry_schema,
)
from jpweb.agent.tool_outcome import Question
from jpweb.agent.turn_setup import default_config
from jpweb.stream.answer_type import Boolean, Option, Select, Text
from jpweb.stream.events import (
    ChatRequest,
    ToolCallResponse,
    TurnStart,
)
from tests.agent.doubles import CONFIRM, asks, never, others, until
from tests.agent.tool_calls.inquiring.bench import (
    CALL,
    COLOURS,
    INTERRUPTED,
    MAIN,
    STREAM,
    Bench,
    failure,
    reply,
)
from tests.builders import answered, asked, called, returned, stream

# what is sent


async def test_the_copy_ends_with_the_paused_call_and_a_turn_that_asks():
    bench = Bench(reply(answer=True))
    assert await bench.inquire() is True
    *before, paused, question = [event.kind for event in bench.sent.parts.events]
    assert before == [ChatRequest("Go."), CALL]
    assert paused == ToolCallResponse("c1", "Tool paused: Overwrite?", is_error=False)
    assert isinstance(question, ChatRequest)
    assert question.schema == bench.sent.schema == make_inquiry_schema(Boolean())


async def test_no_inquiry_event_is_sent():
    bench = Bench(reply(answer=True))
    await bench.inquire(elements=(*STREAM, *stream(answered("c1.confirm.1"), asked("c1.x.1"))))
    assert all(event.kind.PROVIDER_VISIBLE for event in bench.sent.parts.events)


async def test_other_calls_in_flight_are_interrupted_in_the_copy():
    bench = Bench(reply(answer=True))
    other = called("c0", "fs_grep")
    await bench.inquire(elements=stream(TurnStart(), ChatRequest("Go."), other, CALL))
    assert [event.kind for event in bench.sent.parts.events][1:5] == [
        other,
        ToolCallResponse("c0", INTERRUPTED, is_error=True),
        CALL,
        ToolCallResponse("c1", "Tool paused: Overwrite?", is_error=False),
    ]


async def test_a_call_id_of_an_earlier_cycle_is_not_taken_for_the_one_that_asks():
    bench = Bench(reply(answer=True))
    earlier = stream(TurnStart(), ChatRequest("Go."), CALL, returned("c1", "old"), CALL)
    await bench.inquire(elements=earlier)
    contents = [
        event.kind.content
        for event in bench.sent.parts.events
        if isinstance(event.kind, ToolCallResponse)
    ]
    assert contents == ["old", "Tool paused: Overwrite?"]


async def test_the_stream_that_is_copied_stays_as_it_is():
    elements = list(STREAM)
    before = [element.raw for element in elements]
    await Bench(reply(answer=True)).inquire(elements=elements)
    assert [element.raw for element in elements] == before


async def test_system_prompt_and_tools_are_the_turns_and_no_tool_may_be_called():
    tools = (default_config(asks(CONFIRM)),)
    bench = Bench(reply(answer=True), tools=tools)
    await bench.inquire()
    assert bench.sent.parts.system == ("Be brief.",)
    assert bench.sent.tools == tools
    assert bench.sent.tool_choice == "none"
    assert bench.opened == [MAIN]


async def test_the_prompt_names_the_call_and_holds_context_question_and_options():
    question = Question("colour", "Which colour?", COLOURS, context="Seen: a patch.")
    bench = Bench(reply("red"))
    await bench.inquire(question)
    assert bench.sent.parts.events[-1].kind.content == (
        "The tool `fs_modify_file` (call c1) needs an answer before it can go on.\n\n"
        "Seen: a patch.\n\n"
        "Which colour?\n\n"
        "- red: like roses\n- blue\n- 3\n\n"
        "Answer it from what this conversation tells you."
    )


async def test_the_prompt_leaves_out_what_a_question_does_not_have():
    bench = Bench(reply(answer=True))
    await bench.inquire()
    assert bench.sent.parts.events[-1].kind.content == (
        "The tool `fs_modify_file` (call c1) needs an answer before it can go on.\n\n"
        "Overwrite?\n\n"
        "Answer it from what this conversation tells you."
    )


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (Boolean(), {"type": "boolean"}),
        (Text(), {"type": "string"}),
        (Select((Option("a"), Option("b"))), {"type": "string", "enum": ["a", "b"]}),
        (COLOURS, {"enum": ["red", "blue", 3]}),
    ],
)
def test_the_schema_is_an_object_with_an_answer_of_the_questions_type(kind, schema):
    assert make_inquiry_schema(kind) == {
        "type": "object",
        "properties": {"answer": schema},
        "required": ["answer"],
        "additionalProperties": False,
    }


# overrides

ALL, OWN = ModelConfig("vendor", "of all"), ModelConfig("vendor", "of the question")


@pytest.mark.parametrize(
    ("of_all", "own", "opened"), [(None, None, MAIN), (ALL, None, ALL), (ALL, OWN, OWN)]
)
async def test_the_model_of_the_question_comes_before_that_of_all_and_the_turns(
    of_all, own, opened
):
    bench = Bench(reply(answer=True), inquiry=InquiryConfig(model=of_all))
    await bench.inquire(model=own)
    assert bench.opened == [opened]


@pytest.mark.parametrize(
    ("of_all", "own", "system"),
    [
        (None, None, ("Be brief.",)),
        ("All.", None, ("All.",)),
        ("All.", "Own.", ("Own.",)),
        (None, "Own.", ("Own.",)),
        ("All.", "", ("",)),
    ],
)
async def test_the_system_prompt_of_the_question_comes_before_that_of_all_and_the_turns(
    of_all, own, system
):
    bench = Bench(reply(answer=True), inquiry=InquiryConfig(system_prompt=of_all))
    await bench.inquire(system_prompt=own)
    assert bench.sent.parts.system == system


@pytest.mark.parametrize(
    ("of_all", "own", "limit"),
    [
        (None, None, MAX_REPLY_BYTES),
        (0, None, MAX_REPLY_BYTES),
        (100, None, 100),
        (100, 50, 50),
        (None, 50, 50),
        (100, 0, None),
        (0, 0, None),
    ],
)
async def test_zero_bytes_inherit_where_set_for_all_and_lift_the_limit_of_a_question(
    of_all, own, limit
):
    inquiry = InquiryConfig(max_response_bytes=of_all)
    room = (limit or 2 * MAX_REPLY_BYTES) - len('{"answer": ""}')
    fitting = Bench(reply("x" * room), inquiry=inquiry)
    assert len(await fitting.inquire(replace(CONFIRM, answer_type=Text()), max_response_bytes=own))
    if limit is not None:
        too_much = Bench(reply("x" * (room + 1)), inquiry=inquiry)
        with pytest.raises(InquiryFailed, match=f"larger than {limit} bytes"):
            await too_much.inquire(max_response_bytes=own)


# what comes back


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Boolean(), [True, False], ["true", 1, None, {}]),
        (Text(), ["", "x"], [True, None, ["x"]]),
        (COLOURS, ["red", 3], ["RED", "", True, None]),
    ],
)
async def test_an_answer_is_checked_against_type_and_options(kind, good, bad):
    question = Question("q", "?", kind)
    for value in good:
        assert await Bench(reply(value)).inquire(question) == value
    for value in bad:
        with pytest.raises(InquiryFailed, match="does not fit"):
            await Bench(reply(value)).inquire(question)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4))
def test_whatever_is_answered_fits_the_question_or_fails(value):
    question = Question("q", "?", COLOURS)
    try:
        found = asyncio.run(Bench(reply(value)).inquire(question))
    except InquiryFailed:
        assert not COLOURS.is_valid(value)
    else:
        assert COLOURS.is_valid(found)


@pytest.mark.parametrize("data", [{}, {"Answer": True}, [True], True, None])
async def test_data_without_an_answer_fail(data):
    with pytest.raises(InquiryFailed, match="holds no answer"):
        await Bench((StructuredReply(data), ReplyFinished())).inquire()


async def test_text_alone_is_no_answer():
    bench = Bench((TextDelta("message", "true"), ReplyFinished()))
    with pytest.raises(InquiryFailed, match="no structured data"):
        await bench.inquire()


async def test_what_is_said_beside_the_answer_is_passed_over_and_the_first_data_count():
    around = (TextDelta("reasoning", "Hm."), ReplyMetadata("reasoning", {"signature": "s"}))
    steps = (*around, PartialToolCall("x", "{"), *reply(answer=True)[:1], *reply(answer=False))
    assert await Bench(steps).inquire() is True


async def test_a_tool_call_instead_of_an_answer_fails():
    bench = Bench((CompleteToolCall("c2", "fs_grep", {}), ReplyFinished()))
    with pytest.raises(InquiryFailed, match="called fs_grep instead"):
        await bench.inquire()
    assert bench.provider.closed == 1


async def test_text_counts_in_bytes_and_ends_the_reply_at_the_limit():
    bench = Bench((TextDelta("message", "é"), TextDelta("message", "é"), asyncio.Event()))
    with pytest.raises(InquiryFailed, match="larger than 3 bytes"):
        await bench.inquire(max_response_bytes=3)
    assert bench.provider.closed == 1


async def test_half_a_surrogate_pair_in_a_reply_is_counted_and_breaks_nothing():
    bench = Bench((TextDelta("reasoning", "\ud800"), *reply("\ud800")))
    assert await bench.inquire(Question("q", "?", Text())) == "\ud800"


@pytest.mark.parametrize(("own", "most"), [(None, MAX_REPLY_BYTES), (3, 3), (0, 0)])
async def test_the_provider_is_told_the_limit(own, most):
    bench = Bench(reply(answer=True))
    if own == 3:
        bench = Bench([failure(FailureKind.TRUNCATED)])
        with pytest.raises(InquiryFailed):
            await bench.inquire(max_response_bytes=own)
    else:
        await bench.inquire(max_response_bytes=own)
    assert bench.sent.max_bytes == most


# failures of the provider


@pytest.mark.parametrize("kind", FailureKind)
async def test_only_what_may_pass_is_tried_again(kind):
    bench = Bench([failure(kind)], reply(answer=True))
    if kind in TRANSIENT_FAILURES:
        assert await bench.inquire() is True
        assert bench.pauses == [1.0]
    else:
        with pytest.raises(InquiryFailed, match="Too many requests"):
            await bench.inquire()
        assert bench.pauses == []


async def test_after_some_tries_a_failure_stands():
    bench = Bench(*[[failure()]] * (MAX_RETRIES + 1), reply(answer=True))
    with pytest.raises(InquiryFailed, match="Too many requests"):
        await bench.inquire()
    assert bench.pauses == [1.0, 2.0, 4.0]
    assert len(bench.provider.requests) == bench.provider.closed == 4


@pytest.mark.parametrize(("advised", "paused"), [(0.0, 0.0), (7.5, 7.5), (30.0, 30.0), (900, 30)])
async def test_the_advised_pause_is_made_up_to_a_limit(advised, paused):
    bench = Bench([failure(after=advised)], reply(answer=True))
    await bench.inquire()
    assert bench.pauses == [paused]


async def test_a_reply_that_breaks_off_is_asked_for_again():
    bench = Bench([StructuredReply({"answer": False})], reply(answer=True))
    assert await bench.inquire() is True
    assert len(bench.provider.requests) == 2


async def test_a_model_that_cannot_be_opened_fails_at_once():
    def refuse(model) -> Any:
        raise ProviderFailed("No key for vendor.", FailureKind.WRONG_KEY)

    backend = LlmInquiryBackend(refuse, MAIN)
    with pytest.raises(InquiryFailed, match="No key for vendor"):
        await backend.inquire(STREAM, CALL, CONFIRM, QuestionConfig())


# many at once, and none


async def test_a_cancellation_closes_the_providers_stream():
    bench = Bench([TextDelta("reasoning", "Hm."), asyncio.Event()])
    running = asyncio.create_task(bench.inquire())
    await until(lambda: bench.provider.requests)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert bench.provider.closed == 1
    assert not others()


async def test_a_cancellation_ends_a_pause():
    bench = Bench([failure()], pause=lambda _: never())
    running = asyncio.create_task(bench.inquire())
    await until(lambda: bench.provider.closed)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not others()


async def test_several_may_be_under_way_at_once():
    slow = asyncio.Event()
    bench = Bench((slow, *reply(answer=True)), reply(answer=False))
    first = asyncio.create_task(bench.inquire())
    await until(lambda: bench.provider.requests)
    assert await bench.inquire() is False
    slow.set()
    assert await first is True


async def test_a_provider_may_be_any_iterator():
    class Plain:
        NAME = "plain"
        replies: ClassVar[list[Any]] = [[], list(reply(answer=True))]

        def stream(self, request) -> Any:
            return self

        def __aiter__(self) -> Any:
            self.left = self.replies.pop(0)
            return self

        async def __anext__(self) -> Any:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    backend = LlmInquiryBackend(lambda _: Plain(), MAIN, pause=Bench().pause)
    assert await backend.inquire(STREAM, CALL, CONFIRM, QuestionConfig()) is True
