"""What the model gets of compacted turns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from jpweb.stream.compaction import SUMMARY_REQUEST, project_turns
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    Compaction,
    ConfigDelta,
    LegacyEvents,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from tests.builders import AT, called, element, raw, returned, stream
from tests.stream import strategies

START, REPLY = TurnStart(), ChatResponse("message", "Hello")
THOUGHT = ChatResponse("reasoning", "Hm.")
UNKNOWN = raw({"type": "weather"})
STRIP = {"policy": "strip", "request": True, "response": True}


def turns(count) -> Any:
    """Turns of request, thought, call, result and reply; the last two are told by their number."""
    return [
        kind
        for n in range(count)
        for kind in (
            *(START, ChatRequest(f"Say {n}"), THOUGHT),
            *(called("c", a=n), returned("c", f"got {n}"), ChatResponse("message", f"said {n}")),
        )
    ]


def over(first, last, at="2026-02-01 00:00:00.0", **policies) -> Any:
    return element(Compaction(first, last, policies), at=at)


def shown(*kinds) -> Any:
    """Of each projected turn its raw turns and its kinds."""
    return [
        (turn.first, turn.last, [one.kind or one.tag for one in turn.elements])
        for turn in project_turns(stream(*kinds))
    ]


def summary(text) -> Any:
    return [TurnStart(), ChatRequest(SUMMARY_REQUEST), ChatResponse("message", text)]


def text(value) -> Any:
    return {"summary": value}


@given(strategies.streams)
@settings(deadline=None)
def test_without_a_compaction_the_view_is_the_stream(elements):
    plain = [one for one in elements if not isinstance(one.kind, Compaction)]
    found = project_turns(plain)
    assert [id(one) for turn in found for one in turn.elements] == list(map(id, plain))
    assert [(turn.first, turn.last) for turn in found] == [(n, n) for n in range(len(found))]


@given(strategies.streams)
@settings(deadline=None)
def test_the_view_covers_each_raw_turn_once_and_is_never_longer_than_summaries_make_it(elements):
    found = project_turns(elements)
    covered = [n for turn in found for n in range(turn.first, turn.last + 1)]
    assert covered == list(range(len(covered)))
    known = set(map(id, elements))
    for turn in found:
        fresh = [one for one in turn.elements if id(one) not in known]
        made = [one for one in fresh if one.kind == ChatRequest(SUMMARY_REQUEST)]
        assert len(made) <= 1
    assert not any(isinstance(one.kind, Compaction) for turn in found for one in turn.elements)


def test_a_summary_stands_once_for_the_run_of_turns_it_covers():
    found = shown(*turns(3), over(0, 1, summary=text("Two.")))
    assert found[0] == (0, 1, summary("Two."))
    assert found[1][:2] == (2, 2)
    assert found[1][2][1] == ChatRequest("Say 2")
    assert len(found) == 2


def test_the_summary_has_the_time_of_the_first_event_it_replaces():
    elements = stream(ConfigDelta({}), *turns(1), over(0, 0, summary=text("One.")))
    (turn,) = project_turns(elements)
    assert {one.events[0].timestamp for one in turn.elements[1:]} == {
        elements[1].events[0].timestamp
    }
    assert turn.elements[0] is elements[0]


def test_configuration_and_unknown_elements_pass_through_a_summary():
    found = shown(ConfigDelta({}), *turns(1), UNKNOWN, over(0, 0, summary=text("One.")))
    assert found == [(0, 0, [ConfigDelta({}), *summary("One."), "weather"])]
    assert shown(UNKNOWN, over(0, 0, summary=text("None."))) == [(0, 0, ["weather"])]


def test_the_newest_overlay_wins_turn_by_turn():
    kinds = (
        *turns(4),
        over(0, 9, "2026-02-01 00:00:00.0", summary=text("Old.")),
        over(1, 2, "2026-02-02 00:00:00.0", summary=text("New.")),
    )
    assert shown(*kinds) == [
        (0, 0, summary("Old.")),
        (1, 2, summary("New.")),
        (3, 3, summary("Old.")),
    ]


def test_time_decides_and_not_the_order_in_the_stream_nor_the_spelling():
    kinds = (
        *turns(1),
        over(0, 0, "2026-02-01T01:00:00+01:00", summary=text("Old.")),
        over(0, 0, "2026-02-01 00:00:00.000000001", summary=text("New.")),
        over(0, 0, "2026-01-31 23:00:00.9", summary=text("Oldest.")),
    )
    assert shown(*kinds) == [(0, 0, summary("New."))]


def test_of_equal_times_the_later_in_the_stream_wins():
    kinds = (*turns(1), over(0, 0, summary=text("One.")), over(0, 0, summary=text("Two.")))
    assert shown(*kinds) == [(0, 0, summary("Two."))]


def test_equal_overlays_are_one_and_overlays_that_differ_in_range_are_two():
    twice = [over(0, 1, summary=text("Same.")) for _ in range(2)]
    assert [turn[:2] for turn in shown(*turns(2), *twice)] == [(0, 1)]
    apart = [over(0, 0, summary=text("Same.")), over(1, 1, summary=text("Same."))]
    assert [turn[:2] for turn in shown(*turns(2), *apart)] == [(0, 0), (1, 1)]


def test_each_kind_is_decided_for_itself():
    kinds = (
        *turns(1),
        over(0, 0, "2026-02-02 00:00:00.0", reasoning="strip"),
        over(0, 0, "2026-02-01 00:00:00.0", tool_calls={"policy": "omit"}),
    )
    ((_, _, left),) = shown(*kinds)
    assert left == [START, ChatRequest("Say 0"), ChatResponse("message", "said 0")]


def test_stripped_calls_keep_who_was_called_and_how_it_ended():
    kinds = (
        START, ChatRequest("Hi"),
        called("a", "ls", path="x"), called("b", "cat"),
        returned("b", "no", is_error=True), returned("a", "long"), returned("x", "stray"),
        over(0, 0, tool_calls=STRIP),
    )  # fmt: skip
    ((_, _, left),) = shown(*kinds)
    assert left[2:] == [
        ToolCallRequest("a", "ls", {}),
        ToolCallRequest("b", "cat", {}),
        ToolCallResponse("b", "[compacted] cat: error", True),
        ToolCallResponse("a", "[compacted] ls: success", False),
        ToolCallResponse("x", "[compacted] unknown: success", False),
    ]


@pytest.mark.parametrize(("request_", "response"), [(True, False), (False, True), (False, False)])
def test_arguments_and_results_are_stripped_apart(request_, response):
    policy = {"policy": "strip", "request": request_, "response": response}
    ((_, _, left),) = shown(*turns(1), over(0, 0, tool_calls=policy))
    call, result = left[3:5]
    assert (call.arguments == {}) == request_
    assert result.content.startswith("[compacted]") == response


def test_a_shortened_event_keeps_its_metadata_and_its_text():
    call = element(called("c", a="x"), metadata={"signature": "s"})
    (turn,) = project_turns(stream(START, call, over(0, 0, tool_calls=STRIP)))
    shortened: Any = turn.elements[1]
    assert shortened.body.metadata == {"signature": "s"}
    assert shortened.raw == call.raw


@pytest.mark.parametrize(
    "policies",
    [
        {"summary": "text"},
        {"summary": {"summary": 1}},
        {"reasoning": "keep"},
        {"tool_calls": {"policy": "keep"}},
        {"tool_calls": "omit"},
        {},
    ],
)
def test_what_has_another_shape_says_nothing(policies):
    kinds = turns(1)
    ((_, _, left),) = shown(*kinds, over(0, 0, **policies))
    assert left == kinds


@pytest.mark.parametrize(("first", "last"), [(1, 0), (5, 9)])
def test_a_range_without_turns_does_nothing(first, last):
    kinds = turns(2)
    found = shown(*kinds, over(first, last, summary=text("None.")))
    assert [kind for turn in found for kind in turn[2]] == kinds


def test_a_legacy_element_is_shortened_part_by_part():
    call = {"id": "c", "name": "ls", "arguments": {"path": "x"}}
    reply = {"reasoning": "Hm.", "content": "Look", "tool_calls": [call]}
    pair = raw({"timestamp": AT, "message": "Hi", "reply": reply, "config_delta": {"a": 1}})
    policies = {"reasoning": "strip", "tool_calls": {"policy": "omit"}}
    (turn,) = project_turns(stream(pair, over(0, 0, **policies)))
    (left,) = turn.elements
    assert isinstance(left.body, LegacyEvents)
    assert [event.kind for event in left.events] == [
        ConfigDelta({"a": 1}),
        ChatRequest("Hi"),
        ChatResponse("message", "Look"),
    ]
    (whole,) = project_turns(stream(pair, over(0, 0, summary=text("One."))))
    assert [event.kind for one in whole.elements for event in one.events] == [
        *summary("One."),
        ConfigDelta({"a": 1}),
    ]
