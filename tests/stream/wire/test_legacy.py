"""The layouts before event streams: every one read, none lost."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from jpweb.stream import outline, turns, wire
from jpweb.stream.anchor_ids import split_anchor
from jpweb.stream.events import (
    BrokenEvent,
    ChatRequest,
    ChatResponse,
    ConfigDelta,
    ConversationEvent,
    LegacyEvents,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
    UnknownEvent,
)
from jpweb.stream.thread import list_visible_events
from jpweb.stream.transcript.items import StandaloneItem, ToolCall
from jpweb.stream.wire import legacy
from tests.builders import AT, list_placed, make_element, make_result, raw, stream
from tests.stream import strategies

FOLDER = Path(__file__).parents[2] / "samples" / "layouts"
FILES = sorted(FOLDER.glob("*.json"))


def wrap(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def pair(**fields) -> Any:
    return raw({"timestamp": AT, "message": None, "reply": None} | fields)


def kinds(element) -> Any:
    return [event.kind for event in element.events]


def problem(element) -> str:
    assert isinstance(element.body, BrokenEvent)
    return element.body.problem


CALLS = {
    "provider": "anthropic",
    "reasoning": "Hm.",
    "content": "Look:",
    "tool_calls": [
        {"id": "a", "name": "ls", "arguments": {"path": wrap("src"), "n": 1}},
        {"id": "b", "name": "cat", "arguments": wrap('{"path": "x"}')},
    ],
    "metadata": {"signature": wrap("s")},
}
RESULTS = [
    {"id": "a", "content": base64.urlsafe_b64encode("café???>".encode()).decode(), "error": False},
    {"id": "b", "content": wrap("no such file"), "error": True},
]
FIRST, SECOND = (
    pair(message="Hi", reply=CALLS, config_delta={"assistant": {}}, context={"persona_id": "x"}),
    pair(message=RESULTS, reply={"provider": "anthropic", "content": "Done."}),
)


def test_legacy_pair_has_its_events_in_order():
    assert FIRST.tag == "legacy_pair"
    assert FIRST.kind is None
    assert kinds(FIRST) == [
        ConfigDelta({"assistant": {}}),
        ChatRequest("Hi"),
        ChatResponse("reasoning", "Hm."),
        ChatResponse("message", "Look:"),
        ToolCallRequest("a", "ls", {"path": "src", "n": 1}),
        ToolCallRequest("b", "cat", {"path": "x"}),
    ]
    assert [event.metadata for event in FIRST.events] == [{}, {}, {"signature": "s"}, {}, {}, {}]
    assert {event.timestamp for event in FIRST.events} == {AT}


def test_a_message_may_be_the_results_of_the_pair_before():
    assert kinds(SECOND) == [
        ToolCallResponse("a", "café???>", False),
        ToolCallResponse("b", "no such file", True),
        ChatResponse("message", "Done."),
    ]


def test_calls_of_one_pair_are_answered_by_the_next():
    (turn,) = outline.build_outline([FIRST, SECOND]).turns
    calls = [item for item in turn.items if isinstance(item, ToolCall)]
    assert [[element.position for element in call.elements] for call in calls] == [[0, 1]] * 2
    assert all(call.response for call in calls)
    assert not turn.is_incomplete
    (whole_turn,) = turns.split_turns([FIRST, SECOND])
    assert turns.pair_elements([FIRST, SECOND], whole_turn) == turns.ElementPairs(
        {0: 1}, frozenset()
    )


def test_a_pair_with_an_open_call_has_no_response_yet_and_is_no_orphan():
    half = [FIRST, make_element(make_result("b"))]
    (turn,) = turns.split_turns(half)
    assert turns.pair_elements(half, turn) == turns.ElementPairs({}, frozenset())
    assert turns.pair_elements([SECOND], turns.split_turns([SECOND])[0]) == turns.ElementPairs(
        {}, frozenset()
    )
    unfinished_turn = turns.find_unfinished_turn([FIRST])
    assert unfinished_turn
    assert isinstance(unfinished_turn.phase, turns.Executing)
    assert [(position, call.id) for position, call in unfinished_turn.phase.calls] == [
        (0, "a"),
        (0, "b"),
    ]


def test_the_parts_of_a_pair_have_anchors_of_their_own():
    full_outline = outline.build_outline([FIRST, FIRST])
    placed_elements = list_placed(full_outline)
    anchors = [
        placed_element.anchor for placed_element in placed_elements if placed_element.position == 1
    ]
    assert anchors[0] == full_outline.anchors[1] == f"{full_outline.anchors[0]}-x2"
    assert anchors[1:3] == [f"{anchors[0]}-p2", f"{anchors[0]}-p3"]
    assert [split_anchor(anchor) for anchor in anchors] == [(anchors[0], part) for part in range(6)]
    assert split_anchor("e-abc-x2") == ("e-abc-x2", 0)
    assert {placed_element.legacy_tag for placed_element in placed_elements} == {"legacy_pair"}
    assert all(placed_element.element.raw == FIRST.raw for placed_element in placed_elements)


def test_a_provider_sees_the_messages_of_a_pair_and_not_its_configuration():
    assert [event.kind for event in list_visible_events([FIRST])] == kinds(FIRST)[1:]


def test_the_halves_of_july_2025_are_read():
    element = raw({"timestamp": AT, "type": "user_message", "message": "Hi"})
    replied = raw({"timestamp": AT, "type": "assistant_message", "content": "Hello"})
    assert (element.tag, kinds(element)) == ("user_message", [ChatRequest("Hi")])
    assert (replied.tag, kinds(replied)) == (
        "assistant_message",
        [ChatResponse("message", "Hello")],
    )
    (turn,) = outline.build_outline([element, replied]).turns
    assert [type(item) for item in turn.items] == [StandaloneItem, StandaloneItem]
    assert not turn.is_incomplete


def test_legacy_element_is_in_a_turn_and_configuration_is_not():
    assert turns.is_event(FIRST)
    assert not turns.is_event(pair(config_delta={}))
    start = make_element(TurnStart())
    assert len(turns.split_turns([FIRST, start])) == 2
    assert len(turns.split_turns([pair(config_delta={}), start])) == 1


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        (wrap("[1]"), {"arguments": "[1]"}),
        (wrap("no json"), {"arguments": "no json"}),
        (wrap('{"a": NaN}'), {"arguments": '{"a": NaN}'}),
        (wrap("[" * 200 + "]" * 200), {"arguments": "[" * 200 + "]" * 200}),
        ({}, {}),
    ],
)
def test_arguments_that_are_no_object_are_shown_as_they_are(arguments, read):
    call = {"id": "a", "name": "ls", "arguments": arguments}
    assert kinds(pair(reply={"tool_calls": [call]})) == [ToolCallRequest("a", "ls", read)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "neither a message nor a reply"),
        ({"timestamp": 1}, "“timestamp” must be a string"),
        ({"timestamp": "then"}, "“timestamp” cannot be read"),
        ({"message": 1}, "“message” must be a string or a list"),
        ({"message": [1]}, "a result must be an object"),
        ({"message": [{"id": "a"}]}, "“content” must be a string"),
        ({"message": [{"id": "a", "content": "", "error": 1}]}, "“error” must be"),
        ({"reply": "Hi"}, "“reply” must be an object"),
        ({"reply": {"content": 1}}, "“content” must be a string"),
        ({"reply": {"tool_calls": 1}}, "“tool_calls” must be a list"),
        ({"reply": {"tool_calls": [1]}}, "a tool call must be an object"),
        ({"reply": {"tool_calls": [{"id": "a"}]}}, "“name” must be a string"),
        ({"message": "", "context": [[[]] * 2] * 2, "reply": json.loads("[" * 126 + "]" * 126)},
         "nested too deeply"),
    ],
)  # fmt: skip
def test_a_legacy_element_of_another_shape_is_broken_and_says_why(fields, message):
    element = pair(**fields)
    assert message in problem(element)
    assert element.tag == "legacy_pair"


def test_elements_that_are_no_legacy_pair_stay_unknown():
    for value in (
        {"timestamp": AT, "message": "Hi"},
        {"type": "message", "message": "", "reply": {}},
    ):
        assert isinstance(raw(value).body, UnknownEvent)


@pytest.mark.parametrize("place", ["beside", "inside"])
def test_tool_answers_are_kept_and_readable(place):
    answers = {"tool_answers": {"overwrite": wrap("yes"), "n": 1}}
    inside = {"path": wrap("x")} | (answers if place == "inside" else {})
    call = {"id": "c", "name": "fs", "arguments": inside} | (answers if place == "beside" else {})
    element: Any = raw({"timestamp": AT, "type": "tool_call_request"} | call)
    old = pair(reply={"tool_calls": [call], "metadata": {"m": "x"}}).events[0]
    values = {"tool_answers": {"overwrite": "yes", "n": 1}}
    for event in (element.body, old):
        fields = event.kind.arguments if place == "inside" else event.metadata
        assert fields.items() >= values.items()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_legacy_layouts_of_section_12_round_trip(path):
    data = path.read_bytes()
    texts, framing = wire.split_with_framing(data)
    assert wire.join_array(texts, framing).encode() == data
    elements = [wire.read_element(text) for text in texts]
    assert all(isinstance(element.body, ConversationEvent | LegacyEvents) for element in elements)
    full_outline = outline.build_outline(elements)
    assert not any(
        isinstance(item, StandaloneItem) and item.orphan
        for t in full_outline.turns
        for item in t.items
    )
    tags = set(path.stem.split(".")[1:]) - {"empty"}
    assert tags <= {
        placed_element.legacy_tag or placed_element.element.tag
        for placed_element in list_placed(full_outline)
    }


def test_legacy_layouts_have_samples():
    sample_tags = {part for path in FILES for part in path.stem.split(".")[1:]}
    assert set(legacy.LEGACY_TAGS) <= sample_tags


@given(strategies.legacy)
@settings(deadline=None)
def test_legacy_element_has_an_event_or_a_problem(element):
    assert element.events or problem(element)


@given(strategies.legacy)
@settings(deadline=None)
def test_the_parts_of_a_legacy_element_have_their_place_each(element):
    parts = [
        placed_element.part
        for placed_element in list_placed(outline.build_outline(stream(element)))
    ]
    assert sorted(parts) == list(range(max(1, len(element.events))))
