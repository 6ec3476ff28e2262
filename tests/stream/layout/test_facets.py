"""What an element is to a reader."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse, Redacted
from jpweb.stream.layout.facets import FACETS, GROUPS, PROBLEMS, facet
from jpweb.stream.wire.glances import glance
from tests.builders import AT, answered, asked, called, element, raw, returned
from tests.stream import strategies


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (TurnStart(), "turn"),
        (ChatRequest("Hi"), "person"),
        (ChatResponse("message", "Hello"), "message"),
        (ChatResponse("reasoning", "Hm"), "reasoning"),
        (ChatResponse("data", {"a": 1}), "structure"),
        (called("a"), "call"),
        (returned("a"), "result"),
        (asked("a.q"), "question"),
        (answered("a.q"), "outcome"),
        (InquiryResponse("a.q", Redacted()), "outcome"),
        (InquiryResponse("a.q", Cancelled(CancellationReason.USER)), "outcome"),
        (InquiryResponse("a.q", Cancelled(CancellationReason.EXPIRED)), "dropped"),
    ],
)
def test_each_kind_has_its_facet(kind, expected):
    assert facet(element(kind)) == facet(glance(element(kind).raw)) == expected


def test_what_cannot_be_read_and_what_is_unknown_have_theirs():
    broken = {"type": "chat_request", "timestamp": AT, "content": 3}
    assert facet(raw(broken)) == facet(glance(raw(broken).raw)) == "broken"
    assert facet(raw({"type": "from_the_future"})) == "unknown"


@given(strategies.streams)
@settings(deadline=None)
def test_a_glance_has_the_facet_of_its_element(elements):
    for one in elements:
        assert facet(glance(one.raw)) == facet(one) in FACETS


def test_every_facet_but_the_turn_is_in_one_group():
    grouped = [each for group in GROUPS.values() for each in group]
    assert sorted([*grouped, "turn"]) == sorted(FACETS)
    assert set(PROBLEMS) < set(FACETS)
