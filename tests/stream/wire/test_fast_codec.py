"""The quick way of reading makes the same of an element as the thorough one, or leaves it alone."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpweb.stream import wire
from jpweb.stream.events import ChatResponse, ConversationEvent, ToolCallRequest, ToolCallResponse
from jpweb.stream.wire import codec, fast_codec
from tests.builders import AT
from tests.machine.sizes import choose_size
from tests.stream import strategies

#: Texts that are base64, nearly base64, in its old alphabet, or none.
armoured = st.one_of(
    strategies.texts,
    st.binary(max_size=9).map(lambda raw: base64.b64encode(raw).decode()),
    st.binary(max_size=9).map(lambda raw: base64.urlsafe_b64encode(raw).decode()),
    strategies.texts.map(lambda text: base64.b64encode(text.encode()).decode()),
    st.text("YWJhQ-_+/=R \n", max_size=8),
    st.sampled_from(["YR==", "YWJ=", "YWJjYR==", "YQ==YQ==", "_w=="]),
)
values: Any = st.one_of(
    armoured,
    strategies.jsons,
    st.sampled_from([AT, "2026-02-30 00:00:00.0", "2026-01-01T00:00:00Z", True, "answered"]),
    st.dictionaries(st.sampled_from(["text", "source", "type", "a"]), armoured, max_size=3),
)
KEYS = (
    "type", "timestamp", "content", "message", "reasoning", "data", "metadata", "id", "name",
    "arguments", "is_error", "source", "question", "answer", "outcome", "event_id", "schema",
    "tool_answers",
)  # fmt: skip


def is_read_alike(text: str) -> bool:
    """Whether both ways agree; True where the quick one made an event of it."""
    quick = fast_codec.read_event(text)
    if quick is not None:
        assert repr(quick) == repr(codec._read_any_shape(text).body)
    return quick is not None


@given(strategies.kinds, strategies.objects)
@settings(deadline=None)
def test_fast_codec_reads_elements_written_by_jpweb(kind, metadata):
    is_read_alike(wire.write_element(ConversationEvent(AT, kind, metadata)).raw)


@given(
    strategies.kinds,
    st.lists(st.tuples(st.sampled_from(KEYS), values), max_size=3),
    st.sets(st.sampled_from(KEYS), max_size=2),
)
@settings(deadline=None, max_examples=choose_size(100, 400))
def test_codecs_agree_on_other_missing_and_repeated_keys(kind, extra_members, less):
    element_json = json.loads(wire.write_element(ConversationEvent(AT, kind)).raw)
    members = [
        *((key, value) for key, value in element_json.items() if key not in less),
        *extra_members,
    ]
    is_read_alike(
        "{" + ",".join(f"{json.dumps(key)}:{json.dumps(value)}" for key, value in members) + "}"
    )


@given(armoured)
@settings(deadline=None, max_examples=choose_size(100, 400))
def test_fast_codec_decodes_base64_as_the_full_codec(text):
    head = {"timestamp": AT, "id": "c"}
    assert is_read_alike(
        json.dumps(head | {"type": "tool_call_response", "content": text, "is_error": False})
    )
    arguments = {"a": text, "b": [text, {"c": text}]}
    call = head | {"type": "tool_call_request", "name": "n", "arguments": arguments}
    assert is_read_alike(json.dumps(call))
    fields = {"timestamp": AT, "type": "chat_response", "message": "", "metadata": {"s": text}}
    assert is_read_alike(json.dumps(fields))


@pytest.mark.parametrize(
    "kind",
    [
        ChatResponse("message", "Hi"),
        ChatResponse("reasoning", "Hm"),
        ToolCallRequest("c", "n", {"path": "a"}),
        ToolCallResponse("c", "é" * 5, is_error=True),
    ],
)
def test_fast_codec_reads_the_common_elements_of_jp(kind):
    assert is_read_alike(wire.write_element(ConversationEvent(AT, kind, {})).raw)


DEEP: Any = "x"
for _ in range(130):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "chat_response", "message": "", "metadata": {"a": DEEP}},
        {"type": "tool_call_request", "id": "c", "name": "n", "arguments": {"a": DEEP}},
        {"type": "inquiry_response", "id": "c", "answer": DEEP},
        {"type": "inquiry_request", "id": "c", "source": {}, "question": {"default": DEEP}},
        {"type": "inquiry_response", "id": "c", "answer": 1, "outcome": "redacted"},
        {"type": "inquiry_request", "id": "c", "source": {}, "question": {}},
        {"type": "chat_response"},
        {"type": "chat_request", "content": "Hi", "author": "J"},
        {"type": "chat_request", "content": 1},
        {"type": "compaction", "from_turn": 0, "to_turn": 1},
    ],
)
def test_fast_codec_leaves_unusual_elements_to_the_full_codec(fields):
    assert not is_read_alike(json.dumps({"timestamp": AT} | fields))


def test_a_time_that_jp_refuses_is_left_to_the_thorough_way():
    assert not is_read_alike('{"timestamp": "2026-02-30 00:00:00.0", "type": "turn_start"}')
