"""The tests that RFD 083 lists for phase 1, step 5, and the visibility rules of RFD 005."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jpweb.stream import wire
from jpweb.stream.answer_type import Boolean
from jpweb.stream.events import KINDS, ChatRequest, ChatResponse, TurnStart
from jpweb.stream.inquiry import (
    AnswerReusePolicy,
    InquiryQuestion,
    InquiryRequest,
    InquirySource,
)
from jpweb.stream.thread import Thread, list_visible_events
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


def test_legacy_inquiry_question_is_read_with_the_documented_defaults():
    legacy: Any = raw(
        {
            "timestamp": AT,
            "type": "inquiry_request",
            "id": "c.q",
            "source": {"source": "tool", "name": "fs"},
            "question": {"text": "Go on?", "answer_type": {"type": "boolean"}},
        }
    )
    question = legacy.kind.question
    assert question.context is None
    assert question.exclusive is False
    assert question.persistence is AnswerReusePolicy.TURN
    assert json.loads(wire.write_element(legacy.body).raw)["question"].keys() == {
        "text",
        "answer_type",
    }


def test_a_question_with_exclusive_true_and_persistence_none_round_trips():
    question = InquiryQuestion(
        "Go on?",
        Boolean(),
        context="Because.",
        exclusive=True,
        persistence=AnswerReusePolicy.NONE,
    )
    request = InquiryRequest("c.q.1", InquirySource.for_tool("ask_user"), question)
    request_element = make_element(request)
    assert request_element.kind == request
    assert json.loads(request_element.raw)["question"] == {
        "text": "Go on?",
        "answer_type": {"type": "boolean"},
        "context": "Because.",
        "exclusive": True,
        "persistence": "none",
    }


# RFD 005, Event Visibility


@pytest.mark.parametrize("tag", sorted(KINDS))
def test_provider_visible_kinds_are_chat_and_tool_calls(tag):
    allowed_tags = {"chat_request", "chat_response", "tool_call_request", "tool_call_response"}
    assert (tag in allowed_tags) == KINDS[tag].PROVIDER_VISIBLE


def test_provider_gets_each_tool_call_directly_followed_by_its_result():
    elements = stream(
        TurnStart(),
        ChatRequest("Hi"),
        make_call("c"),
        *(make_inquiry("c.q.1"), make_answer("c.q.1"), make_inquiry("c.r.1"), make_answer("c.r.1")),
        make_result("c"),
        ChatResponse("message", "Done."),
    )
    parts = Thread(("Be kind.",), tuple(elements)).build_parts()
    assert [event.kind.TAG for event in parts.events] == [
        "chat_request",
        "tool_call_request",
        "tool_call_response",
        "chat_response",
    ]


def test_visible_events_omit_a_last_inquiry():
    elements = stream(ChatRequest("Hi", {"type": "object"}), make_call("c"), make_inquiry("c.q.1"))
    assert list_visible_events(elements)[-1].kind == make_call("c")
