"""The secondary assistant: what it is sent, what it may answer, what goes wrong."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.config import InquiryConfig, QuestionConfig
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
from jpweb.agent.turn_setup import make_default_config
from jpweb.stream.answer_type import Boolean, Option, Select, Text
from jpweb.stream.events import (
    ChatRequest,
    ToolCallResponse,
    TurnStart,
)
from tests.agent.doubles import CONFIRM, make_asker, other_tasks, wait_forever, wait_until
from tests.agent.tool_calls.inquiring.bench import (
    CALL,
    COLORS,
    INTERRUPTED,
    MAIN,
    STREAM,
    BackendBench,
    make_failure,
    make_reply,
)
from tests.builders import make_answer, make_call, make_inquiry, make_result, stream

# what is sent


async def test_the_copy_ends_with_the_paused_call_and_a_turn_that_asks():
    bench = BackendBench(make_reply(answer=True))
    assert await bench.inquire() is True
    *before, response, question = [event.kind for event in bench.request.parts.events]
    assert before == [ChatRequest("Go."), CALL]
    assert response == ToolCallResponse("c1", "Tool paused: Overwrite?", is_error=False)
    assert isinstance(question, ChatRequest)
    assert question.schema == bench.request.schema == make_inquiry_schema(Boolean())


async def test_inquiry_backend_sends_no_inquiry_events():
    bench = BackendBench(make_reply(answer=True))
    await bench.inquire(
        elements=(*STREAM, *stream(make_answer("c1.confirm.1"), make_inquiry("c1.x.1")))
    )
    assert all(event.kind.PROVIDER_VISIBLE for event in bench.request.parts.events)


async def test_inquiry_backend_marks_other_open_calls_as_interrupted():
    bench = BackendBench(make_reply(answer=True))
    other_call = make_call("c0", "fs_grep")
    await bench.inquire(elements=stream(TurnStart(), ChatRequest("Go."), other_call, CALL))
    assert [event.kind for event in bench.request.parts.events][1:5] == [
        other_call,
        ToolCallResponse("c0", INTERRUPTED, is_error=True),
        CALL,
        ToolCallResponse("c1", "Tool paused: Overwrite?", is_error=False),
    ]


async def test_a_call_id_of_an_earlier_cycle_is_not_taken_for_the_one_that_asks():
    bench = BackendBench(make_reply(answer=True))
    earlier = stream(TurnStart(), ChatRequest("Go."), CALL, make_result("c1", "old"), CALL)
    await bench.inquire(elements=earlier)
    contents = [
        event.kind.content
        for event in bench.request.parts.events
        if isinstance(event.kind, ToolCallResponse)
    ]
    assert contents == ["old", "Tool paused: Overwrite?"]


async def test_the_stream_that_is_copied_stays_as_it_is():
    elements = list(STREAM)
    before = [element.raw for element in elements]
    await BackendBench(make_reply(answer=True)).inquire(elements=elements)
    assert [element.raw for element in elements] == before


async def test_system_prompt_and_tools_are_the_turns_and_no_tool_may_be_called():
    tools = (make_default_config(make_asker(CONFIRM)),)
    bench = BackendBench(make_reply(answer=True), tools=tools)
    await bench.inquire()
    assert bench.request.parts.system == ("Be brief.",)
    assert bench.request.tools == tools
    assert bench.request.tool_choice == "none"
    assert bench.opened_models == [MAIN]


async def test_the_prompt_names_the_call_and_holds_context_question_and_options():
    question = Question("colour", "Which colour?", COLORS, context="Seen: a patch.")
    bench = BackendBench(make_reply("red"))
    await bench.inquire(question)
    assert bench.request.parts.events[-1].kind.content == (
        "The tool `fs_modify_file` (call c1) needs an answer before it can go on.\n\n"
        "Seen: a patch.\n\n"
        "Which colour?\n\n"
        "- red: like roses\n- blue\n- 3\n\n"
        "Answer it from what this conversation tells you."
    )


async def test_inquiry_prompt_omits_missing_question_parts():
    bench = BackendBench(make_reply(answer=True))
    await bench.inquire()
    assert bench.request.parts.events[-1].kind.content == (
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
        (COLORS, {"enum": ["red", "blue", 3]}),
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


@pytest.mark.parametrize(
    ("of_all", "of_question", "system"),
    [
        (None, None, ("Be brief.",)),
        ("All.", None, ("All.",)),
        ("All.", "Own.", ("Own.",)),
        (None, "Own.", ("Own.",)),
        ("All.", "", ("",)),
    ],
)
async def test_prompt_of_the_question_precedes_that_of_all_and_the_turns(
    of_all, of_question, system
):
    bench = BackendBench(make_reply(answer=True), inquiry=InquiryConfig(system_prompt=of_all))
    await bench.inquire(system_prompt=of_question)
    assert bench.request.parts.system == system


@pytest.mark.parametrize(
    ("of_all", "of_question", "limit"),
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
async def test_zero_bytes_inherit_for_all_and_lift_the_limit_of_a_question(
    of_all, of_question, limit
):
    inquiry = InquiryConfig(max_response_bytes=of_all)
    room = (limit or 2 * MAX_REPLY_BYTES) - len('{"answer": ""}')
    fitting = BackendBench(make_reply("x" * room), inquiry=inquiry)
    assert len(
        await fitting.inquire(replace(CONFIRM, answer_type=Text()), max_response_bytes=of_question)
    )
    if limit is not None:
        too_much = BackendBench(make_reply("x" * (room + 1)), inquiry=inquiry)
        with pytest.raises(InquiryFailed, match=f"larger than {limit} bytes"):
            await too_much.inquire(max_response_bytes=of_question)


# what comes back


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Boolean(), [True, False], ["true", 1, None, {}]),
        (Text(), ["", "x"], [True, None, ["x"]]),
        (COLORS, ["red", 3], ["RED", "", True, None]),
    ],
)
async def test_an_answer_is_checked_against_type_and_options(kind, good, bad):
    question = Question("q", "?", kind)
    for value in good:
        assert await BackendBench(make_reply(value)).inquire(question) == value
    for value in bad:
        with pytest.raises(InquiryFailed, match="does not fit"):
            await BackendBench(make_reply(value)).inquire(question)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4))
def test_inquiry_backend_returns_a_valid_answer_or_fails(value):
    question = Question("q", "?", COLORS)
    try:
        answer = asyncio.run(BackendBench(make_reply(value)).inquire(question))
    except InquiryFailed:
        assert not COLORS.is_valid(value)
    else:
        assert COLORS.is_valid(answer)


@pytest.mark.parametrize("data", [{}, {"Answer": True}, [True], True, None])
async def test_data_without_an_answer_fail(data):
    with pytest.raises(InquiryFailed, match="holds no answer"):
        await BackendBench((StructuredReply(data), ReplyFinished())).inquire()


async def test_text_alone_is_no_answer():
    bench = BackendBench((TextDelta("message", "true"), ReplyFinished()))
    with pytest.raises(InquiryFailed, match="no structured data"):
        await bench.inquire()


async def test_inquiry_backend_takes_the_first_data_and_ignores_other_text():
    around = (TextDelta("reasoning", "Hm."), ReplyMetadata("reasoning", {"signature": "s"}))
    steps = (
        *around,
        PartialToolCall("x", "{"),
        *make_reply(answer=True)[:1],
        *make_reply(answer=False),
    )
    assert await BackendBench(steps).inquire() is True


async def test_a_tool_call_instead_of_an_answer_fails():
    bench = BackendBench((CompleteToolCall("c2", "fs_grep", {}), ReplyFinished()))
    with pytest.raises(InquiryFailed, match="called fs_grep instead"):
        await bench.inquire()
    assert bench.provider.closed_count == 1


async def test_text_counts_in_bytes_and_ends_the_reply_at_the_limit():
    bench = BackendBench((TextDelta("message", "é"), TextDelta("message", "é"), asyncio.Event()))
    with pytest.raises(InquiryFailed, match="larger than 3 bytes"):
        await bench.inquire(max_response_bytes=3)
    assert bench.provider.closed_count == 1


async def test_half_a_surrogate_pair_in_a_reply_is_counted_and_breaks_nothing():
    bench = BackendBench((TextDelta("reasoning", "\ud800"), *make_reply("\ud800")))
    assert await bench.inquire(Question("q", "?", Text())) == "\ud800"


@pytest.mark.parametrize(("limit", "max_bytes"), [(None, MAX_REPLY_BYTES), (3, 3), (0, 0)])
async def test_inquiry_backend_passes_max_response_bytes_to_the_provider(limit, max_bytes):
    bench = BackendBench(make_reply(answer=True))
    if limit == 3:
        bench = BackendBench([make_failure(FailureKind.TRUNCATED)])
        with pytest.raises(InquiryFailed):
            await bench.inquire(max_response_bytes=limit)
    else:
        await bench.inquire(max_response_bytes=limit)
    assert bench.request.max_bytes == max_bytes


# failures of the provider


@pytest.mark.parametrize("kind", FailureKind)
async def test_inquiry_backend_retries_only_transient_failures(kind):
    bench = BackendBench([make_failure(kind)], make_reply(answer=True))
    if kind in TRANSIENT_FAILURES:
        assert await bench.inquire() is True
        assert bench.pauses == [1.0]
    else:
        with pytest.raises(InquiryFailed, match="Too many requests"):
            await bench.inquire()
        assert bench.pauses == []


async def test_inquiry_backend_fails_after_max_retries():
    bench = BackendBench(*[[make_failure()]] * (MAX_RETRIES + 1), make_reply(answer=True))
    with pytest.raises(InquiryFailed, match="Too many requests"):
        await bench.inquire()
    assert bench.pauses == [1.0, 2.0, 4.0]
    assert len(bench.provider.requests) == bench.provider.closed_count == 4


@pytest.mark.parametrize(
    ("advised", "expected_pause"), [(0.0, 0.0), (7.5, 7.5), (30.0, 30.0), (900, 30)]
)
async def test_the_advised_pause_is_made_up_to_a_limit(advised, expected_pause):
    bench = BackendBench([make_failure(after=advised)], make_reply(answer=True))
    await bench.inquire()
    assert bench.pauses == [expected_pause]


async def test_a_reply_that_breaks_off_is_asked_for_again():
    bench = BackendBench([StructuredReply({"answer": False})], make_reply(answer=True))
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
    bench = BackendBench([TextDelta("reasoning", "Hm."), asyncio.Event()])
    task = asyncio.create_task(bench.inquire())
    await wait_until(lambda: bench.provider.requests)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bench.provider.closed_count == 1
    assert not other_tasks()


async def test_a_cancellation_ends_a_pause():
    bench = BackendBench([make_failure()], pause=lambda _: wait_forever())
    task = asyncio.create_task(bench.inquire())
    await wait_until(lambda: bench.provider.closed_count)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not other_tasks()


async def test_inquiry_backend_handles_concurrent_inquiries():
    slow = asyncio.Event()
    bench = BackendBench((slow, *make_reply(answer=True)), make_reply(answer=False))
    first = asyncio.create_task(bench.inquire())
    await wait_until(lambda: bench.provider.requests)
    assert await bench.inquire() is False
    slow.set()
    assert await first is True


async def test_a_provider_may_be_any_iterator():
    class RetriedIterator:
        NAME = "plain"
        replies: ClassVar[list[Any]] = [[], list(make_reply(answer=True))]

        def stream(self, request) -> Any:
            return self

        def __aiter__(self) -> Any:
            self.remaining = self.replies.pop(0)
            return self

        async def __anext__(self) -> Any:
            if not self.remaining:
                raise StopAsyncIteration
            return self.remaining.pop(0)

    backend = LlmInquiryBackend(lambda _: RetriedIterator(), MAIN, pause=BackendBench().pause)
    assert await backend.inquire(STREAM, CALL, CONFIRM, QuestionConfig()) is True
