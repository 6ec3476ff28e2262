"""What repair changes, and what it leaves alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings

from jpweb.stream import anchor_ids
from jpweb.stream.events import (
    BrokenEvent,
    ChatRequest,
    ChatResponse,
    Compaction,
    ConfigDelta,
    LegacyEvents,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
    UnknownEvent,
)
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse
from jpweb.stream.sanitize import INTERRUPTED, sanitize_stream
from jpweb.stream.turns import find_unfinished_turn, iter_events, match_events, split_turns
from tests.builders import (
    AT,
    make_answer,
    make_call,
    make_element,
    make_inquiry,
    make_result,
    raw,
    stream,
)
from tests.stream import strategies

START, SAYS, REPLY = TurnStart(), ChatRequest("Hi"), ChatResponse("message", "Hello")
UNKNOWN, BROKEN = raw({"type": "weather"}), raw({"type": "chat_response"})
BROKEN_START = raw({"type": "turn_start"})
PAIR = raw({"timestamp": AT, "message": "Hi", "reply": {"tool_calls": [{"id": "c", "name": "t"}]}})
WHOLE = (
    START,
    SAYS,
    make_call("c"),
    make_inquiry("c.q.1"),
    make_answer("c.q.1"),
    make_result("c"),
    REPLY,
)


def tags(*kinds) -> Any:
    return [element.tag for element in sanitize_stream(stream(*kinds)).elements]


def list_changes(*kinds) -> Any:
    return [
        (change.step, change.action, change.position)
        for change in sanitize_stream(stream(*kinds)).changes
    ]


def test_a_sound_stream_is_left_as_it_is():
    elements = stream(*WHOLE, ConfigDelta({}), START, SAYS, REPLY)
    result = sanitize_stream(elements)
    assert result.changes == ()
    assert all(a is b for a, b in zip(result.elements, elements, strict=True))


def test_an_empty_stream_stays_empty():
    assert sanitize_stream([]).elements == ()


def test_step_1_drops_events_before_the_first_message():
    kinds = (REPLY, ConfigDelta({}), UNKNOWN, BROKEN, START, make_call("c"), SAYS, REPLY)
    assert list_changes(*kinds) == [(1, "removed", 0), (1, "removed", 5)]
    assert tags(*kinds) == [
        "config_delta", "weather", "chat_response", "turn_start", "chat_request", "chat_response"
    ]  # fmt: skip


def test_step_1_changes_nothing_without_messages():
    assert list_changes(START, REPLY) == []


def test_step_2_drops_results_that_no_call_waits_for():
    assert list_changes(START, SAYS, make_result("x"), REPLY) == [(2, "removed", 2)]


def test_step_3_gives_an_open_call_a_result_with_its_time_right_after_it():
    elements = stream(START, SAYS, make_call("a"), make_call("b"), make_result("b"), REPLY)
    result = sanitize_stream(elements)
    response_element = result.elements[3]
    assert response_element.kind == ToolCallResponse("a", INTERRUPTED, True)
    assert response_element.events[0].timestamp == elements[2].events[0].timestamp
    assert result.changes[0].description == "tool_call_response inserted: the call had no result"
    assert result.changes[0].anchor == anchor_ids.make_anchors(elements)[2]


def test_step_3_leaves_results_with_the_calls_that_came_first():
    elements = stream(START, SAYS, make_call("a"), make_call("a"), make_result("a", "first"), REPLY)
    contents = [
        kind.content
        for element in sanitize_stream(elements).elements
        if isinstance(kind := element.kind, ToolCallResponse)
    ]
    assert contents == ["first", INTERRUPTED]


def test_steps_2_and_3_do_not_look_beyond_the_turn():
    kinds = (START, SAYS, make_call("a"), REPLY, START, SAYS, make_result("a"), REPLY)
    assert list_changes(*kinds) == [(3, "inserted", 2), (2, "removed", 6)]


def test_steps_4_and_5_drop_halves_of_inquiries():
    kinds = (
        START,
        SAYS,
        make_call("c"),
        make_answer("q"),
        make_inquiry("p"),
        make_result("c"),
        REPLY,
    )
    assert list_changes(*kinds) == [(4, "removed", 3), (5, "removed", 4)]


def test_repair_keeps_the_first_of_two_answers():
    kinds = (
        START,
        SAYS,
        make_call("c"),
        make_inquiry("q"),
        make_answer("q"),
        make_answer("q"),
        make_result("c"),
    )
    assert list_changes(*kinds) == [(4, "removed", 5)]


def test_step_6_drops_turn_starts_at_the_end_however_many():
    kinds = (*WHOLE, START, ConfigDelta({}), START, UNKNOWN)
    assert sorted(list_changes(*kinds)) == [(6, "removed", 7), (6, "removed", 9)]
    assert tags(*kinds)[-2:] == ["config_delta", "weather"]
    assert tags(START) == []


def test_step_6_keeps_a_broken_turn_start():
    assert list_changes(*WHOLE, START, BROKEN_START) == []


def test_step_7_keeps_the_last_of_the_first_turn_starts():
    assert list_changes(START, START, ConfigDelta({}), START, SAYS, REPLY) == [
        (7, "removed", 0),
        (7, "removed", 1),
    ]


def test_step_7_opens_the_first_turn_with_the_time_of_the_first_message():
    elements = stream(ConfigDelta({}), SAYS, REPLY)
    result = sanitize_stream(elements)
    assert [element.tag for element in result.elements][:2] == ["config_delta", "turn_start"]
    assert result.elements[1].events[0].timestamp == elements[1].events[0].timestamp
    assert list_changes(ConfigDelta({}), SAYS, REPLY) == [(7, "inserted", 1)]


def test_step_7_without_a_message_opens_the_turn_of_the_first_event():
    assert tags(UNKNOWN, REPLY) == ["weather", "turn_start", "chat_response"]
    assert tags(START, START, REPLY) == ["turn_start", "chat_response"]
    first = sanitize_stream([BROKEN]).elements[0]
    assert (first.tag, first.events[0].timestamp) == ("turn_start", "1970-01-01 00:00:00.0")


def test_a_broken_turn_start_opens_the_first_turn_and_is_kept():
    assert list_changes(BROKEN_START, SAYS, REPLY) == []
    assert tags(BROKEN_START, START, SAYS, REPLY) == [
        "turn_start", "turn_start", "chat_request", "chat_response"
    ]  # fmt: skip


def test_repair_treats_a_legacy_element_as_a_message():
    assert list_changes(REPLY, PAIR) == [(1, "removed", 0), (3, "inserted", 1), (7, "inserted", 1)]
    assert tags(PAIR, make_result("c"), REPLY) == [
        "turn_start", "legacy_pair", "tool_call_response", "chat_response"
    ]  # fmt: skip
    orphaned = raw(
        {"timestamp": AT, "type": "user_message", "message": [{"id": "x", "content": ""}]}
    )
    assert list_changes(START, orphaned, REPLY) == []


def test_a_half_turn_is_split_off_before_and_stays():
    elements = stream(*WHOLE, START, SAYS, make_call("c"), make_inquiry("c.q.1"))
    half_turn = find_unfinished_turn(elements)
    assert half_turn
    assert sanitize_stream(elements[: half_turn.turn.start]).changes == ()
    assert [change.step for change in sanitize_stream(elements).changes] == [3, 5]


@pytest.mark.parametrize("strategy", [strategies.streams, strategies.tangles])
def test_repair_is_idempotent(strategy):
    @given(strategy)
    @settings(deadline=None)
    def law(elements):
        first_result = sanitize_stream(elements)
        second_result = sanitize_stream(first_result.elements)
        assert second_result.changes == ()
        assert all(
            a is b for a, b in zip(second_result.elements, first_result.elements, strict=True)
        )

    law()


@given(strategies.tangles)
@settings(deadline=None)
def test_repair_pairs_everything_within_its_turn(elements):
    repaired = sanitize_stream(elements).elements
    for turn in split_turns(repaired):
        events = list(iter_events(repaired, turn))
        matches = match_events(events)
        legacy = {at for at in range(turn.start, turn.end) if repaired[at].kind is None}
        assert {place[0] for place in matches.orphans} <= legacy
        for place, event in events:
            if isinstance(event.kind, ToolCallRequest | InquiryRequest):
                assert place in matches.responses


@given(strategies.tangles, strategies.tangles)
@settings(deadline=None)
def test_repair_never_pairs_across_turns(before, after):
    """What stands in one turn does not depend on what is said in another."""
    opening = stream(START, SAYS)
    closing = stream(SAYS, REPLY)
    first = [*opening, *_one_turn(before), *closing]
    second = [*opening, *_one_turn(after), *closing]
    elements = sanitize_stream([*first, *second]).elements
    assert _said(elements) == _said(
        [*sanitize_stream(first).elements, *sanitize_stream(second).elements]
    )


def _one_turn(elements) -> Any:
    return [element for element in elements if element.tag != "turn_start"]


def _said(elements) -> Any:
    return [element.raw for element in elements]


@given(strategies.streams)
@settings(deadline=None)
def test_repair_keeps_unknown_broken_and_legacy_elements(elements):
    result = sanitize_stream(elements)
    id_counts = Counter(map(id, result.elements))
    for element in elements:
        safe = isinstance(element.body, UnknownEvent | BrokenEvent | LegacyEvents)
        if safe or isinstance(element.kind, ConfigDelta | Compaction):
            assert id_counts[id(element)]
    fresh = [element for element in result.elements if id(element) not in set(map(id, elements))]
    assert {element.tag for element in fresh} <= {"tool_call_response", "turn_start"}
    removals = [change for change in result.changes if change.action == "removed"]
    assert len(result.elements) == len(elements) - len(removals) + len(fresh)
    assert len(result.changes) == len(removals) + len(fresh)
    anchors = anchor_ids.make_anchors(elements)
    assert all(change.anchor == anchors[change.position] for change in result.changes)
    assert all(elements[change.position].tag == change.tag for change in removals)
    assert all(change.description for change in result.changes)


def test_an_answer_before_its_question_is_none():
    kinds = (
        START,
        SAYS,
        make_call("c"),
        make_answer("q"),
        make_inquiry("q"),
        make_answer("q"),
        make_result("c"),
    )
    assert list_changes(*kinds) == [(4, "removed", 3)]
    types = [
        type(element.kind)
        for element in sanitize_stream(stream(*kinds)).elements
        if isinstance(element.kind, InquiryRequest | InquiryResponse)
    ]
    assert types == [InquiryRequest, InquiryResponse]


def test_inserted_event_beside_an_untimed_one_has_the_epoch():
    untimed = raw({"type": "chat_response", "timestamp": "then", "message": "Hi"})
    assert sanitize_stream([untimed]).elements[0].events[0].timestamp == "1970-01-01 00:00:00.0"
    assert make_element(START).tag == "turn_start"
