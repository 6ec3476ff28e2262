"""Anchors: all different, and stable when JP writes the file anew."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpweb.stream import anchor_ids, timestamps, wire
from jpweb.stream.answer_type import Option, Secret, Select, Text
from jpweb.stream.events import ChatRequest, ConfigDelta, ConversationEvent, TurnStart
from jpweb.stream.inquiry import AnswerReusePolicy, InquiryRequest
from tests.builders import AT, make_element, raw, stream
from tests.machine.sizes import choose_size
from tests.stream import strategies

SAMPLES = Path(__file__).parents[1] / "samples" / "events"
CSS_ID = re.compile(r"[a-z][A-Za-z0-9-]*", re.ASCII)


def event(**fields) -> Any:
    return {"timestamp": AT, "type": "chat_request", "content": "Hi"} | fields


def restamp(text) -> Any:
    """The time as an older file may spell it."""
    moment = timestamps.parse_timestamp(text)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}000+00:00" if moment else text


def rewrite(element) -> Any:
    """The element as another JP would write it: other zone, no metadata, no links.

    A jp before RFD 083 drops keys of the question, one before 082 knows secrets as text.
    """
    if not isinstance(element.body, ConversationEvent):
        return element
    kind = element.body.kind
    if isinstance(kind, InquiryRequest):
        question = kind.question
        older_question = replace(
            question,
            context=None,
            exclusive=False,
            persistence=AnswerReusePolicy.TURN,
            answer_type=older(question.answer_type),
        )
        kind = replace(kind, question=older_question)
    elif isinstance(kind, ConfigDelta) and timestamps.parse_timestamp(element.body.timestamp):
        kind = ConfigDelta({})
    return wire.read_element(
        wire.write_element(ConversationEvent(restamp(element.body.timestamp), kind)).raw
    )


def older(kind) -> Any:
    if isinstance(kind, Select):
        return Select(tuple(Option(option.value) for option in kind.options))
    return Text() if isinstance(kind, Secret) else kind


@given(strategies.streams)
@settings(deadline=None)
def test_anchors_are_all_different_and_valid_ids(elements):
    anchors = anchor_ids.make_anchors(elements)
    assert len(set(anchors)) == len(elements)
    assert all(CSS_ID.fullmatch(anchor) for anchor in anchors)


@given(strategies.streams)
@settings(deadline=None)
def test_anchors_stay_when_the_stream_grows(elements):
    half = len(elements) // 2
    assert anchor_ids.make_anchors(elements)[:half] == anchor_ids.make_anchors(elements[:half])


@given(strategies.streams)
@settings(deadline=None)
def test_anchors_stay_when_jp_rewrites_the_file(elements):
    assert anchor_ids.make_anchors(
        [rewrite(element) for element in elements]
    ) == anchor_ids.make_anchors(elements)


def test_equal_elements_are_counted_apart():
    first, second, third = anchor_ids.make_anchors([make_element(TurnStart())] * 3)
    assert (second, third) == (f"{first}-x2", f"{first}-x3")


def test_a_legacy_response_and_its_tagged_form_share_their_anchor():
    legacy = {"timestamp": AT, "type": "inquiry_response", "id": "c.q", "answer": True}
    tagged = legacy | {"outcome": "answered"}
    assert anchor_ids.make_content_anchor(raw(legacy)) == anchor_ids.make_content_anchor(
        raw(tagged)
    )


def test_metadata_and_unknown_keys_are_no_part_of_the_name():
    assert anchor_ids.make_content_anchor(raw(event())) == anchor_ids.make_content_anchor(
        raw(event(metadata={"a": "b"}, later=1))
    )


def test_anchor_of_a_config_delta_is_its_time_or_else_its_content():
    stripped = {
        anchor_ids.make_content_anchor(make_element(ConfigDelta(delta))) for delta in ({"a": 1}, {})
    }
    assert len(stripped) == 1
    untimed = {
        anchor_ids.make_content_anchor(make_element(ConfigDelta({"a": 1}), at=at))
        for at in ("", "now")
    }
    assert len(untimed) == 1
    assert untimed != stripped
    assert anchor_ids.make_content_anchor(raw({"type": "config_delta", "a": 2})) not in untimed


def test_anchors_differ_by_the_nanosecond():
    times = ("2026-01-01 00:00:00.123456788", "2026-01-01 00:00:00.123456789")
    assert (
        len(
            {anchor_ids.make_content_anchor(make_element(ChatRequest("Hi"), at=at)) for at in times}
        )
        == 2
    )


@pytest.mark.parametrize("odd", ["ab12cd3", "", "a b", '"><', 7, None])
def test_ids_of_rfd_097_and_098_may_come_and_go(odd):
    unknown = {"type": "weather", "sky": "blue"}
    for value in (event(), unknown):
        linked_value = value | {"event_id": odd, "request_id": odd}
        assert anchor_ids.make_content_anchor(raw(linked_value)) == anchor_ids.make_content_anchor(
            raw(value)
        )


def test_elements_that_are_no_objects_have_names():
    odd = [None, 1, "1", [], [1], {"type": "chat_request"}]
    assert len(set(anchor_ids.make_anchors(map(raw, odd)))) == len(odd)


def test_a_broken_element_is_named_by_its_text():
    first, second = ('{"type": "turn_start"}', '{"type":"turn_start"}')
    assert anchor_ids.make_content_anchor(
        wire.read_element(first)
    ) != anchor_ids.make_content_anchor(wire.read_element(second))


def test_key_order_does_not_change_the_name_of_an_event():
    backwards = dict(reversed(event().items()))
    assert anchor_ids.make_content_anchor(raw(backwards)) == anchor_ids.make_content_anchor(
        raw(event())
    )
    assert json.dumps(backwards) != json.dumps(event())


def test_the_same_words_at_another_time_are_another_event():
    assert (
        len(
            {
                anchor_ids.make_content_anchor(element)
                for element in stream(ChatRequest("Hi"), ChatRequest("Hi"))
            }
        )
        == 2
    )


def test_old_content_that_jp_wraps_twice_keeps_its_name():
    old = {"timestamp": AT, "type": "tool_call_response", "id": "c", "content": "Y2Fmw6k_Pz8-"}
    twice_wrapped = old | {"content": base64.b64encode(b"Y2Fmw6k_Pz8-").decode()}
    names = {
        anchor_ids.make_content_anchor(raw(fields | {"is_error": False}))
        for fields in (old, twice_wrapped)
    }
    assert len(names) == 1


def test_an_old_answer_type_and_its_present_spelling_share_their_name():
    old = {"timestamp": AT, "type": "inquiry_request", "id": "q", "source": {"source": "user"}}
    types = ({"Select": {"options": ["a"]}}, {"type": "select", "options": [{"value": "a"}]})
    requests = [old | {"question": {"text": "?", "answer_type": kind}} for kind in types]
    assert len({anchor_ids.make_content_anchor(raw(fields)) for fields in requests}) == 1


def test_a_compatible_element_shares_the_name_of_the_present_one():
    for name in ("inquiry_request.secret", "inquiry_response.redacted"):
        element: Any = wire.read_element((SAMPLES / f"{name}.json").read_text().strip())
        compatible = wire.write_element(element.body, is_compatible=True).raw
        assert compatible != wire.write_element(element.body).raw
        assert anchor_ids.make_content_anchor(
            wire.read_element(compatible)
        ) == anchor_ids.make_content_anchor(element)


def test_legacy_element_keeps_its_anchor_in_another_layout():
    value = {"timestamp": AT, "message": "Hi", "reply": {"content": "Hello"}}
    spaced = wire.read_element(json.dumps(value | {"timestamp": "2026-01-02T03:04:05Z"}, indent=8))
    assert anchor_ids.make_content_anchor(spaced) == anchor_ids.make_content_anchor(raw(value))
    assert anchor_ids.make_content_anchor(spaced) != anchor_ids.make_content_anchor(
        raw(value | {"message": "Ho"})
    )


def test_integers_of_any_length_have_a_name():
    assert anchor_ids.make_content_anchor(
        raw(event(type="x", n=2**70))
    ) != anchor_ids.make_content_anchor(raw(event(type="x", n=1)))


@given(
    strategies.moments.map(timestamps.format_timestamp)
    | st.from_regex(r"20[0-9]{2}-[0-9]{2}-[0-3][0-9] [0-2][0-9]:[0-6][0-9]:[0-6][0-9]\.[0-9]{1,10}")
    | strategies.moments.map(lambda moment: moment.isoformat())
    | strategies.texts
)
@settings(deadline=None, max_examples=choose_size(100, 400))
def test_the_moment_of_an_anchor_is_the_instant_of_a_time_that_can_be_read(text):
    readable = timestamps.parse_timestamp(text) is not None
    assert anchor_ids.normalize_timestamp(text) == (
        timestamps.normalize_timestamp(text) if readable else None
    )


@pytest.mark.parametrize(
    "text", ["2026-02-30 00:00:00.0", "2016-12-31 23:59:60.5", "2026-01-01 24:00:00.0"]
)
def test_a_day_or_second_that_is_odd_takes_the_long_way(text):
    readable = timestamps.parse_timestamp(text) is not None
    assert anchor_ids.normalize_timestamp(text) == (
        timestamps.normalize_timestamp(text) if readable else None
    )


def test_an_event_with_a_time_that_is_none_is_named_by_its_text():
    first, second = (ConversationEvent(text, ChatRequest("Hi")) for text in ("once", "upon"))
    assert (
        len(
            {anchor_ids.make_content_anchor(wire.write_element(event)) for event in (first, second)}
        )
        == 2
    )
