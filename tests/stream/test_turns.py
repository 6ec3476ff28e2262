"""Turns, and which response belongs to which request."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    Compaction,
    ConfigDelta,
    ToolCallRequest,
    TurnStart,
)
from jpweb.stream.turns import (
    Executing,
    Streaming,
    TurnSpan,
    WaitingForInput,
    find_unfinished_turn,
    is_turn_incomplete,
    iter_events,
    match_events,
    pair_elements,
    split_turns,
)
from tests.builders import answered, asked, called, raw, returned, stream
from tests.stream import strategies

START, SAYS, REPLY = TurnStart(), ChatRequest("Hi"), ChatResponse("message", "Hello")
UNKNOWN = raw({"type": "weather"})


def edges(*kinds) -> Any:
    return [(turn.start, turn.end) for turn in split_turns(stream(*kinds))]


def pairs(*kinds, turn=0) -> Any:
    elements = stream(*kinds)
    found = pair_elements(elements, split_turns(elements)[turn])
    return found.responses, set(found.orphans)


def stopped(*kinds) -> Any:
    elements = stream(*kinds)
    return is_turn_incomplete(elements, split_turns(elements)[-1])


def test_an_empty_stream_has_no_turn():
    assert split_turns([]) == []


def test_a_leading_turn_start_opens_turn_0():
    assert split_turns(stream(START, SAYS, REPLY)) == [TurnSpan(0, 0, 3)]


def test_events_before_the_first_turn_start_are_turn_0():
    assert edges(SAYS, REPLY, START, SAYS) == [(0, 2), (2, 4)]


def test_each_of_two_adjacent_turn_starts_opens_a_turn():
    assert edges(START, START, SAYS) == [(0, 1), (1, 3)]


def test_a_stream_without_turn_start_is_one_turn():
    assert edges(SAYS, REPLY, SAYS) == [(0, 3)]


@pytest.mark.parametrize("invisible", [ConfigDelta({}), Compaction(0, 1), UNKNOWN])
def test_overlays_and_unknown_elements_open_no_turn_and_are_no_event(invisible):
    assert edges(invisible, START, SAYS) == [(0, 3)]
    assert edges(START, REPLY, invisible, START) == [(0, 3), (3, 4)]
    assert edges(invisible) == [(0, 1)]


def test_a_broken_event_counts_by_its_tag():
    broken_start = raw({"type": "turn_start", "timestamp": "?"})
    broken_request = raw({"type": "chat_request"})
    assert edges(START, REPLY, broken_start, SAYS) == [(0, 2), (2, 4)]
    assert edges(broken_request, START, SAYS) == [(0, 1), (1, 3)]


@given(strategies.streams)
@settings(deadline=None)
def test_turns_cover_the_stream_without_gaps(elements):
    turns = split_turns(elements)
    assert [turn.index for turn in turns] == list(range(len(turns)))
    assert [n for turn in turns for n in range(turn.start, turn.end)] == list(range(len(elements)))
    assert all(turn.start < turn.end for turn in turns)


def test_a_response_belongs_to_the_request_of_its_id():
    assert pairs(called("a"), called("b"), returned("b"), returned("a")) == ({0: 3, 1: 2}, set())


def test_two_legacy_requests_and_one_response_pair_the_first():
    assert pairs(asked("c.q"), answered("c.q"), asked("c.q")) == ({0: 1}, set())
    assert pairs(asked("c.q"), asked("c.q"), answered("c.q")) == ({0: 2}, set())


def test_one_legacy_request_and_two_responses_leave_an_orphan():
    assert pairs(asked("c.q"), answered("c.q"), answered("c.q")) == ({0: 1}, {2})


def test_equal_ids_pair_by_order():
    assert pairs(called("a"), returned("a"), called("a"), returned("a")) == ({0: 1, 2: 3}, set())
    assert pairs(asked("q"), asked("q"), answered("q"), answered("q")) == ({0: 2, 1: 3}, set())


def test_a_response_before_its_request_is_an_orphan():
    assert pairs(answered("q"), asked("q")) == ({}, {0})


def test_a_pair_never_spans_turns():
    kinds = (START, asked("q"), START, answered("q"))
    assert pairs(*kinds, turn=0) == ({}, set())
    assert pairs(*kinds, turn=1) == ({}, {3})
    again = (START, asked("q"), START, asked("q"), answered("q"))
    assert pairs(*again, turn=1) == ({3: 4}, set())


def test_a_call_and_a_question_of_one_id_do_not_meet():
    assert pairs(called("a"), answered("a"), asked("a"), returned("a")) == ({0: 3}, {1})


@pytest.mark.parametrize(
    "kinds",
    [
        (START,),
        (START, SAYS),
        (SAYS, called("a")),
        (SAYS, called("a"), REPLY),
        (SAYS, REPLY, called("a"), returned("a")),
        (SAYS, REPLY, returned("a")),
        (SAYS, returned("a"), called("a"), REPLY),
        (SAYS, called("a"), returned("b"), REPLY),
        (SAYS, called("a"), called("a"), returned("a"), REPLY),
        (SAYS, called("a"), asked("a"), answered("a"), REPLY),
        (SAYS, UNKNOWN),
    ],
)
def test_a_turn_that_lacks_a_reply_or_a_result_is_incomplete(kinds):
    assert stopped(*kinds)


@pytest.mark.parametrize(
    "kinds",
    [
        (SAYS, REPLY),
        (REPLY,),
        (SAYS, called("a"), returned("a"), REPLY),
        (SAYS, REPLY, UNKNOWN, ConfigDelta({})),
        (SAYS, called("a"), asked("a.q"), returned("a"), REPLY),
        (SAYS, called("a"), called("a"), returned("a"), returned("a"), REPLY),
        (SAYS, called("a"), returned("a"), returned("a"), REPLY),
        (SAYS, called("a"), REPLY, returned("a"), REPLY),
        (SAYS, returned("a"), REPLY),
        (SAYS, REPLY, asked("a.q")),
    ],
)
def test_a_turn_that_ends_with_a_reply_is_complete(kinds):
    assert not stopped(*kinds)


def test_a_turn_without_events_is_not_incomplete():
    assert not stopped(ConfigDelta({}), UNKNOWN)


def phase(*kinds) -> Any:
    found = find_unfinished_turn(stream(*kinds))
    return found and found.phase


def open_calls(*kinds) -> Any:
    found = phase(*kinds)
    assert isinstance(found, Executing)
    return [(position, call.id) for position, call in found.calls]


@pytest.mark.parametrize("kinds", [(), (START, SAYS, REPLY), (ConfigDelta({}),)])
def test_a_complete_stream_has_nothing_unfinished(kinds):
    assert phase(*kinds) is None


@pytest.mark.parametrize(
    "kinds", [(START, SAYS), (START,), (SAYS, called("a"), returned("a")), (REPLY, START, SAYS)]
)
def test_without_an_open_call_the_provider_is_asked(kinds):
    assert phase(*kinds) == Streaming()


def test_open_calls_are_to_be_run_by_count():
    assert open_calls(SAYS, called("a"), called("b"), returned("a")) == [(2, "b")]
    assert open_calls(SAYS, called("a"), returned("a"), called("a")) == [(3, "a")]


def test_a_call_of_an_earlier_turn_is_not_resumed():
    kinds = (START, SAYS, called("a"), START, SAYS)
    assert phase(*kinds) == Streaming()
    found = find_unfinished_turn(stream(*kinds))
    assert found
    assert found.turn == TurnSpan(1, 3, 5)


def test_an_open_question_of_an_open_call_waits_for_input():
    kinds = (SAYS, called("a"), called("b"), asked("b.q.1"), asked("a.q.1"), answered("a.q.1"))
    found = phase(*kinds)
    assert isinstance(found, WaitingForInput)
    assert [(position, call.id) for position, call in found.calls] == [(1, "a"), (2, "b")]
    assert [(position, one.id) for position, one in found.inquiries] == [(3, "b.q.1")]


def test_a_question_whose_call_has_ended_waits_for_nothing():
    assert phase(SAYS, called("a"), asked("a.q"), returned("a")) == Streaming()
    assert open_calls(SAYS, called("a"), asked("a.q"), returned("a"), called("b")) == [(4, "b")]
    assert phase(SAYS, asked("stray")) == Streaming()


@given(strategies.tangles)
@settings(deadline=None)
def test_what_is_unfinished_is_the_last_turn_where_it_is_incomplete(elements):
    found = find_unfinished_turn(elements)
    last = split_turns(elements)[-1:]
    halted = [turn for turn in last if is_turn_incomplete(elements, turn)]
    assert [turn for turn in (found and found.turn,) if turn] == halted


@given(strategies.tangles | strategies.questionings)
def test_turn_with_a_call_that_pairing_leaves_open_is_incomplete(elements):
    for turn in split_turns(elements):
        events = list(iter_events(elements, turn))
        answered_places = match_events(events).responses
        calls = [place for place, event in events if isinstance(event.kind, ToolCallRequest)]
        assert set(calls) <= set(answered_places) or is_turn_incomplete(elements, turn)
