"""Any part of a stream is laid out as the whole is."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jpweb.stream import anchor_ids, wire
from jpweb.stream.events import ChatRequest, ChatResponse, ConfigDelta, TurnStart
from jpweb.stream.outline import Outline, build_outline
from jpweb.stream.transcript.builder import ElementRow, TurnItem, build_items
from jpweb.stream.transcript.grouping import (
    MAX_TITLE_CHARS,
    ElementGroups,
    extract_title,
    group_elements,
)
from jpweb.stream.transcript.items import InquiryPair, OrphanInquiry, ToolCall
from jpweb.stream.turns import split_turns
from jpweb.stream.wire.partial import read_partial
from tests.builders import make_call, make_inquiry, make_result, stream
from tests.stream import strategies


def list_turn_items(outline: Outline) -> list[TurnItem]:
    return [TurnItem(turn.index, item) for turn in outline.turns for item in turn.items]


def states(outline: Outline) -> Any:
    return {
        question.request.position: question.state
        for question, _ in outline.list_inquiries()
        if not question.response
    }


def part(
    elements: Any, groups: ElementGroups, item_positions: set[int], outline: Outline
) -> list[TurnItem]:
    """Lay out some items from their own elements."""
    anchors = anchor_ids.make_anchors(elements)
    rows = [
        ElementRow(position, anchors[position], element)
        for position, element in enumerate(elements)
        if groups.item_positions[position] in item_positions
    ]
    turns = [(index, turn.position) for index, turn in enumerate(groups.turns)]
    return build_items(rows, turns, states(outline))


def of(elements: Any, items: list[TurnItem]) -> list[int]:
    """Return the positions of items."""
    item_positions = group_elements(elements).item_positions
    return [item_positions[turn_item.item.first] for turn_item in items]


@given(strategies.streams, st.data())
@settings(deadline=None)
def test_group_elements_of_a_part_has_the_items_of_the_stream(elements, data):
    outline, groups = build_outline(elements), group_elements(elements)
    all_positions = sorted(set(groups.item_positions))
    some_positions = (
        set(data.draw(st.lists(st.sampled_from(all_positions)))) if all_positions else set()
    )
    expected = [
        turn_item
        for turn_item in list_turn_items(outline)
        if groups.item_positions[turn_item.item.first] in some_positions
    ]
    assert part(elements, groups, some_positions, outline) == expected


@given(strategies.streams)
@settings(deadline=None)
def test_group_elements_gives_elements_of_an_item_one_position(elements):
    outline, groups = build_outline(elements), group_elements(elements)
    for turn_item in list_turn_items(outline):
        item_positions = {groups.item_positions[position] for position in positions(turn_item.item)}
        assert len(item_positions) == 1


def positions(item: Any) -> list[int]:
    def of_inquiry(pair: InquiryPair) -> list[int]:
        return [end.position for end in (pair.request, pair.response) if end]

    match item:
        case ToolCall():
            end_elements = [item.request, item.response]
            inner = [position for pair in item.inquiries for position in of_inquiry(pair)]
            return [end.position for end in end_elements if end] + inner
        case OrphanInquiry():
            return of_inquiry(item.inquiry)
        case _:
            return [item.first]


@given(strategies.streams)
@settings(deadline=None)
def test_an_item_position_comes_first_and_names_itself(elements):
    groups = group_elements(elements)
    for position, item_position in enumerate(groups.item_positions):
        assert item_position <= position
        assert groups.item_positions[item_position] == item_position


@given(strategies.streams)
@settings(deadline=None)
def test_partly_read_elements_are_grouped_alike(elements):
    assert group_elements([read_partial(element.raw) for element in elements]) == group_elements(
        [wire.read_element(element.raw) for element in elements]
    )


@given(strategies.streams)
@settings(deadline=None)
def test_the_turns_are_those_of_the_stream(elements):
    assert [turn.position for turn in group_elements(elements).turns] == [
        t.start for t in split_turns(elements)
    ]


def test_growth_moves_no_item_position():
    elements = stream(
        TurnStart(), make_call("a"), make_call("b"), make_inquiry("a.q"), make_result("b"),
        make_result("a"), TurnStart(), make_call("a"), make_result("a"), make_result("a"),
    )  # fmt: skip
    item_positions = group_elements(elements).item_positions
    assert item_positions == [0, 1, 2, 1, 2, 1, 6, 7, 7, 9]
    for length in range(len(elements)):
        assert group_elements(elements[:length]).item_positions == item_positions[:length]


def test_a_turn_is_named_by_the_first_line_that_a_person_said():
    groups = group_elements(
        stream(
            ConfigDelta({}), TurnStart(), ChatRequest("\n  Mend it \nplease"), ChatRequest("Now"),
            ChatResponse("message", "Done"), TurnStart(), ChatResponse("message", "More"),
        )
    )  # fmt: skip
    assert [turn.title for turn in groups.turns] == ["Mend it", ""]
    groups = group_elements(stream(TurnStart(), ChatRequest(" \n"), ChatRequest("Mend it")))
    assert [turn.title for turn in groups.turns] == ["Mend it"], "a blank message names nothing"


def test_extract_title_keeps_the_start_of_a_long_line():
    assert extract_title("x" * 10_000) == "x" * MAX_TITLE_CHARS
    assert extract_title("\n" * 10_000 + "far away") == ""
