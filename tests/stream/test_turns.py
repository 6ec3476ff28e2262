"""Turns, and which response belongs to which request."""

from __future__ import annotations

from dataclasses import replace
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
    find_owners,
    find_unfinished_turn,
    is_turn_incomplete,
    iter_events,
    match_events,
    pair_elements,
    split_turns,
)
from tests.builders import make_answer, make_call, make_inquiry, make_result, raw, stream
from tests.stream import strategies

START, SAYS, REPLY = TurnStart(), ChatRequest("Hi"), ChatResponse("message", "Hello")
UNKNOWN = raw({"type": "weather"})


def edges(*kinds) -> Any:
    return [(turn.start, turn.end) for turn in split_turns(stream(*kinds))]


def pairs(*kinds, turn=0) -> Any:
    elements = stream(*kinds)
    result = pair_elements(elements, split_turns(elements)[turn])
    return result.responses, set(result.orphans)


def is_incomplete(*kinds) -> Any:
    elements = stream(*kinds)
    return is_turn_incomplete(elements, split_turns(elements)[-1])


def test_an_empty_stream_has_no_turn():
    assert split_turns([]) == []


def test_a_leading_turn_start_opens_turn_0():
    assert split_turns(stream(START, SAYS, REPLY)) == [TurnSpan(0, 0, 3)]


def test_events_before_the_first_turn_start_are_turn_0():
    assert edges(SAYS, REPLY, START, SAYS) == [(0, 2), (2, 4)]


def test_turn_starts_that_are_adjacent_open_two_turns():
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
    assert pairs(make_call("a"), make_call("b"), make_result("b"), make_result("a")) == (
        {0: 3, 1: 2},
        set(),
    )


def test_legacy_response_pairs_with_the_first_of_two_requests():
    assert pairs(make_inquiry("c.q"), make_answer("c.q"), make_inquiry("c.q")) == ({0: 1}, set())
    assert pairs(make_inquiry("c.q"), make_inquiry("c.q"), make_answer("c.q")) == ({0: 2}, set())


def test_legacy_request_with_two_responses_leaves_an_orphan():
    assert pairs(make_inquiry("c.q"), make_answer("c.q"), make_answer("c.q")) == ({0: 1}, {2})


def test_equal_ids_pair_by_order():
    assert pairs(make_call("a"), make_result("a"), make_call("a"), make_result("a")) == (
        {0: 1, 2: 3},
        set(),
    )
    assert pairs(make_inquiry("q"), make_inquiry("q"), make_answer("q"), make_answer("q")) == (
        {0: 2, 1: 3},
        set(),
    )


def test_a_response_before_its_request_is_an_orphan():
    assert pairs(make_answer("q"), make_inquiry("q")) == ({}, {0})


def test_a_pair_never_spans_turns():
    kinds = (START, make_inquiry("q"), START, make_answer("q"))
    assert pairs(*kinds, turn=0) == ({}, set())
    assert pairs(*kinds, turn=1) == ({}, {3})
    stream_kinds = (START, make_inquiry("q"), START, make_inquiry("q"), make_answer("q"))
    assert pairs(*stream_kinds, turn=1) == ({3: 4}, set())


def test_a_call_and_a_question_of_one_id_do_not_meet():
    assert pairs(make_call("a"), make_answer("a"), make_inquiry("a"), make_result("a")) == (
        {0: 3},
        {1},
    )


@pytest.mark.parametrize(
    "kinds",
    [
        (START,),
        (START, SAYS),
        (SAYS, make_call("a")),
        (SAYS, make_call("a"), REPLY),
        (SAYS, REPLY, make_call("a"), make_result("a")),
        (SAYS, REPLY, make_result("a")),
        (SAYS, make_result("a"), make_call("a"), REPLY),
        (SAYS, make_call("a"), make_result("b"), REPLY),
        (SAYS, make_call("a"), make_call("a"), make_result("a"), REPLY),
        (SAYS, make_call("a"), make_inquiry("a"), make_answer("a"), REPLY),
        (SAYS, UNKNOWN),
    ],
)
def test_a_turn_that_lacks_a_reply_or_a_result_is_incomplete(kinds):
    assert is_incomplete(*kinds)


@pytest.mark.parametrize(
    "kinds",
    [
        (SAYS, REPLY),
        (REPLY,),
        (SAYS, make_call("a"), make_result("a"), REPLY),
        (SAYS, REPLY, UNKNOWN, ConfigDelta({})),
        (SAYS, make_call("a"), make_inquiry("a.q"), make_result("a"), REPLY),
        (SAYS, make_call("a"), make_call("a"), make_result("a"), make_result("a"), REPLY),
        (SAYS, make_call("a"), make_result("a"), make_result("a"), REPLY),
        (SAYS, make_call("a"), REPLY, make_result("a"), REPLY),
        (SAYS, make_result("a"), REPLY),
        (SAYS, REPLY, make_inquiry("a.q")),
    ],
)
def test_a_turn_that_ends_with_a_reply_is_complete(kinds):
    assert not is_incomplete(*kinds)


def test_a_turn_without_events_is_not_incomplete():
    assert not is_incomplete(ConfigDelta({}), UNKNOWN)


def phase(*kinds) -> Any:
    unfinished_turn = find_unfinished_turn(stream(*kinds))
    return unfinished_turn and unfinished_turn.phase


def open_calls(*kinds) -> Any:
    current_phase = phase(*kinds)
    assert isinstance(current_phase, Executing)
    return [(position, call.id) for position, call in current_phase.calls]


@pytest.mark.parametrize("kinds", [(), (START, SAYS, REPLY), (ConfigDelta({}),)])
def test_a_complete_stream_has_nothing_unfinished(kinds):
    assert phase(*kinds) is None


@pytest.mark.parametrize(
    "kinds",
    [(START, SAYS), (START,), (SAYS, make_call("a"), make_result("a")), (REPLY, START, SAYS)],
)
def test_turn_phase_without_an_open_call_is_streaming(kinds):
    assert phase(*kinds) == Streaming()


def test_open_calls_are_to_be_run_by_count():
    assert open_calls(SAYS, make_call("a"), make_call("b"), make_result("a")) == [(2, "b")]
    assert open_calls(SAYS, make_call("a"), make_result("a"), make_call("a")) == [(3, "a")]


def test_a_call_of_an_earlier_turn_is_not_resumed():
    kinds = (START, SAYS, make_call("a"), START, SAYS)
    assert phase(*kinds) == Streaming()
    unfinished_turn = find_unfinished_turn(stream(*kinds))
    assert unfinished_turn
    assert unfinished_turn.turn == TurnSpan(1, 3, 5)


def test_an_open_question_of_an_open_call_waits_for_input():
    kinds = (
        SAYS,
        make_call("a"),
        make_call("b"),
        make_inquiry("b.q.1"),
        make_inquiry("a.q.1"),
        make_answer("a.q.1"),
    )
    current_phase = phase(*kinds)
    assert isinstance(current_phase, WaitingForInput)
    assert [(position, call.id) for position, call in current_phase.calls] == [(1, "a"), (2, "b")]
    assert [(position, question.id) for position, question in current_phase.inquiries] == [
        (3, "b.q.1")
    ]


def test_turn_phase_ignores_questions_of_ended_calls():
    assert phase(SAYS, make_call("a"), make_inquiry("a.q"), make_result("a")) == Streaming()
    assert open_calls(
        SAYS, make_call("a"), make_inquiry("a.q"), make_result("a"), make_call("b")
    ) == [(4, "b")]
    assert phase(SAYS, make_inquiry("stray")) == Streaming()


class CountedId(str):
    """The id of an inquiry that counts the parts that are taken of it."""

    __slots__ = ("part_count",)

    def __getitem__(self, key: Any) -> str:
        self.part_count = getattr(self, "part_count", 0) + 1
        return super().__getitem__(key)


@pytest.mark.parametrize(
    ("inquiry_id", "call_id"),
    [("a" * 100 + ".q.1", "a" * 100), ("b.a.q", "b.a"), ("c" + "." * 900, "d"), ("stray", "d")],
)
def test_call_of_an_inquiry_is_found_at_its_dots_however_many_calls_run(inquiry_id, call_id):
    calls = [make_call("a" * length) for length in range(1, 500)]
    elements = stream(SAYS, make_call("b.a"), *calls, make_call("d"), make_inquiry(inquiry_id))
    (turn,) = split_turns(elements)
    events: Any = list(iter_events(elements, turn))
    place, event = events.pop()
    counted_id = CountedId(inquiry_id)
    events.append((place, replace(event, kind=replace(event.kind, id=counted_id))))
    (owner,) = find_owners(events, match_events(events)).values()
    assert dict(events)[owner].kind.id == call_id
    assert getattr(counted_id, "part_count", 0) <= 64


@given(strategies.tangles)
@settings(deadline=None)
def test_find_unfinished_turn_returns_the_last_turn_when_incomplete(elements):
    unfinished_turn = find_unfinished_turn(elements)
    last = split_turns(elements)[-1:]
    halted = [turn for turn in last if is_turn_incomplete(elements, turn)]
    assert [turn for turn in (unfinished_turn and unfinished_turn.turn,) if turn] == halted


@given(strategies.tangles | strategies.questionings)
def test_turn_with_a_call_that_pairing_leaves_open_is_incomplete(elements):
    for turn in split_turns(elements):
        events = list(iter_events(elements, turn))
        answered_places = match_events(events).responses
        calls = [place for place, event in events if isinstance(event.kind, ToolCallRequest)]
        assert set(calls) <= set(answered_places) or is_turn_incomplete(elements, turn)
