"""Items as compaction leaves them are the compacted stream, item by item."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jpweb.stream.compaction import CompactionOverlay, CompactionOverlays, project_turns
from jpweb.stream.events import ChatResponse, Compaction, ConfigDelta, TurnStart
from jpweb.stream.outline import build_outline
from jpweb.stream.thread import list_visible_events
from jpweb.stream.transcript.compacted import compact_item
from jpweb.stream.transcript.items import StandaloneItem, ToolCall
from tests.builders import make_call, make_inquiry, make_result, raw, stream
from tests.stream import strategies

STRIP = {"policy": "strip", "request": True, "response": True}
CALLS = st.sampled_from([
    STRIP, {"policy": "omit"}, {"policy": "strip", "request": True}, {"policy": "strip"},
])  # fmt: skip
POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "summary": strategies.texts.map(lambda text: {"summary": text}),
        "reasoning": st.just("strip"),
        "tool_calls": CALLS,
    },
)
OVERLAYS = st.builds(Compaction, st.integers(0, 4), st.integers(0, 6), POLICIES)
COMPACTED = st.lists(st.one_of(strategies.kinds, OVERLAYS, st.just(TurnStart())), max_size=30).map(
    lambda kinds: stream(*kinds)
)


def overlays(elements: Any) -> CompactionOverlays:
    return CompactionOverlays(
        CompactionOverlay(event.timestamp, position, event.kind)
        for position, element in enumerate(elements)
        for event in element.events
        if isinstance(event.kind, Compaction)
    )


def compact_items(*kinds: Any, **policies: Any) -> Any:
    """Return the items of one turn as one overlay leaves them."""
    policy = overlays(stream(Compaction(0, 0, policies))).get_policy(0)
    (turn,) = build_outline(stream(TurnStart(), *kinds)).turns
    return [compact_item(item, policy) for item in turn.items[1:]]


@given(COMPACTED | strategies.streams)
@settings(deadline=None)
def test_compacted_items_equal_the_projection_for_the_model(elements: Any):
    overlay_set = overlays(elements)
    turns = project_turns(elements)
    runs = [(turn.first, turn.last) for turn in turns]
    count = len(build_outline(elements).turns)
    ranges = [overlay_set.find_summary_range(n) for n in range(count)]
    assert {(first, min(last, count - 1)) for first, last in ranges} == set(runs)
    for turn in build_outline(elements).turns:
        policy = overlay_set.get_policy(turn.index)
        items = [compact_item(item, policy) for item in turn.items]
        if policy.summary is not None:
            assert all(isinstance(item, StandaloneItem) for item in items if item)
            continue
        (projected,) = (projection for projection in turns if projection.first == turn.index)
        assert kinds(items) == {
            (e.timestamp, str(e.kind)) for e in list_visible_events(projected.elements)
        }


def kinds(items: Any) -> set[tuple[str, str]]:
    """Return what a model sees of some items."""
    placed_elements = []
    for item in filter(None, items):
        match item:
            case ToolCall():
                placed_elements += [item.request, *([item.response] if item.response else ())]
            case StandaloneItem():
                placed_elements.append(item.placed)
            case _:
                pass
    events = [
        event
        for placed_element in placed_elements
        for event in list_visible_events([placed_element.element])
    ]
    return {(event.timestamp, str(event.kind)) for event in events}


def test_compact_item_without_a_matching_overlay_returns_the_item():
    (turn,) = build_outline(
        stream(make_call("c"), make_result("c"), ChatResponse("message", "Done"))
    ).turns
    policy = overlays(stream(Compaction(0, 0, {"reasoning": "strip"}))).get_policy(0)
    assert all(
        result is item or result == item
        for item in turn.items
        for result in [compact_item(item, policy)]
    )


def test_a_call_without_a_result_loses_its_arguments_alone():
    (call,) = compact_items(make_call("c", path="a"), tool_calls=STRIP)
    assert (call.call.arguments, call.response) == ({}, None)


def test_a_call_keeps_its_questions_and_is_left_out_with_them():
    (call,) = compact_items(make_call("c"), make_inquiry("c.q"), make_result("c"), tool_calls=STRIP)
    assert len(call.inquiries) == 1
    assert call.response.element.kind.content == "[compacted] fs_modify_file: success"
    assert compact_items(make_call("c"), make_inquiry("c.q"), tool_calls={"policy": "omit"}) == [
        None
    ]


def test_summary_keeps_configuration_and_unknown_events():
    odd, change = raw({"type": "weather"}), ConfigDelta({"a": 1})
    items = compact_items(
        odd, change, ChatResponse("message", "Hi"), make_inquiry("q"), summary={"summary": "S"}
    )
    assert [item and item.placed.element.tag for item in items] == [
        "weather", "config_delta", None, None,
    ]  # fmt: skip


def test_a_turn_that_a_newer_summary_takes_ends_the_run_on_both_sides():
    def make_overlay(first: int, last: int, at: int) -> CompactionOverlay:
        kind = Compaction(first, last, {"summary": {"summary": str(at)}})
        return CompactionOverlay(f"2026-01-02 03:04:0{at}.0", at, kind)

    overlay_set = CompactionOverlays(
        [make_overlay(0, 9, 1), make_overlay(3, 5, 2), make_overlay(8, 7, 3)]
    )
    assert [overlay_set.find_summary_range(n) for n in (0, 2, 4, 6, 9, 10)] == [
        (0, 2), (0, 2), (3, 5), (6, 9), (6, 9), (10, 10),
    ]  # fmt: skip
