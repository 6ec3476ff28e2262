"""Turns: where they begin, which one a position is in, and what of them the outline lists."""

from __future__ import annotations

from typing import Any

import pytest

from jpweb.store.models import Conversation
from jpweb.store.transcript import turns
from jpweb.stream.events import ChatRequest, TurnStart
from tests.builders import make_answer, make_call, make_inquiry, make_result
from tests.store import making
from tests.store.transcript.test_windows import mirror_conversation

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation() -> Conversation:
    """Three turns: of two calls, of a question alone, of a person's words alone."""
    return mirror_conversation(
        *(
            TurnStart(),
            ChatRequest("Hi"),
            make_call("a"),
            make_call("b"),
            make_inquiry("a.q"),
            make_result("b"),
        ),
        *(TurnStart(), make_inquiry("lone"), make_inquiry("over"), make_answer("over")),
        *(TurnStart(), ChatRequest("Bye")),
    )


def test_a_position_is_in_the_turn_that_began_last(conversation: Conversation):
    turn_list: list[Any] = [
        turns.find_turn(conversation.pk, place) for place in (0, 5, 6, 9, 10, 11, 10**6)
    ]
    assert [turn.number for turn in turn_list] == [0, 0, 1, 1, 2, 2, 2]
    assert turns.find_turn(conversation.pk, -1) is None
    assert turns.find_turn(making.conversation(conversation.workspace).pk, 0) is None


def test_get_starts_returns_starts_of_existing_turns(conversation: Conversation):
    assert turns.get_starts(conversation.pk, 0, 2, 3) == {0: 0, 2: 10}
    assert turns.get_starts(conversation.pk) == {}
    assert [turns.get_start(conversation.pk, number) for number in (1, 3)] == [6, None]


def test_the_calls_and_stray_questions_of_a_turn_are_listed(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
):
    assert [
        turns.list_item_positions(conversation.pk, number) for number in (0, 1, 2, 3, 2**31 - 1)
    ] == [
        ([2, 3], 0),
        ([7, 8], 0),
        ([], 0),
        ([], 0),
        ([], 0),
    ]
    monkeypatch.setattr(turns, "MAX_LISTED_ITEMS", 1)
    assert turns.list_item_positions(conversation.pk, 0) == ([2], 1)


def test_list_open_item_positions_returns_open_questions_of_a_turn(conversation: Conversation):
    assert [turns.list_open_item_positions(conversation.pk, start) for start in (0, 6, 10)] == [
        [],
        [2],
        [7],
    ]
