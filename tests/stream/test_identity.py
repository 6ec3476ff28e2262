"""Anchors: all different, and stable when JP writes the file anew."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings

from jpweb.stream import identity, timestamps, wire
from jpweb.stream.events import ChatRequest, ConfigDelta, ConversationEvent, TurnStart
from tests.builders import AT, element, raw, stream
from tests.stream import strategies

CSS_ID = re.compile(r"[a-z][A-Za-z0-9-]*", re.ASCII)


def event(**fields) -> Any:
    return {"timestamp": AT, "type": "chat_request", "content": "Hi"} | fields


def rewritten(found) -> Any:
    """The element as another JP would write it: other zone, no metadata, no unknown keys."""
    if not isinstance(found.body, ConversationEvent):
        return found
    moment = timestamps.parse(found.body.timestamp)
    stamp = f"{moment:%Y-%m-%dT%H:%M:%S.%f}000+00:00" if moment else found.body.timestamp
    return wire.read(wire.write(ConversationEvent(stamp, found.body.kind)).raw)


@given(strategies.streams)
@settings(deadline=None)
def test_anchors_are_all_different_and_valid_ids(elements):
    found = identity.anchors(elements)
    assert len(set(found)) == len(elements)
    assert all(CSS_ID.fullmatch(anchor) for anchor in found)


@given(strategies.streams)
@settings(deadline=None)
def test_anchors_stay_when_the_stream_grows(elements):
    half = len(elements) // 2
    assert identity.anchors(elements)[:half] == identity.anchors(elements[:half])


@given(strategies.streams)
@settings(deadline=None)
def test_anchors_stay_when_jp_writes_the_file_anew(elements):
    assert identity.anchors([rewritten(one) for one in elements]) == identity.anchors(elements)


def test_equal_elements_are_counted_apart():
    first, second, third = identity.anchors([element(TurnStart())] * 3)
    assert (second, third) == (f"{first}-x2", f"{first}-x3")


def test_a_legacy_response_and_its_tagged_form_share_their_anchor():
    legacy = {"timestamp": AT, "type": "inquiry_response", "id": "c.q", "answer": True}
    tagged = legacy | {"outcome": "answered"}
    assert identity.name(raw(legacy)) == identity.name(raw(tagged))


def test_metadata_and_unknown_keys_are_no_part_of_the_name():
    assert identity.name(raw(event())) == identity.name(raw(event(metadata={"a": "b"}, later=1)))


def test_a_config_delta_is_named_without_its_time():
    names = {identity.name(element(ConfigDelta({"a": 1}), at=at)) for at in (AT, "", "now")}
    assert len(names) == 1


def test_the_nanosecond_tells_two_events_apart():
    times = ("2026-01-01 00:00:00.123456788", "2026-01-01 00:00:00.123456789")
    assert len({identity.name(element(ChatRequest("Hi"), at=at)) for at in times}) == 2


def test_an_event_id_is_the_name():
    assert identity.name(raw(event(event_id="ab12cd3"))) == "e-ab12cd3"
    assert identity.name(raw({"type": "weather", "event_id": "ab12cd3"})) == "e-ab12cd3"
    assert identity.anchors([raw(event(event_id="a")), raw(event(event_id="a", content=""))]) == [
        "e-a",
        "e-a-x2",
    ]


@pytest.mark.parametrize("odd", ["", "a b", "a-x2", "é", '"><', "a" * 41, 7, None])
def test_an_event_id_that_is_no_plain_word_is_not_used(odd):
    assert identity.name(raw(event(event_id=odd))) == identity.name(raw(event()))


def test_elements_that_are_no_objects_have_names():
    odd = [None, 1, "1", [], [1], {"type": "chat_request"}]
    assert len(set(identity.anchors(map(raw, odd)))) == len(odd)


def test_a_broken_element_is_named_by_its_text():
    one, other = ('{"type": "turn_start"}', '{"type":"turn_start"}')
    assert identity.name(wire.read(one)) != identity.name(wire.read(other))


def test_key_order_does_not_change_the_name_of_an_event():
    backwards = dict(reversed(event().items()))
    assert identity.name(raw(backwards)) == identity.name(raw(event()))
    assert json.dumps(backwards) != json.dumps(event())


def test_the_same_words_at_another_time_are_another_event():
    assert len({identity.name(one) for one in stream(ChatRequest("Hi"), ChatRequest("Hi"))}) == 2
