"""What a reply leaves on record, and what of it goes back to the provider."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.errors import ProviderFailed
from jpweb.agent.event_writer import EventWriter
from jpweb.agent.ports import (
    CompleteToolCall,
    PartialToolCall,
    ReplyFinished,
    ReplyMetadata,
    StructuredReply,
    TextDelta,
    TokenUsage,
)
from jpweb.agent.reply import MAX_REPLY_CALLS, ReplyRecorder
from jpweb.agent.turn import TurnEnd
from jpweb.stream.events import ChatRequest, ChatResponse, ToolCallRequest, ToolCallResponse
from tests.agent.doubles import (
    ListDisplay,
    QueueProvider,
    TurnBench,
    clock,
    make_asker,
    run_turn,
)
from tests.agent.recorder import ListRecorder

DONE = (TextDelta("message", "Done."), ReplyFinished())
SIGNED = {"anthropic_signature": "abc"}


async def record_reply(*steps) -> Any:
    """Return kinds and metadata of what these pieces leave on record."""
    recorder = ListRecorder()
    reply = ReplyRecorder(EventWriter(recorder, clock), ListDisplay())
    for step in steps:
        await reply.take_event(step)
    reply.is_finished = True
    await reply.close()
    return [(event.kind, dict(event.metadata)) for event in recorder.events]


def make_response(variant, content, **metadata) -> Any:
    return (ChatResponse(variant, content), metadata)


async def test_reply_metadata_ends_the_text_and_is_recorded_with_it():
    assert await record_reply(
        TextDelta("reasoning", "Hm"),
        TextDelta("reasoning", "."),
        ReplyMetadata("reasoning", SIGNED),
    ) == [make_response("reasoning", "Hm.", **SIGNED)]


@pytest.mark.parametrize("variant", ["message", "reasoning"])
@pytest.mark.parametrize("text", [" ", "\n\n", "\u2003\t"], ids=["space", "lines", "wide"])
async def test_reply_of_whitespace_alone_is_not_recorded(variant: Any, text: str):
    assert await record_reply(TextDelta(variant, text)) == []
    other_variant: Any = "reasoning" if variant == "message" else "message"
    assert await record_reply(TextDelta(variant, text), TextDelta(other_variant, "x")) == [
        make_response(other_variant, "x")
    ]
    events = await record_reply(TextDelta(variant, text), ReplyMetadata(variant, SIGNED))
    assert events == [make_response(variant, text, **SIGNED)]


async def test_text_of_a_reply_keeps_its_whitespace():
    pieces = (TextDelta("message", "\n"), TextDelta("message", " a "), TextDelta("message", "\n"))
    assert await record_reply(*pieces) == [make_response("message", "\n a \n")]


async def test_text_after_a_note_is_another_event_though_of_the_same_variant():
    assert await record_reply(
        TextDelta("reasoning", "One."),
        ReplyMetadata("reasoning", SIGNED),
        TextDelta("reasoning", "Two."),
        TextDelta("message", "Three."),
    ) == [
        make_response("reasoning", "One.", **SIGNED),
        make_response("reasoning", "Two."),
        make_response("message", "Three."),
    ]


@pytest.mark.parametrize("variant", ["reasoning", "message"])
async def test_a_note_without_text_has_an_empty_event_to_itself(variant):
    metadata = ReplyMetadata(variant, {"redacted": "xyz"})
    assert await record_reply(metadata) == [make_response(variant, "", redacted="xyz")]
    assert await record_reply(
        TextDelta("message", "Before."), metadata, TextDelta("message", "After.")
    ) == (
        [make_response("message", "Before."), make_response("reasoning", "", redacted="xyz")]
        if variant == "reasoning"
        else [make_response("message", "Before.", redacted="xyz")]
    ) + [make_response("message", "After.")]


async def test_an_empty_note_without_text_leaves_nothing():
    assert await record_reply(ReplyMetadata("reasoning", {}), TextDelta("message", "")) == []


async def test_recorded_call_keeps_provider_metadata():
    call = CompleteToolCall("c1", "tool", {"x": 1}, {"thought": "t"})
    assert await record_reply(TextDelta("message", "First."), call) == [
        make_response("message", "First."),
        (ToolCallRequest("c1", "tool", {"x": 1}), {"thought": "t"}),
    ]


@pytest.mark.parametrize("value", [{"a": [1, None]}, [], None, "text", 0])
async def test_structured_data_are_a_response_of_their_own(value):
    assert await record_reply(TextDelta("reasoning", "Hm."), StructuredReply(value)) == [
        make_response("reasoning", "Hm."),
        make_response("data", value),
    ]


async def test_a_call_that_is_still_coming_is_shown_and_not_recorded():
    recorder, display = ListRecorder(), ListDisplay()
    reply = ReplyRecorder(EventWriter(recorder, clock), display)
    await reply.take_event(TextDelta("message", "I "))
    await reply.take_event(PartialToolCall("tool", '{"x"'))
    await reply.take_event(TextDelta("message", "call."))
    await reply.close()
    assert display.partials == [
        ("message", "I "),
        ("tool_call", 'tool {"x"'),
        ("message", "I call."),
    ]
    assert recorder.kinds == [ChatResponse("message", "I call.")]


@pytest.mark.parametrize(
    ("event", "has_begun"),
    [
        (TextDelta("message", "x"), True),
        (TextDelta("message", ""), False),
        (TextDelta("reasoning", ""), False),
        (PartialToolCall("tool", "{"), False),
        (CompleteToolCall("c1", "tool", {}), True),
        (ReplyMetadata("reasoning", {"redacted": "x"}), True),
        (StructuredReply(None), True),
    ],
)
async def test_a_reply_has_begun_once_something_of_it_will_be_on_record(event, has_begun):
    reply = ReplyRecorder(EventWriter(ListRecorder(), clock), ListDisplay())
    assert not reply.has_begun
    await reply.take_event(event)
    assert reply.has_begun is has_begun
    await reply.take_event(PartialToolCall("tool", "{"))
    assert reply.has_begun is has_begun


variants = st.sampled_from(["message", "reasoning"])


@given(st.lists(st.builds(TextDelta, variants, st.text(max_size=3))))
async def test_however_text_is_cut_the_same_text_is_recorded(deltas):
    kinds = [kind for kind, _ in await record_reply(*deltas)]
    for variant in ("message", "reasoning"):
        runs = groupby(deltas, key=lambda delta: delta.variant)
        texts = [
            "".join(d.text for d in run) for run_variant, run in runs if run_variant == variant
        ]
        full_text = "".join(text for text in texts if text.strip())
        assert "".join(kind.content for kind in kinds if kind.variant == variant) == full_text
    assert all(kind.content for kind in kinds)


async def test_provider_metadata_is_sent_with_the_next_request():
    first = [
        ReplyMetadata("reasoning", {"redacted": "xyz"}),
        TextDelta("reasoning", "Hm."),
        ReplyMetadata("reasoning", SIGNED),
        CompleteToolCall("c1", "tool", {}, {"thought": "t"}),
        ReplyFinished(),
    ]
    stage = TurnBench(QueueProvider([first, DONE]), (make_asker(),))
    assert await run_turn(stage.ports, "Go.", None, stage.stop, stage.setup) is TurnEnd.COMPLETE
    sent_events = [(e.kind, dict(e.metadata)) for e in stage.provider.requests[1].parts.events]
    assert sent_events == [
        (ChatRequest("Go."), {}),
        make_response("reasoning", "", redacted="xyz"),
        make_response("reasoning", "Hm.", **SIGNED),
        (ToolCallRequest("c1", "tool", {}), {"thought": "t"}),
        (ToolCallResponse("c1", "done", is_error=False), {}),
    ]


async def record_usages(*steps: Any) -> list[tuple[int, TokenUsage]]:
    """Return the usages that a reply leaves on record, each with the number of its events."""
    recorder = ListRecorder()
    reply = ReplyRecorder(EventWriter(recorder, clock), ListDisplay())
    for step in steps:
        await reply.take_event(step)
    await reply.close()
    return recorder.usages


async def test_usage_is_recorded_once_with_the_end_of_its_reply():
    counted = TokenUsage(12, 3)
    text = TextDelta("message", "Done.")
    assert await record_usages(TokenUsage(), text, counted) == [(1, counted)]
    assert await record_usages(text) == []


async def test_usage_of_a_reply_without_events_is_recorded_too():
    assert await record_usages(TokenUsage()) == [(0, TokenUsage())]


async def test_reply_with_too_many_calls_is_refused_and_none_of_them_recorded():
    recorder = ListRecorder()
    reply = ReplyRecorder(EventWriter(recorder, clock), ListDisplay())
    await reply.take_event(TextDelta("message", "Now."))
    for number in range(MAX_REPLY_CALLS):
        await reply.take_event(CompleteToolCall(f"c{number}", "tool", {}))
    with pytest.raises(ProviderFailed, match="more than 100 times, so none of these calls was run"):
        await reply.take_event(CompleteToolCall("last", "tool", {}))
    await reply.close()
    assert [event.kind for event in recorder.events] == [ChatResponse("message", "Now.")]
