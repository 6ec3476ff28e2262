"""What is looked for after the killing would be found."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from tests.chaos import stage
from tests.chaos.record import ConversationJournal

Entry = tuple[str, dict[str, Any]]
OPENING: list[Entry] = [("turn_start", {}), ("chat_request", {})]
CALL, ASKED = ("tool_call_request", {"id": "c"}), ("inquiry_request", {"id": "c.q.1"})
ANSWER, RESULT = ("inquiry_response", {"id": "c.q.1"}), ("tool_call_response", {"id": "c"})
WHOLE = [*OPENING, CALL, ASKED, ANSWER, RESULT]


def faults(entries: list[Entry], first: int = 0, twins: int = 0) -> list[str]:
    conversation = ConversationJournal(1)
    for position, (kind, event) in enumerate(entries, first):
        conversation.add(position, kind, f"name-{max(position, twins)}", event)
    return list(conversation.faults())


def test_complete_turn_has_no_faults():
    assert faults(WHOLE) == []


@pytest.mark.parametrize(
    ("entries", "fault"),
    [
        ([*WHOLE, ANSWER], "question c.q.1 has 1 requests and 2 responses"),
        ([*WHOLE, ASKED], "question c.q.1 has 2 requests and 1 responses"),
        ([*WHOLE, RESULT], "call c has 1 requests and 2 responses"),
        ([*WHOLE, CALL], "call c has 2 requests and 1 responses"),
        ([*OPENING, CALL, ASKED, RESULT], "question c.q.1 has 1 requests and 0 responses"),
        ([*OPENING, CALL, ASKED, ANSWER], "call c has 1 requests and 0 responses"),
        (
            [*OPENING, CALL, ANSWER, ASKED, RESULT],
            "question c.q.1 was answered before it was asked",
        ),
        (
            [OPENING[0], ("chat_request", {"content": "/call a {}\n/call b {}"}), CALL, RESULT],
            "its reply made 2 calls, and 1 are on record",
        ),
        ([*OPENING, *WHOLE], "its turn was opened more than once"),
    ],
)
def test_a_fault_is_named(entries: list[Entry], fault: str):
    assert faults(entries) == [fault]


def test_gaps_and_twins_are_named():
    assert faults(WHOLE, first=1) == ["its positions have gaps"]
    assert faults(WHOLE, twins=1) == ["two events have one name"]


def list_tally_faults(
    content: str,
    run_count: int,
    metadata: dict[str, Any] | None = None,
    tool: str = "tally",
    permission_count: int = 0,
) -> list[str]:
    conversation = ConversationJournal(1)
    conversation.add(0, "tool_call_request", "name-0", {"id": "c", "name": tool})
    result = {"id": "c", "content": b64encode(content.encode()).decode()}
    conversation.add(1, "tool_call_response", "name-1", result | {"metadata": metadata or {}})
    return list(conversation.find_tally_faults({"word-1": run_count}, {"c": permission_count}))


def test_tool_that_ran_as_often_as_recorded_is_no_fault():
    assert list_tally_faults("counted word-1\n", 1) == []
    assert list_tally_faults("counted word-1\n", 2, {"jpweb": {"again": True}}) == []


@pytest.mark.parametrize(
    ("content", "run_count", "fault"),
    [
        ("counted word-1\n", 2, "word-1 ran 2 times; told: False"),
        ("counted word-1\n", 0, "word-1 ran 0 times; told: False"),
        ("Tool call was interrupted.", 1, "call c ended without the tool's result: Tool call"),
    ],
)
def test_tool_that_ran_another_number_of_times_is_a_fault(content: str, run_count: int, fault: str):
    (found_fault,) = list_tally_faults(content, run_count)
    assert found_fault.startswith(fault)


def test_gated_tool_runs_as_often_as_it_was_allowed():
    metadata = {"jpweb": {"again": True}}
    assert list_tally_faults("counted word-1\n", 2, metadata, stage.GATED_TOOL, 2) == []
    assert list_tally_faults("counted word-1\n", 2, metadata, stage.GATED_TOOL, 1) == [
        "word-1 ran 2 times; allowed: 1"
    ]
