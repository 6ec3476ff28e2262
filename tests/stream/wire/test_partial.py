"""A glance says of an element what reading it says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpweb.stream import anchor_ids, wire
from jpweb.stream.events import (
    ChatRequest,
    ConversationEvent,
    Element,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse
from jpweb.stream.wire.partial import PartialElement, read_partial
from tests.builders import AT, make_answer, make_call, make_element, make_inquiry, make_result, raw
from tests.machine.sizes import choose_size
from tests.stream import strategies
from tests.stream.wire.test_fast_codec import KEYS, armoured, values

#: The kinds that a glance gives whole.
WHOLE = (ToolCallRequest, ToolCallResponse, InquiryRequest, InquiryResponse)


def read_both_ways(text: str) -> PartialElement:
    """Look and read; both must say the same. Returns the glance."""
    read, partial = wire.read_element(text), read_partial(text)
    assert (partial.raw, partial.tag, partial.content_anchor) == (
        text,
        read.tag,
        anchor_ids.make_content_anchor(read),
    )
    assert type(partial.kind) is type(read.kind)
    if isinstance(read.kind, WHOLE):
        assert repr(partial.kind) == repr(read.kind)
    events = partial.events
    assert [type(event.kind) for event in events] == [type(event.kind) for event in read.events]
    assert [event.note for event in events] == [event.note for event in read.events]
    assert partial.note == next((event.note for event in read.events), {})
    assert repr(read_partial(text).element) == repr(read)
    return partial


@given(strategies.streams | strategies.questionings)
@settings(deadline=None, max_examples=choose_size(15, 60))
def test_read_partial_equals_read_element_for_streams(elements):
    for element in elements:
        read_both_ways(element.raw)


@given(
    strategies.kinds,
    strategies.objects,
    st.lists(st.tuples(st.sampled_from(KEYS), values), max_size=3),
    st.sets(st.sampled_from(KEYS), max_size=2),
)
@settings(deadline=None, max_examples=choose_size(75, 300))
def test_read_partial_equals_read_element_for_odd_elements(kind, metadata, extra_members, less):
    element_json = json.loads(wire.write_element(ConversationEvent(AT, kind, metadata)).raw)
    members = [
        *((key, value) for key, value in element_json.items() if key not in less),
        *extra_members,
    ]
    read_both_ways(
        "{" + ",".join(f"{json.dumps(key)}:{json.dumps(value)}" for key, value in members) + "}"
    )


@given(armoured)
@settings(deadline=None, max_examples=choose_size(50, 200))
def test_a_glance_decodes_base64_as_reading_does(text):
    head = {"timestamp": AT, "id": "c"}
    read_both_ways(
        json.dumps(head | {"type": "tool_call_response", "content": text, "is_error": False})
    )
    arguments = {"a": text, "b": [text, {"c": text}], "d": 1, "e": None}
    read_both_ways(
        json.dumps(head | {"type": "tool_call_request", "name": "n", "arguments": arguments})
    )


DEEP = '{"a": ' + "[" * 130 + "]" * 130 + "}"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "NaN",
        '{"type": "weather", "timestamp": "x"}',
        '{"type": "turn_start", "timestamp": "2026-02-30 00:00:00.0"}',
        f'{{"type": "chat_response", "timestamp": "{AT}"}}',
        f'{{"type": "chat_response", "timestamp": "{AT}", "message": "x", "metadata": {DEEP}}}',
        f'{{"type": "chat_response", "timestamp": "{AT}", "reasoning": "x", "metadata": {{}}}}',
        f'{{"type": "tool_call_request", "timestamp": "{AT}", "id": "c", "name": "n", '
        f'"arguments": {DEEP}}}',
        '{"type": "tool_call", "id": "c"}',
    ],
)
def test_read_partial_equals_read_element_for_odd_json(text):
    read_both_ways(text)


@pytest.mark.parametrize("kind", [make_call("c", path="a"), make_result("c"), ChatRequest("Hi")])
def test_read_partial_does_not_decode_common_elements(kind):
    partial = read_both_ways(make_element(kind).raw)
    partial_element = read_partial(partial.raw)
    assert partial_element.decoded is None
    assert partial_element.events == (partial_element,)
    assert partial_element.element is partial_element.element


@pytest.mark.parametrize("kind", [make_inquiry("c.q.1"), make_answer("c.q.1")])
def test_read_partial_of_an_inquiry_has_its_note(kind):
    partial = read_both_ways(make_element(kind, metadata={"jpweb": {"tool_call_id": "c"}}).raw)
    assert partial.note == {"tool_call_id": "c"}


def test_read_partial_of_an_unknown_element_has_no_note():
    assert read_both_ways(raw({"type": "weather"}).raw).note == {}


def test_read_partial_decodes_the_note_on_access():
    element = raw({"type": "chat_response", "timestamp": AT, "message": "x",
                "metadata": {"jpweb": {"a": "MQ=="}}})  # fmt: skip
    partial_element = read_partial(element.raw)
    assert partial_element.decoded is None
    assert partial_element.note == {"a": "1"}
    assert partial_element.element == Element(element.raw, element.body)
