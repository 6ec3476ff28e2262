"""Questions and their outcomes on the wire (RFD 005, 082, 083)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from jpweb.stream.answer_type import Boolean, Option, Select
from jpweb.stream.errors import MalformedElement
from jpweb.stream.events import BrokenEvent
from jpweb.stream.inquiry import (
    Answered,
    AnswerReusePolicy,
    CancellationReason,
    Cancelled,
    InquiryQuestion,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    Redacted,
    SourceTag,
    UnknownReason,
    check_answer_type,
    read_reason,
)
from tests.builders import AT, make_element, raw
from tests.stream import strategies

QUESTION = {"text": "Go on?", "answer_type": {"type": "boolean"}}


def response(**fields) -> Any:
    return raw({"timestamp": AT, "type": "inquiry_response", "id": "c.q.1", **fields})


def request(source=None, **question) -> Any:
    return raw(
        {
            "timestamp": AT,
            "type": "inquiry_request",
            "id": "c.q.1",
            "source": source or {"source": "assistant"},
            "question": QUESTION | question,
        }
    )


def write_outcome(outcome) -> Any:
    return json.loads(make_element(InquiryResponse("c.q.1", outcome)).raw)


def test_recorded_options_with_nul_are_read_though_none_can_be_asked_for():
    answer_type = request(
        answer_type={"type": "select", "options": ["a\0"]}
    ).kind.question.answer_type
    assert answer_type == Select((Option("a\0"),))
    with pytest.raises(MalformedElement, match="NUL"):
        check_answer_type(answer_type)


def test_the_tagged_and_the_legacy_form_read_as_the_same_answer():
    assert response(outcome="answered", answer=True).kind == response(answer=True).kind
    assert response(answer=True).kind.outcome == Answered(True)


def test_a_legacy_null_is_an_answer():
    assert response(answer=None).kind.outcome == Answered(None)


def test_a_cancelled_response_without_reason_reads_as_user():
    assert response(outcome="cancelled").kind.outcome == Cancelled(CancellationReason.USER)


@pytest.mark.parametrize("odd", [None, 1, [], {"reason": "user"}])
def test_a_reason_that_is_no_text_reads_as_user(odd):
    assert response(outcome="cancelled", reason=odd).kind.outcome.reason is CancellationReason.USER


@pytest.mark.parametrize("reason", CancellationReason)
def test_a_known_reason_reads_as_itself(reason):
    outcome = response(outcome="cancelled", reason=reason.value).kind.outcome
    assert outcome.reason is reason
    assert write_outcome(outcome)["reason"] == reason.tag == reason.value


def test_an_unknown_reason_is_kept_verbatim():
    outcome = response(outcome="cancelled", reason="Some future/reason").kind.outcome
    assert outcome == Cancelled(UnknownReason("Some future/reason"))
    assert write_outcome(outcome)["reason"] == "Some future/reason"


@given(strategies.texts)
@settings(deadline=None)
def test_cancellation_reason_tag_round_trips(tag):
    assert read_reason(tag).tag == tag


def test_a_redacted_response_has_no_room_for_an_answer():
    assert list(write_outcome(Redacted())) == ["timestamp", "type", "outcome", "id"]
    assert response(outcome="redacted", answer="hunter2").kind == InquiryResponse(
        "c.q.1", Redacted()
    )


def test_a_cancelled_response_has_no_answer():
    assert write_outcome(Cancelled(CancellationReason.EXPIRED)) == {
        "timestamp": AT,
        "type": "inquiry_response",
        "outcome": "cancelled",
        "id": "c.q.1",
        "reason": "expired",
    }


def test_a_response_is_written_tagged_outcome_first():
    assert list(write_outcome(Answered("x"))) == ["timestamp", "type", "outcome", "id", "answer"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "needs “answer”"),
        ({"outcome": "answered"}, "needs “answer”"),
        ({"outcome": "answered", "reason": "user"}, "needs “answer”"),
        ({"outcome": "postponed", "answer": 1}, "unknown outcome 'postponed'"),
        ({"outcome": None, "answer": 1}, "unknown outcome 'None'"),
        ({"id": 1, "answer": 1}, "“id” must be a string"),
    ],
)
def test_inquiry_response_without_outcome_is_broken(fields, message):
    body = response(**fields).body
    assert isinstance(body, BrokenEvent)
    assert message in body.problem


def test_a_question_without_the_keys_of_rfd_083_has_their_defaults():
    assert request().kind.question == InquiryQuestion(
        "Go on?", Boolean(), None, None, False, AnswerReusePolicy.TURN
    )


def test_default_values_of_a_question_are_not_written():
    question = InquiryQuestion("Go on?", Boolean())
    assert question.to_fields() == QUESTION


def test_a_full_question_is_written_in_the_order_of_the_rfd():
    question = InquiryQuestion(
        "Go on?", Boolean(), False, "Because.", True, AnswerReusePolicy.NONE
    ).to_fields()
    assert list(question) == [
        "text",
        "answer_type",
        "default",
        "context",
        "exclusive",
        "persistence",
    ]
    assert question["default"] is False
    assert question["persistence"] == "none"


@pytest.mark.parametrize(
    ("source", "wire"),
    [
        (InquirySource.for_tool("fs"), {"source": "tool", "name": "fs"}),
        (InquirySource(SourceTag.ASSISTANT), {"source": "assistant"}),
        (InquirySource(SourceTag.USER), {"source": "user"}),
        (InquirySource(SourceTag.OTHER, "cron"), {"source": "other", "name": "cron"}),
    ],
)
def test_inquiry_source_names_the_asker(source, wire):
    assert source.to_fields() == wire
    assert request(wire).kind.source == source
    assert (
        json.loads(make_element(InquiryRequest("q", source, InquiryQuestion("?", Boolean()))).raw)[
            "source"
        ]
        == wire
    )


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (request({"source": "oracle"}), "unknown inquiry source 'oracle'"),
        (request({"source": ["tool"]}), "unknown inquiry source"),
        (request({"source": "tool"}), "“name” must be a string"),
        (request(text=None), "“text” must be a string"),
        (request(answer_type={"type": "colour"}), "unknown answer type"),
        (request(persistence="forever"), "“persistence” must be none or turn"),
        (request(persistence=None), "“persistence” must be none or turn"),
        (request(exclusive="yes"), "“exclusive” must be true or false"),
        (request(context=1), "“context” must be a string"),
    ],
)
def test_a_request_of_another_shape_is_broken_and_says_why(broken, message):
    assert isinstance(broken.body, BrokenEvent)
    assert message in broken.body.problem
