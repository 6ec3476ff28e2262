"""What the model gets of compacted turns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from jpweb.stream import compaction
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
from tests.builders import AT, make_call, make_element, make_result, raw, stream
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
            *(
                make_call("c", a=n),
                make_result("c", f"got {n}"),
                ChatResponse("message", f"said {n}"),
            ),
        )
    ]


def make_compaction(first, last, at="2026-02-01 00:00:00.0", **policies) -> Any:
    return make_element(Compaction(first, last, policies), at=at)


def summarize_turns(*kinds) -> Any:
    """Of each projected turn its raw turns and its kinds."""
    return [
        (turn.first, turn.last, [element.kind or element.tag for element in turn.elements])
        for turn in project_turns(stream(*kinds))
    ]


def summary(text) -> Any:
    return [TurnStart(), ChatRequest(SUMMARY_REQUEST), ChatResponse("message", text)]


def text(value) -> Any:
    return {"summary": value}


@given(strategies.streams)
@settings(deadline=None)
def test_project_turns_without_compaction_returns_the_stream(elements):
    plain = [element for element in elements if not isinstance(element.kind, Compaction)]
    projection = project_turns(plain)
    assert [id(element) for turn in projection for element in turn.elements] == list(map(id, plain))
    assert [(turn.first, turn.last) for turn in projection] == [
        (n, n) for n in range(len(projection))
    ]


@given(strategies.streams)
@settings(deadline=None)
def test_compacted_view_covers_each_turn_once_and_stays_short(elements):
    projection = project_turns(elements)
    covered = [n for turn in projection for n in range(turn.first, turn.last + 1)]
    assert covered == list(range(len(covered)))
    known_ids = set(map(id, elements))
    for turn in projection:
        fresh = [element for element in turn.elements if id(element) not in known_ids]
        summaries = [element for element in fresh if element.kind == ChatRequest(SUMMARY_REQUEST)]
        assert len(summaries) <= 1
    assert not any(
        isinstance(element.kind, Compaction) for turn in projection for element in turn.elements
    )


def test_summary_replaces_its_range_of_turns_once():
    projection = summarize_turns(*turns(3), make_compaction(0, 1, summary=text("Two.")))
    assert projection[0] == (0, 1, summary("Two."))
    assert projection[1][:2] == (2, 2)
    assert projection[1][2][1] == ChatRequest("Say 2")
    assert len(projection) == 2


def test_the_summary_has_the_time_of_the_first_event_it_replaces():
    elements = stream(ConfigDelta({}), *turns(1), make_compaction(0, 0, summary=text("One.")))
    (turn,) = project_turns(elements)
    assert {element.events[0].timestamp for element in turn.elements[1:]} == {
        elements[1].events[0].timestamp
    }
    assert turn.elements[0] is elements[0]


def test_configuration_and_unknown_elements_pass_through_a_summary():
    projection = summarize_turns(
        ConfigDelta({}), *turns(1), UNKNOWN, make_compaction(0, 0, summary=text("One."))
    )
    assert projection == [(0, 0, [ConfigDelta({}), *summary("One."), "weather"])]
    assert summarize_turns(UNKNOWN, make_compaction(0, 0, summary=text("None."))) == [
        (0, 0, ["weather"])
    ]


def test_the_newest_overlay_wins_turn_by_turn():
    kinds = (
        *turns(4),
        make_compaction(0, 9, "2026-02-01 00:00:00.0", summary=text("Old.")),
        make_compaction(1, 2, "2026-02-02 00:00:00.0", summary=text("New.")),
    )
    assert summarize_turns(*kinds) == [
        (0, 0, summary("Old.")),
        (1, 2, summary("New.")),
        (3, 3, summary("Old.")),
    ]


def test_time_decides_and_not_the_order_in_the_stream_nor_the_spelling():
    kinds = (
        *turns(1),
        make_compaction(0, 0, "2026-02-01T01:00:00+01:00", summary=text("Old.")),
        make_compaction(0, 0, "2026-02-01 00:00:00.000000001", summary=text("New.")),
        make_compaction(0, 0, "2026-01-31 23:00:00.9", summary=text("Oldest.")),
    )
    assert summarize_turns(*kinds) == [(0, 0, summary("New."))]


def test_compaction_of_equal_time_prefers_the_later_in_the_stream():
    kinds = (
        *turns(1),
        make_compaction(0, 0, summary=text("One.")),
        make_compaction(0, 0, summary=text("Two.")),
    )
    assert summarize_turns(*kinds) == [(0, 0, summary("Two."))]


def test_equal_overlays_are_one_and_overlays_that_differ_in_range_are_two():
    twice = [make_compaction(0, 1, summary=text("Same.")) for _ in range(2)]
    assert [turn[:2] for turn in summarize_turns(*turns(2), *twice)] == [(0, 1)]
    apart = [
        make_compaction(0, 0, summary=text("Same.")),
        make_compaction(1, 1, summary=text("Same.")),
    ]
    assert [turn[:2] for turn in summarize_turns(*turns(2), *apart)] == [(0, 0), (1, 1)]


def test_compaction_policies_apply_per_kind():
    kinds = (
        *turns(1),
        make_compaction(0, 0, "2026-02-02 00:00:00.0", reasoning="strip"),
        make_compaction(0, 0, "2026-02-01 00:00:00.0", tool_calls={"policy": "omit"}),
    )
    ((_, _, kinds_left),) = summarize_turns(*kinds)
    assert kinds_left == [START, ChatRequest("Say 0"), ChatResponse("message", "said 0")]


class CountedPolicies(dict[str, Any]):
    """Policies of an overlay that count how often they are looked at."""

    look_count = 0

    def __contains__(self, key: object) -> bool:
        CountedPolicies.look_count += 1
        return super().__contains__(key)

    def keys(self) -> Any:
        CountedPolicies.look_count += 1
        return super().keys()


def test_overlays_are_read_a_few_times_for_any_number_of_turns(monkeypatch):
    def read_counted(moment: str, overlay: Compaction) -> CountedPolicies:
        return CountedPolicies(read_policies(moment, overlay))

    read_policies = compaction._read_policies
    monkeypatch.setattr(compaction, "_read_policies", read_counted)
    monkeypatch.setattr(CountedPolicies, "look_count", 0)
    count = 200
    overlays = [make_compaction(0, count, reasoning="strip") for _ in range(count)]
    assert len(project_turns(stream(*turns(count), *overlays))) == count
    assert 0 < CountedPolicies.look_count <= 3 * count


def test_stripped_calls_keep_who_was_called_and_how_it_ended():
    kinds = (
        START, ChatRequest("Hi"),
        make_call("a", "ls", path="x"), make_call("b", "cat"),
        make_result("b", "no", is_error=True), make_result("a", "long"), make_result("x", "stray"),
        make_compaction(0, 0, tool_calls=STRIP),
    )  # fmt: skip
    ((_, _, kinds_left),) = summarize_turns(*kinds)
    assert kinds_left[2:] == [
        ToolCallRequest("a", "ls", {}),
        ToolCallRequest("b", "cat", {}),
        ToolCallResponse("b", "[compacted] cat: error", True),
        ToolCallResponse("a", "[compacted] ls: success", False),
        ToolCallResponse("x", "[compacted] unknown: success", False),
    ]


@pytest.mark.parametrize(("request_", "response"), [(True, False), (False, True), (False, False)])
def test_arguments_and_results_are_stripped_apart(request_, response):
    policy = {"policy": "strip", "request": request_, "response": response}
    ((_, _, kinds_left),) = summarize_turns(*turns(1), make_compaction(0, 0, tool_calls=policy))
    call, result = kinds_left[3:5]
    assert (call.arguments == {}) == request_
    assert result.content.startswith("[compacted]") == response


def test_a_shortened_event_keeps_its_metadata_and_its_text():
    call = make_element(make_call("c", a="x"), metadata={"signature": "s"})
    (turn,) = project_turns(stream(START, call, make_compaction(0, 0, tool_calls=STRIP)))
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
def test_compaction_with_malformed_policies_is_ignored(policies):
    kinds = turns(1)
    ((_, _, kinds_left),) = summarize_turns(*kinds, make_compaction(0, 0, **policies))
    assert kinds_left == kinds


@pytest.mark.parametrize(("first", "last"), [(1, 0), (5, 9)])
def test_a_range_without_turns_does_nothing(first, last):
    kinds = turns(2)
    projection = summarize_turns(*kinds, make_compaction(first, last, summary=text("None.")))
    assert [kind for turn in projection for kind in turn[2]] == kinds


def test_a_legacy_element_is_shortened_part_by_part():
    call = {"id": "c", "name": "ls", "arguments": {"path": "x"}}
    reply = {"reasoning": "Hm.", "content": "Look", "tool_calls": [call]}
    pair = raw({"timestamp": AT, "message": "Hi", "reply": reply, "config_delta": {"a": 1}})
    policies = {"reasoning": "strip", "tool_calls": {"policy": "omit"}}
    (turn,) = project_turns(stream(pair, make_compaction(0, 0, **policies)))
    (element,) = turn.elements
    assert isinstance(element.body, LegacyEvents)
    assert [event.kind for event in element.events] == [
        ConfigDelta({"a": 1}),
        ChatRequest("Hi"),
        ChatResponse("message", "Look"),
    ]
    (summary_turn,) = project_turns(stream(pair, make_compaction(0, 0, summary=text("One."))))
    assert [event.kind for element in summary_turn.elements for event in element.events] == [
        *summary("One."),
        ConfigDelta({"a": 1}),
    ]
