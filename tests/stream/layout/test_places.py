"""Any part of a stream is laid out as the whole is."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jpweb.stream import identity, wire
from jpweb.stream.events import ChatRequest, ChatResponse, ConfigDelta, TurnStart
from jpweb.stream.layout.items import Inquiry, StrayInquiry, ToolCall
from jpweb.stream.layout.laying import Row, Shown, items
from jpweb.stream.layout.places import WORDS, Places, places, words
from jpweb.stream.outline import Outline, outline
from jpweb.stream.turns import split
from jpweb.stream.wire.glances import glance
from tests.builders import asked, called, returned, stream
from tests.stream import strategies


def whole(shown: Outline) -> list[Shown]:
    return [Shown(turn.index, item) for turn in shown.turns for item in turn.items]


def states(shown: Outline) -> Any:
    return {one.request.position: one.state for one, _ in shown.inquiries() if not one.response}


def part(elements: Any, found: Places, heads: set[int], shown: Outline) -> list[Shown]:
    """Lay out some items from their own elements."""
    anchors = identity.anchors(elements)
    rows = [
        Row(position, anchors[position], element)
        for position, element in enumerate(elements)
        if found.heads[position] in heads
    ]
    turns = [(index, turn.position) for index, turn in enumerate(found.turns)]
    return items(rows, turns, states(shown))


def of(elements: Any, shown: list[Shown]) -> list[int]:
    """Return the heads of items."""
    heads = places(elements).heads
    return [heads[one.item.first] for one in shown]


@given(strategies.streams, st.data())
@settings(deadline=None)
def test_the_items_of_any_part_are_those_of_the_whole(elements, data):
    shown, found = outline(elements), places(elements)
    every = sorted(set(found.heads))
    chosen = set(data.draw(st.lists(st.sampled_from(every)))) if every else set()
    expected = [one for one in whole(shown) if found.heads[one.item.first] in chosen]
    assert part(elements, found, chosen, shown) == expected


@given(strategies.streams)
@settings(deadline=None)
def test_every_item_is_made_of_the_elements_that_name_its_head(elements):
    shown, found = outline(elements), places(elements)
    for one in whole(shown):
        heads = {found.heads[here] for here in positions(one.item)}
        assert len(heads) == 1


def positions(item: Any) -> list[int]:
    def of_inquiry(one: Inquiry) -> list[int]:
        return [end.position for end in (one.request, one.response) if end]

    match item:
        case ToolCall():
            ends = [item.request, item.response]
            inner = [here for one in item.inquiries for here in of_inquiry(one)]
            return [end.position for end in ends if end] + inner
        case StrayInquiry():
            return of_inquiry(item.inquiry)
        case _:
            return [item.first]


@given(strategies.streams)
@settings(deadline=None)
def test_a_head_comes_first_and_names_itself(elements):
    found = places(elements)
    for position, head in enumerate(found.heads):
        assert head <= position
        assert found.heads[head] == head


@given(strategies.streams)
@settings(deadline=None)
def test_glances_find_the_same_places(elements):
    assert places([glance(element.raw) for element in elements]) == places(
        [wire.read(element.raw) for element in elements]
    )


@given(strategies.streams)
@settings(deadline=None)
def test_the_turns_are_those_of_the_stream(elements):
    assert [turn.position for turn in places(elements).turns] == [t.start for t in split(elements)]


def test_growth_moves_no_head():
    whole = stream(
        TurnStart(), called("a"), called("b"), asked("a.q"), returned("b"), returned("a"),
        TurnStart(), called("a"), returned("a"), returned("a"),
    )  # fmt: skip
    every = places(whole).heads
    assert every == [0, 1, 2, 1, 2, 1, 6, 7, 7, 9]
    for length in range(len(whole)):
        assert places(whole[:length]).heads == every[:length]


def test_a_turn_is_named_by_the_first_line_that_a_person_said():
    found = places(
        stream(
            ConfigDelta({}), TurnStart(), ChatRequest("\n  Mend it \nplease"), ChatRequest("Now"),
            ChatResponse("message", "Done"), TurnStart(), ChatResponse("message", "More"),
        )
    )  # fmt: skip
    assert [turn.words for turn in found.turns] == ["Mend it", ""]


def test_of_a_long_line_the_beginning_is_kept():
    assert words("x" * 10_000) == "x" * WORDS
    assert words("\n" * 10_000 + "far away") == ""
