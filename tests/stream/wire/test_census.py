"""What a stream holds, counted as it is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from jpweb.stream import wire
from jpweb.stream.events import ChatRequest, ConfigDelta, Element, EventKind, TurnStart
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse, Redacted
from jpweb.stream.stats import StreamStats, count_stream
from tests.builders import AT, make_answer, make_call, make_inquiry, make_result, raw, stream

LAYOUTS = Path(__file__).parents[2] / "samples" / "layouts"
BROKEN = {"timestamp": AT, "type": "tool_call_response", "id": 1}


def count_elements(elements: Sequence[Element]) -> StreamStats:
    stats = count_stream(elements)
    assert stats.element_count == len(elements) == stats.to_json()["elements"]
    return stats


def test_count_elements_of_an_empty_stream_is_zero():
    assert count_stream([]) == StreamStats()
    assert StreamStats().to_json() == {
        "elements": 0,
        "kinds": {},
        "turns": 0,
        "inquiries": {},
        "unanswered": 0,
        "unknown": 0,
        "broken": 0,
    }


def test_unknown_and_broken_elements_are_counted_with_the_others_and_apart():
    elements = stream(TurnStart(), ChatRequest("Hi"), raw({"type": "weather"}), raw(BROKEN), raw(7))
    stats = count_elements(elements)
    assert stats.kinds == {
        "chat_request": 1,
        "tool_call_response": 1,
        "turn_start": 1,
        "unknown": 1,
        "weather": 1,
    }
    assert (stats.unknown, stats.broken, stats.turns) == (2, 1, 1)


def test_count_elements_sorts_kinds_and_states():
    stats = count_elements(
        stream(TurnStart(), ChatRequest("Hi"), make_call("c"), make_inquiry("q"), make_answer("q"))
    )
    assert list(stats.kinds) == sorted(stats.kinds)
    assert list(stats.to_json()["kinds"]) == list(stats.kinds)


def test_count_elements_counts_turns_as_the_outline():
    assert (
        count_elements(stream(ConfigDelta({}), TurnStart(), TurnStart(), ChatRequest("Hi"))).turns
        == 2
    )
    assert count_elements(stream(ChatRequest("Hi"))).turns == 1


def test_count_elements_counts_each_inquiry_by_its_state():
    cancelled = InquiryResponse("b", Cancelled(CancellationReason.USER))
    kinds: list[EventKind] = [make_call("c"), *(make_inquiry(key) for key in "abcde")]
    kinds += [make_answer("a"), cancelled, InquiryResponse("d", Redacted())]
    still = count_elements(stream(TurnStart(), *kinds)).inquiries
    assert still == {"answered": 1, "cancelled": 1, "open": 2, "redacted": 1}
    stats = count_elements(
        stream(TurnStart(), *kinds, make_result("c"), TurnStart(), ChatRequest("Next"))
    )
    assert stats.inquiries == {"answered": 1, "cancelled": 1, "redacted": 1, "unanswered": 2}
    assert stats.to_json()["unanswered"] == 2


@pytest.mark.parametrize("file", sorted(LAYOUTS.glob("*.json")), ids=lambda file: file.stem)
def test_an_older_layout_is_counted_by_its_elements(file: Path):
    elements = [wire.read_element(text) for text in wire.split_array(file.read_bytes())]
    stats = count_elements(elements)
    assert set(stats.kinds) == {element.tag for element in elements}
