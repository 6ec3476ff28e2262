"""What an element is to a reader."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from jpweb.stream.event_kind import EventKindBase
from jpweb.stream.events import ChatRequest, ChatResponse, ConversationEvent, Element, TurnStart
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse, Redacted
from jpweb.stream.transcript.categories import (
    CATEGORIES,
    CATEGORY_GROUPS,
    PROBLEM_CATEGORIES,
    categorize_element,
)
from jpweb.stream.wire.partial import read_partial
from tests.builders import AT, make_answer, make_call, make_element, make_inquiry, make_result, raw
from tests.stream import strategies


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (TurnStart(), "turn"),
        (ChatRequest("Hi"), "person"),
        (ChatResponse("message", "Hello"), "message"),
        (ChatResponse("reasoning", "Hm"), "reasoning"),
        (ChatResponse("data", {"a": 1}), "structure"),
        (make_call("a"), "call"),
        (make_result("a"), "result"),
        (make_inquiry("a.q"), "question"),
        (make_answer("a.q"), "outcome"),
        (InquiryResponse("a.q", Redacted()), "outcome"),
        (InquiryResponse("a.q", Cancelled(CancellationReason.USER)), "outcome"),
        (InquiryResponse("a.q", Cancelled(CancellationReason.EXPIRED)), "dropped"),
    ],
)
def test_categorize_element_returns_the_category_of_its_kind(kind, expected):
    assert (
        categorize_element(make_element(kind))
        == categorize_element(read_partial(make_element(kind).raw))
        == expected
    )


def test_categorize_element_of_broken_and_unknown_elements():
    broken = {"type": "chat_request", "timestamp": AT, "content": 3}
    assert (
        categorize_element(raw(broken))
        == categorize_element(read_partial(raw(broken).raw))
        == "broken"
    )
    assert categorize_element(raw({"type": "from_the_future"})) == "unknown"


def test_kind_without_a_category_counts_as_unknown():
    class Note(TurnStart):
        CATEGORY = EventKindBase.CATEGORY

    assert categorize_element(Element("", ConversationEvent(AT, Note()))) == "unknown"


@given(strategies.streams)
@settings(deadline=None)
def test_partial_element_has_the_category_of_its_element(elements):
    for element in elements:
        assert (
            categorize_element(read_partial(element.raw))
            == categorize_element(element)
            in CATEGORIES
        )


def test_category_groups_have_every_category_but_the_turn_once():
    grouped = [category for group in CATEGORY_GROUPS.values() for category in group]
    assert sorted([*grouped, "turn"]) == sorted(CATEGORIES)
    assert set(PROBLEM_CATEGORIES) < set(CATEGORIES)
