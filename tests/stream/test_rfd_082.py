"""The tests that RFD 082 lists for the stream, by the names it gives them.

Phase 2, and of phase 3 those under id pairing and sanitize. *Attempt counter*, *Cross-cycle
uniqueness* and *Per-turn reset* are about who writes: tests/agent has them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from jpweb.agent.tool_calls.turn_state import AnswerKey, RememberedAnswer, TurnState
from jpweb.stream import outline, wire
from jpweb.stream.events import BrokenEvent, ChatRequest, ChatResponse, TurnStart
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryResponse,
    Redacted,
    UnknownReason,
)
from jpweb.stream.sanitize import sanitize_stream
from jpweb.stream.turns import pair_elements, split_turns
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

START, SAYS, REPLY = TurnStart(), ChatRequest("Hi"), ChatResponse("message", "Hello")
ID = "call_1.confirm.1"


def response(**fields) -> Any:
    return raw({"timestamp": AT, "type": "inquiry_response"} | fields)


def write_outcome(outcome) -> Any:
    value = json.loads(make_element(InquiryResponse(ID, outcome)).raw)
    del value["timestamp"], value["type"]
    return value


# Phase 2


def test_backward_compat_round_trip():
    legacy = response(id="call_1.answer", answer=True)
    assert legacy.kind == InquiryResponse("call_1.answer", Answered(True))
    assert json.loads(wire.write_element(legacy.body).raw)["outcome"] == "answered"
    assert wire.read_element(wire.write_element(legacy.body).raw).kind == legacy.kind


def test_tagged_serialization():
    assert write_outcome(Answered(True)) == {"outcome": "answered", "id": ID, "answer": True}
    for reason in (CancellationReason.USER, CancellationReason.BACKEND_ERROR):
        assert write_outcome(Cancelled(reason)) == {
            "outcome": "cancelled",
            "id": ID,
            "reason": reason.value,
        }
    assert write_outcome(Redacted()) == {"outcome": "redacted", "id": ID}


def test_missing_reason_defaults_to_user():
    kind = response(outcome="cancelled", id=ID).kind
    assert kind == InquiryResponse(ID, Cancelled(CancellationReason.USER))


def test_unknown_reason_round_trips_through_unknown_string():
    value = {"outcome": "cancelled", "id": ID, "reason": "some_future_variant"}
    element = response(**value)
    assert element.kind.outcome == Cancelled(UnknownReason("some_future_variant"))
    assert write_outcome(element.kind.outcome) == value


def test_redacted_carries_no_answer():
    assert "answer" not in write_outcome(Redacted())
    kind = response(outcome="redacted", id=ID, answer="hunter2").kind
    assert kind.outcome == Redacted()
    assert not hasattr(kind.outcome, "answer")


@pytest.mark.parametrize("fields", [{"id": ID}, {"id": ID, "outcome": "answered"}, {}])
def test_invalid_shape(fields):
    assert isinstance(response(**fields).body, BrokenEvent)


def test_turn_cache_split():
    """Neither map can hold an outcome: an answer is a bare value under a question's own key."""
    state = TurnState()
    state.remembered_tool_answers[AnswerKey("fs", "confirm")] = RememberedAnswer(True)
    assert (
        TurnState.from_elements(stream(make_inquiry(ID), InquiryResponse(ID, Redacted())))
        == TurnState()
    )
    answers = state.remembered_tool_answers.values()
    assert not any(isinstance(answer.value, Answered | Cancelled | Redacted) for answer in answers)


# Phase 3, id pairing


def test_legacy_id_pairing():
    elements = stream(
        SAYS,
        make_call("c"),
        make_inquiry("c.q"),
        make_answer("c.q", 1),
        make_inquiry("c.q"),
        make_answer("c.q", 2),
    )
    (turn,) = split_turns(elements)
    assert pair_elements(elements, turn).responses == {2: 3, 4: 5}
    outcomes = [inquiry.outcome for inquiry, _ in outline.build_outline(elements).list_inquiries()]
    assert outcomes == [Answered(1), Answered(2)]


@pytest.mark.parametrize("inquiry_id", ["c.q", "c.q.1", "inq_1", "a.b.c.d.e", ""])
def test_inquiry_ids_are_opaque(inquiry_id):
    elements = stream(
        SAYS, make_call("c"), make_inquiry(inquiry_id), make_answer(inquiry_id), make_result("c")
    )
    assert pair_elements(elements, split_turns(elements)[0]).responses == {1: 4, 2: 3}


# Phase 3, sanitize


def test_cross_turn_id_collision_under_sanitize():
    elements = stream(
        *(START, SAYS, make_call("c"), make_inquiry(ID), make_result("c"), REPLY),
        *(START, SAYS, make_call("c"), make_inquiry(ID), make_answer(ID), make_result("c"), REPLY),
    )
    result = sanitize_stream(elements)
    assert [(change.step, change.position) for change in result.changes] == [(5, 3)]
    assert result.elements == (*elements[:3], *elements[4:])


def test_legacy_duplicate_ids_within_a_turn_under_sanitize():
    elements = stream(
        START,
        SAYS,
        make_call("c"),
        make_inquiry("c.q"),
        make_answer("c.q"),
        make_inquiry("c.q"),
        make_result("c"),
        REPLY,
    )
    result = sanitize_stream(elements)
    assert [(change.step, change.position) for change in result.changes] == [(5, 5)]
    both_turns = stream(
        START,
        SAYS,
        make_call("c"),
        make_inquiry("c.q"),
        make_inquiry("c.q"),
        make_answer("c.q"),
        make_result("c"),
        REPLY,
    )
    assert [change.position for change in sanitize_stream(both_turns).changes] == [4]
