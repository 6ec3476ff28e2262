from __future__ import annotations

from typing import Any

from jpweb.agent.history import normalize_history
from jpweb.stream.events import ChatRequest, ChatResponse, ToolCallResponse, TurnStart
from tests.builders import (
    make_answer,
    make_call,
    make_element,
    make_inquiry,
    make_result,
    raw,
    stream,
)

INTERRUPTED = "Tool call was interrupted."


def kinds(elements) -> Any:
    return [element.kind for element in normalize_history(elements)]


def make_lost_response(tool_call_id) -> Any:
    return ToolCallResponse(tool_call_id, INTERRUPTED, is_error=True)


def test_history_keeps_a_complete_stream():
    elements = stream(TurnStart(), ChatRequest("Go."), make_call("a"), make_result("a"))
    assert normalize_history(elements) == tuple(elements)


def test_an_empty_stream_stays_empty():
    assert normalize_history([]) == ()


def test_a_request_without_response_gets_one_right_after_it():
    elements = stream(
        TurnStart(), ChatRequest("Go."), make_call("a"), TurnStart(), ChatRequest("On.")
    )
    assert kinds(elements) == [
        *(e.kind for e in elements[:3]),
        make_lost_response("a"),
        *kinds(elements[3:]),
    ]


def test_the_response_has_the_time_of_its_request():
    elements = stream(TurnStart(), make_call("a"))
    inserted: Any = normalize_history(elements)[2].body
    assert inserted.timestamp == "2026-01-02 03:00:01.0"


def test_history_adds_a_response_to_the_later_of_two_equal_call_ids():
    elements = stream(TurnStart(), make_call("a"), make_result("a"), make_call("a"))
    assert kinds(elements)[-1] == make_lost_response("a")
    assert len(kinds(elements)) == 5


def test_the_response_of_a_later_turn_does_not_count():
    elements = stream(TurnStart(), make_call("a"), TurnStart(), make_call("a"), make_result("a"))
    assert [isinstance(kind, ToolCallResponse) for kind in kinds(elements)] == [
        False,
        False,
        True,
        False,
        False,
        True,
    ]


def test_a_response_that_cannot_be_read_counts_as_none():
    broken = raw({"type": "tool_call_response", "timestamp": "2026-01-02 03:04:05.0", "id": "a"})
    assert make_lost_response("a") in kinds([*stream(TurnStart(), make_call("a")), broken])


def test_a_response_without_a_request_is_left_out():
    elements = stream(TurnStart(), make_result("a"), ChatResponse("message", "Done."))
    assert kinds(elements) == [TurnStart(), ChatResponse("message", "Done.")]


def test_history_keeps_an_unanswered_inquiry():
    elements = stream(TurnStart(), make_call("a"), make_inquiry("a.q.1"), make_result("a"))
    assert normalize_history(elements) == tuple(elements)
    paired = [*elements[:3], make_element(make_answer("a.q.1")), elements[3]]
    assert normalize_history(paired) == tuple(paired)
