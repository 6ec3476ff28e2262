"""Items as compaction leaves them are the compacted stream, item by item."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jpweb.stream.compaction import CompactionOverlay, CompactionOverlays, project_turns
from jpweb.stream.events import ChatResponse, Compaction, ConfigDelta, TurnStart
from jpweb.stream.outline import build_outline
from jpweb.stream.thread import visible_events
from jpweb.stream.transcript.compacted import compact_item
from jpweb.stream.transcript.items import StandaloneItem, ToolCall
from tests.builders import asked, called, raw, returned, stream
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


def left(*kinds: Any, **policies: Any) -> Any:
    """Return the items of one turn as one overlay leaves them."""
    policy = overlays(stream(Compaction(0, 0, policies))).get_policy(0)
    (turn,) = build_outline(stream(TurnStart(), *kinds)).turns
    return [compact_item(item, policy) for item in turn.items[1:]]


@given(COMPACTED | strategies.streams)
@settings(deadline=None)
def test_what_is_left_of_all_items_is_what_the_model_gets(elements: Any):
    said = overlays(elements)
    turns = project_turns(elements)
    runs = [(turn.first, turn.last) for turn in turns]
    count = len(build_outline(elements).turns)
    here = [said.find_summary_range(n) for n in range(count)]
    assert {(first, min(last, count - 1)) for first, last in here} == set(runs)
    for turn in build_outline(elements).turns:
        policy = said.get_policy(turn.index)
        items = [compact_item(item, policy) for item in turn.items]
        if policy.summary is not None:
            assert all(isinstance(item, StandaloneItem) for item in items if item)
            continue
        (projected,) = (each for each in turns if each.first == turn.index)
        assert kinds(items) == {
            (e.timestamp, str(e.kind)) for e in visible_events(projected.elements)
        }


def kinds(items: Any) -> set[tuple[str, str]]:
    """Return what a model sees of some items."""
    found = []
    for item in filter(None, items):
        match item:
            case ToolCall():
                found += [item.request, *([item.response] if item.response else ())]
            case StandaloneItem():
                found.append(item.placed)
            case _:
                pass
    events = [event for here in found for event in visible_events([here.element])]
    return {(event.timestamp, str(event.kind)) for event in events}


def test_what_no_overlay_touches_is_itself():
    (turn,) = build_outline(
        stream(called("c"), returned("c"), ChatResponse("message", "Done"))
    ).turns
    policy = overlays(stream(Compaction(0, 0, {"reasoning": "strip"}))).get_policy(0)
    assert all(
        now is was or now == was for was in turn.items for now in [compact_item(was, policy)]
    )


def test_a_call_without_a_result_loses_its_arguments_alone():
    (call,) = left(called("c", path="a"), tool_calls=STRIP)
    assert (call.call.arguments, call.response) == ({}, None)


def test_a_call_keeps_its_questions_and_is_left_out_with_them():
    (call,) = left(called("c"), asked("c.q"), returned("c"), tool_calls=STRIP)
    assert len(call.inquiries) == 1
    assert call.response.element.kind.content == "[compacted] fs_modify_file: success"
    assert left(called("c"), asked("c.q"), tool_calls={"policy": "omit"}) == [None]


def test_a_summary_leaves_configuration_and_what_is_no_event():
    odd, change = raw({"type": "weather"}), ConfigDelta({"a": 1})
    kept = left(odd, change, ChatResponse("message", "Hi"), asked("q"), summary={"summary": "S"})
    assert [item and item.placed.element.tag for item in kept] == [
        "weather", "config_delta", None, None,
    ]  # fmt: skip


def test_a_turn_that_a_newer_summary_takes_ends_the_run_on_both_sides():
    def over(first: int, last: int, at: int) -> CompactionOverlay:
        kind = Compaction(first, last, {"summary": {"summary": str(at)}})
        return CompactionOverlay(f"2026-01-02 03:04:0{at}.0", at, kind)

    said = CompactionOverlays([over(0, 9, 1), over(3, 5, 2), over(8, 7, 3)])
    assert [said.find_summary_range(n) for n in (0, 2, 4, 6, 9, 10)] == [
        (0, 2), (0, 2), (3, 5), (6, 9), (6, 9), (10, 10),
    ]  # fmt: skip
