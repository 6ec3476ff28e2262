"""What a stream holds, counted as it is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from jpweb.stream import wire
from jpweb.stream.events import ChatRequest, ConfigDelta, Element, EventKind, TurnStart
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse, Redacted
from jpweb.stream.stats import StreamStats, count_stream
from tests.builders import AT, answered, asked, called, raw, returned, stream

LAYOUTS = Path(__file__).parents[2] / "samples" / "layouts"
BROKEN = {"timestamp": AT, "type": "tool_call_response", "id": 1}


def said(elements: Sequence[Element]) -> StreamStats:
    found = count_stream(elements)
    assert found.element_count == len(elements) == found.to_json()["elements"]
    return found


def test_a_stream_of_nothing_is_counted_as_nothing():
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
    found = said(elements)
    assert found.kinds == {
        "chat_request": 1,
        "tool_call_response": 1,
        "turn_start": 1,
        "unknown": 1,
        "weather": 1,
    }
    assert (found.unknown, found.broken, found.turns) == (2, 1, 1)


def test_kinds_and_states_stand_in_the_order_of_the_alphabet():
    found = said(stream(TurnStart(), ChatRequest("Hi"), called("c"), asked("q"), answered("q")))
    assert list(found.kinds) == sorted(found.kinds)
    assert list(found.to_json()["kinds"]) == list(found.kinds)


def test_a_turn_is_what_the_outline_calls_one():
    assert said(stream(ConfigDelta({}), TurnStart(), TurnStart(), ChatRequest("Hi"))).turns == 2
    assert said(stream(ChatRequest("Hi"))).turns == 1


def test_each_inquiry_is_counted_once_under_its_state():
    cancelled = InquiryResponse("b", Cancelled(CancellationReason.USER))
    kinds: list[EventKind] = [called("c"), *(asked(key) for key in "abcde")]
    kinds += [answered("a"), cancelled, InquiryResponse("d", Redacted())]
    still = said(stream(TurnStart(), *kinds)).inquiries
    assert still == {"answered": 1, "cancelled": 1, "open": 2, "redacted": 1}
    over = said(stream(TurnStart(), *kinds, returned("c"), TurnStart(), ChatRequest("Next")))
    assert over.inquiries == {"answered": 1, "cancelled": 1, "redacted": 1, "unanswered": 2}
    assert over.to_json()["unanswered"] == 2


@pytest.mark.parametrize("file", sorted(LAYOUTS.glob("*.json")), ids=lambda file: file.stem)
def test_an_older_layout_is_counted_by_its_elements(file: Path):
    elements = [wire.read_element(text) for text in wire.split_array(file.read_bytes())]
    found = said(elements)
    assert set(found.kinds) == {element.tag for element in elements}
