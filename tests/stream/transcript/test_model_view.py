"""What the model is sent of a turn's items."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from jpweb.agent.history import normalize_history
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    Compaction,
    ConfigDelta,
    TurnStart,
)
from jpweb.stream.outline import build_outline
from jpweb.stream.sanitize import INTERRUPTED
from jpweb.stream.thread import list_visible_events
from jpweb.stream.transcript.items import StandaloneItem, ToolCall
from jpweb.stream.transcript.model_view import count_withheld, list_sent_events, split_requests
from tests.builders import make_answer, make_call, make_inquiry, make_result, raw, stream
from tests.stream import strategies


def list_sent_of_turn(*kinds: Any) -> Any:
    """Return what is sent of one turn."""
    return list_sent_events(items(*kinds))


def items(*kinds: Any) -> Any:
    (turn,) = build_outline(stream(TurnStart(), *kinds)).turns
    return turn.items


@given(strategies.streams | strategies.tangles)
@settings(deadline=None)
def test_list_sent_events_of_all_turns_equal_the_sent_thread(elements: Any):
    sent_events = [
        sent_event
        for turn in build_outline(elements).turns
        for sent_event in list_sent_events(turn.items)
    ]
    events = list_visible_events(normalize_history(elements))
    assert [sent_event.kind for sent_event in sent_events] == [event.kind for event in events]


@given(strategies.streams | strategies.tangles)
@settings(deadline=None)
def test_sent_and_withheld_event_counts_add_up(elements: Any):
    for turn in build_outline(elements).turns:
        calls = [item for item in turn.items if isinstance(item, ToolCall)]
        marks = [item for item in turn.items if isinstance(item, StandaloneItem) and is_mark(item)]
        sent_events = [
            sent_event for sent_event in list_sent_events(turn.items) if not sent_event.is_synthetic
        ]
        results = [call for call in calls if call.response]
        total = len(turn.items) + len(results) + sum(len(call.inquiries) for call in calls)
        assert total == len(sent_events) + len(marks) + sum(count_withheld(turn.items).values())


def is_mark(entry: StandaloneItem) -> bool:
    return isinstance(entry.placed.element.kind, TurnStart)


def test_roles_are_those_of_messages():
    sent_events = list_sent_events(
        items(ChatRequest("Hi"), make_call("c"), make_result("c"), ChatResponse("message", "Yo"))
    )
    assert [sent_event.role for sent_event in sent_events] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_call_without_a_result_is_sent_as_interrupted():
    (_, call, response) = list_sent_of_turn(ChatRequest("Hi"), make_call("c"))
    assert (response.kind.content, response.is_synthetic, response.placed) == (
        INTERRUPTED,
        True,
        call.placed,
    )


def test_count_withheld_counts_questions_and_other_events():
    counts = count_withheld(
        items(
            ChatRequest("Hi"), make_call("c"), make_inquiry("c.q"), make_answer("c.q"),
            make_result("c"), make_inquiry("loose"), make_result("nobody"), make_answer("none"),
            ConfigDelta({}), Compaction(0, 0), raw({"type": "weather"}),
            raw({"type": "chat_request"}),
        )
    )  # fmt: skip
    assert counts == {
        "question": 2, "stray": 1, "outcome": 1, "configuration": 1, "compaction": 1,
        "unknown": 1, "broken": 1,
    }  # fmt: skip


def test_split_requests_ends_before_the_next_assistant_event():
    sent_events = list_sent_events(
        items(
            ChatRequest("Hi"), ChatResponse("reasoning", "Hm"), make_call("c"), make_call("d"),
            make_result("c"), make_result("d"), ChatResponse("message", "Done"),
        )
    )  # fmt: skip
    pieces = [
        [sent_event.kind.TAG for sent_event in piece] for piece in split_requests(sent_events)
    ]
    assert pieces == [
        ["chat_request"],
        ["chat_response", "tool_call_request", "tool_call_request", *["tool_call_response"] * 2],
        ["chat_response"],
    ]
    assert list(split_requests([])) == []
