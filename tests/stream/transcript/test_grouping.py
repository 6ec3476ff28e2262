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
from tests.builders import asked, called, returned, stream
from tests.stream import strategies


def whole(shown: Outline) -> list[TurnItem]:
    return [TurnItem(turn.index, item) for turn in shown.turns for item in turn.items]


def states(shown: Outline) -> Any:
    return {
        one.request.position: one.state for one, _ in shown.list_inquiries() if not one.response
    }


def part(
    elements: Any, found: ElementGroups, item_positions: set[int], shown: Outline
) -> list[TurnItem]:
    """Lay out some items from their own elements."""
    anchors = anchor_ids.make_anchors(elements)
    rows = [
        ElementRow(position, anchors[position], element)
        for position, element in enumerate(elements)
        if found.item_positions[position] in item_positions
    ]
    turns = [(index, turn.position) for index, turn in enumerate(found.turns)]
    return build_items(rows, turns, states(shown))


def of(elements: Any, shown: list[TurnItem]) -> list[int]:
    """Return the positions of items."""
    item_positions = group_elements(elements).item_positions
    return [item_positions[one.item.first] for one in shown]


@given(strategies.streams, st.data())
@settings(deadline=None)
def test_the_items_of_any_part_are_those_of_the_whole(elements, data):
    shown, found = build_outline(elements), group_elements(elements)
    every = sorted(set(found.item_positions))
    chosen = set(data.draw(st.lists(st.sampled_from(every)))) if every else set()
    expected = [one for one in whole(shown) if found.item_positions[one.item.first] in chosen]
    assert part(elements, found, chosen, shown) == expected


@given(strategies.streams)
@settings(deadline=None)
def test_every_item_is_made_of_the_elements_that_name_its_item_position(elements):
    shown, found = build_outline(elements), group_elements(elements)
    for one in whole(shown):
        item_positions = {found.item_positions[here] for here in positions(one.item)}
        assert len(item_positions) == 1


def positions(item: Any) -> list[int]:
    def of_inquiry(one: InquiryPair) -> list[int]:
        return [end.position for end in (one.request, one.response) if end]

    match item:
        case ToolCall():
            ends = [item.request, item.response]
            inner = [here for one in item.inquiries for here in of_inquiry(one)]
            return [end.position for end in ends if end] + inner
        case OrphanInquiry():
            return of_inquiry(item.inquiry)
        case _:
            return [item.first]


@given(strategies.streams)
@settings(deadline=None)
def test_an_item_position_comes_first_and_names_itself(elements):
    found = group_elements(elements)
    for position, item_position in enumerate(found.item_positions):
        assert item_position <= position
        assert found.item_positions[item_position] == item_position


@given(strategies.streams)
@settings(deadline=None)
def test_glances_find_the_same_places(elements):
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
    whole = stream(
        TurnStart(), called("a"), called("b"), asked("a.q"), returned("b"), returned("a"),
        TurnStart(), called("a"), returned("a"), returned("a"),
    )  # fmt: skip
    every = group_elements(whole).item_positions
    assert every == [0, 1, 2, 1, 2, 1, 6, 7, 7, 9]
    for length in range(len(whole)):
        assert group_elements(whole[:length]).item_positions == every[:length]


def test_a_turn_is_named_by_the_first_line_that_a_person_said():
    found = group_elements(
        stream(
            ConfigDelta({}), TurnStart(), ChatRequest("\n  Mend it \nplease"), ChatRequest("Now"),
            ChatResponse("message", "Done"), TurnStart(), ChatResponse("message", "More"),
        )
    )  # fmt: skip
    assert [turn.title for turn in found.turns] == ["Mend it", ""]
    found = group_elements(stream(TurnStart(), ChatRequest(" \n"), ChatRequest("Mend it")))
    assert [turn.title for turn in found.turns] == ["Mend it"], "a blank message names nothing"


def test_of_a_long_line_the_beginning_is_kept():
    assert extract_title("x" * 10_000) == "x" * MAX_TITLE_CHARS
    assert extract_title("\n" * 10_000 + "far away") == ""
