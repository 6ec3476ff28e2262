"""From and to JP's JSON."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from jpweb.stream import wire
from jpweb.stream.errors import MalformedElement
from jpweb.stream.events import (
    BrokenEvent,
    ChatRequest,
    ChatResponse,
    Compaction,
    ConfigDelta,
    ConversationEvent,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
    UnknownEvent,
)
from jpweb.stream.inquiry import Answered, InquiryResponse
from tests.builders import AT, make_element, raw
from tests.stream import strategies


def event(tag, **fields) -> Any:
    return {"timestamp": AT, "type": tag, **fields}


def read(value) -> Any:
    return raw(value)


def problem(value) -> Any:
    body = read(value).body
    assert isinstance(body, BrokenEvent)
    return body.problem


@given(strategies.kinds, strategies.objects)
@settings(deadline=None)
def test_write_element_round_trips(kind, metadata):
    written_element = wire.write_element(ConversationEvent(AT, kind, metadata))
    second_element: Any = wire.read_element(written_element.raw)
    assert second_element == written_element
    assert wire.write_element(second_element.body).raw == written_element.raw


@pytest.mark.parametrize(
    ("number", "spelled"),
    [(1e16, "1e16"), (1e-7, "1e-7"), (1e-5, "0.00001"), (0.5, "0.5"), (2**64 - 1, str(2**64 - 1))],
)
def test_numbers_are_spelled_as_rust_spells_them(number, spelled):
    assert f'"n": {spelled}\n' in make_element(ToolCallRequest("c", "t", {"n": number})).raw


def test_text_is_escaped_as_rust_escapes_it():
    raw_text = make_element(ChatRequest('"\\/\b\f\n\r\t\x01\x1f\x7f\u2028é')).raw
    assert r'"\"\\/\b\f\n\r\t\u0001\u001f' + "\x7f\u2028é" + '"' in raw_text


def test_overlays_have_their_type_first():
    assert list(json.loads(make_element(ConfigDelta({})).raw)) == ["type", "timestamp", "delta"]
    assert list(json.loads(make_element(Compaction(0, 1)).raw))[:2] == ["type", "timestamp"]
    assert list(json.loads(make_element(TurnStart()).raw)) == ["timestamp", "type"]


def test_the_policies_of_a_compaction_have_jps_order():
    backwards = {"tool_calls": {"policy": "omit"}, "reasoning": "strip", "summary": {"summary": ""}}
    element_json = json.loads(make_element(Compaction(0, 1, backwards)).raw)
    assert list(element_json)[4:] == ["summary", "reasoning", "tool_calls"]


def test_empty_metadata_is_not_written():
    assert "metadata" not in make_element(ChatRequest("Hi")).raw


def test_an_event_id_is_read_and_not_written():
    element = read(event("turn_start", event_id="ab12cd3"))
    assert element.body.event_id == "ab12cd3"
    assert "ab12cd3" not in wire.write_element(element.body).raw
    assert read(event("turn_start", event_id=7)).body.event_id is None


def test_write_element_encodes_arguments_content_and_metadata_in_base64():
    call = json.loads(
        make_element(ToolCallRequest("aa", "bb", {"k": ["cc"]}), metadata={"m": "dd"}).raw
    )
    assert (call["id"], call["name"]) == ("aa", "bb")
    assert call["arguments"] == {"k": ["Y2M="]}
    assert call["metadata"] == {"m": "ZGQ="}
    assert json.loads(make_element(ToolCallResponse("c", "ee", False)).raw)["content"] == "ZWU="
    assert json.loads(make_element(ChatResponse("data", {"k": "ff"})).raw)["data"] == {"k": "ff"}


def test_old_url_safe_content_is_decoded_and_its_text_kept():
    content = "8J-YgP8_"  # neither alphabet makes UTF-8 of it
    url_safe_text = "Y2Fmw6k_Pz8-"  # café???>
    assert read(
        event("tool_call_response", id="c", content=content, is_error=False)
    ).kind.content == (content)
    element = read(event("tool_call_response", id="c", content=url_safe_text, is_error=False))
    assert element.kind.content == "café???>"
    assert url_safe_text in element.raw


def test_arguments_are_not_decoded_by_the_url_safe_alphabet():
    element = read(event("tool_call_request", id="c", name="t", arguments={"a": "Y2Fmw6k_Pz8-"}))
    assert element.kind.arguments == {"a": "Y2Fmw6k_Pz8-"}


def test_nested_metadata_is_decoded_at_every_depth():
    element = read(event("chat_request", content="", metadata={"a": {"b": ["aGk=", 1, None]}}))
    assert element.body.metadata == {"a": {"b": ["hi", 1, None]}}


def test_the_first_variant_that_fits_wins():
    element = read(event("chat_response", reasoning="r", message="m", data=1))
    assert element.kind == ChatResponse("message", "m")
    assert read(event("chat_response", message=1, reasoning="r")).kind.variant == "reasoning"
    assert read(event("chat_response", data=None)).kind == ChatResponse("data", None)


def test_null_is_absent_for_schema_and_author():
    assert read(event("chat_request", content="", schema=None, author=None)).kind == ChatRequest("")


def test_extra_keys_are_ignored_even_on_a_turn_start():
    assert read(event("turn_start", index=3)).kind == TurnStart()


def test_arguments_may_be_absent():
    assert read(event("tool_call_request", id="c", name="t")).kind.arguments == {}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"type": "chat_request", "content": ""}, "“timestamp” must be a string"),
        ({"type": "turn_start", "timestamp": "yesterday"}, "“timestamp” cannot be read: 'yester"),
        (event("chat_request"), "“content” must be a string"),
        (event("chat_request", content="", schema=[]), "“schema” must be an object"),
        (event("chat_request", content="", author=1), "“author” must be a string"),
        (event("chat_response", message=1), "needs “message”, “reasoning” or “data”"),
        (event("tool_call_request", id="c"), "“name” must be a string"),
        (event("tool_call_request", id="c", name="t", arguments=None), "“arguments” must be an"),
        (event("tool_call_response", id="c", content=1, is_error=False), "“content” must be a"),
        (event("tool_call_response", id="c", content="", is_error=1), "“is_error” must be true"),
        (event("turn_start", metadata=None), "“metadata” must be an object"),
        (event("compaction", from_turn=True, to_turn=1), "“from_turn” must be a whole number"),
        (event("compaction", from_turn=0, to_turn=-1), "“to_turn” must be a whole number"),
        (event("inquiry_request", id="q"), "“source” is missing"),
        (event("inquiry_response", answer=1), "“id” must be a string"),
    ],
)
def test_broken_element_has_a_problem_and_its_raw_text(value, message):
    assert message in problem(value)
    element = read(value)
    assert element.raw == json.dumps(value)
    assert element.kind is None
    assert element.tag == value["type"]


@pytest.mark.parametrize("value", [None, 1, "text", [], {}, {"type": 5}])
def test_read_element_without_a_type_is_unknown(value):
    element = read(value)
    assert element.body == UnknownEvent("unknown", value)
    assert (element.tag, element.kind, element.raw) == ("unknown", None, json.dumps(value))


def test_an_unknown_kind_keeps_its_tag_and_is_not_decoded():
    value = {"type": "weather", "metadata": {"sky": "aGk="}}
    assert read(value).body == UnknownEvent("weather", value)
    assert read(value).tag == "weather"


def test_a_config_delta_never_fails():
    assert read({"type": "config_delta"}).kind == ConfigDelta({})
    assert read({"type": "config_delta"}).body.timestamp == ""
    assert read({"type": "config_delta", "timestamp": "then", "delta": {}}).body.timestamp == "then"
    assert read({"type": "config_delta", "delta": 4, "metadata": 5}).body.metadata == {}


def test_a_flattened_config_delta_shows_its_keys():
    value = {"type": "config_delta", "timestamp": AT, "inherit": True, "assistant": {"name": "JP"}}
    assert read(value).kind.delta == {"inherit": True, "assistant": {"name": "JP"}}


@pytest.mark.parametrize("depth", [126, 127, 1000, 100_000])
def test_an_element_is_read_as_deep_as_jp_reads(depth):
    value = '{"type":"chat_response","timestamp":"2026-01-01 00:00:00.0","data":' + (
        "[" * (depth - 1) + "]" * (depth - 1) + "}"
    )
    assert isinstance(wire.read_element(value).body, ConversationEvent) == (depth == 126)


def nested(depth) -> Any:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "kind",
    [
        ChatRequest("\ud800"),
        ToolCallRequest("c", "t", {"a": "\udfff"}),
        ChatResponse("data", [float("nan")]),
        InquiryResponse("q", Answered({"a": float("inf")})),
        ChatResponse("data", nested(126)),
        ToolCallRequest("c", "t", {"a": nested(5000)}),
    ],
)
def test_write_element_refuses_events_that_jp_cannot_read(kind):
    with pytest.raises(MalformedElement):
        wire.write_element(ConversationEvent(AT, kind))


def test_the_deepest_that_jp_reads_is_written():
    assert make_element(ChatResponse("data", nested(125))).kind == ChatResponse("data", nested(125))


def test_metadata_of_an_overlay_is_kept():
    note = {"jpweb": {"by": {"kind": "system"}}}
    overlay_element = make_element(Compaction(0, 1), metadata=note)
    assert read(json.loads(overlay_element.raw)).body.metadata == note
    assert read(event("compaction", from_turn=0, to_turn=1, metadata=None)).body.metadata == {}


def test_the_codec_agrees_with_python_on_layout():
    value = {"a": [], "b": {}, "c": [{"d": [[], {}]}, "é"]}
    assert msgspec.json.format(msgspec.json.encode(value), indent=2).decode() == json.dumps(
        value, indent=2, ensure_ascii=False
    )
