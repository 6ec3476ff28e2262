"""Finding in one conversation."""

from __future__ import annotations

from typing import Any

import pytest

from jpweb.store import journal
from jpweb.store.models import Conversation, JournalEntry, Workspace
from jpweb.store.search import find_in_conversation
from jpweb.store.search.find_in_conversation import find_next, find_previous, parse_terms
from jpweb.stream.events import ChatResponse
from tests.store import making
from tests.store.background_passes import index_all

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation(workspace: Workspace) -> Conversation:
    """Return a conversation of ten messages, of which every third is of an apple."""
    conversation: Conversation = making.conversation(workspace, "an apple in the title")
    say(conversation, *(f"{'An Apple-tree' if n % 3 == 0 else 'a pear'} {n}" for n in range(10)))
    say(making.conversation(workspace), "an apple elsewhere")
    index_all()
    return conversation


def say(conversation: Conversation, *texts: str) -> None:
    journal.append_events(
        conversation.pk, [making.event(ChatResponse("message", text)) for text in texts]
    )


def positions(conversation: Conversation, words: str, **options: Any) -> list[int]:
    return [
        hit.position
        for hit in find_in_conversation.find_matches(conversation.pk, words, **options).matches
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", ()),
        ("one  two", ("one", "two")),
        ('"one two" three*', ("one two", "three")),
        ("one -two", ("one",)),
        ('one -"two three"', ("one",)),
        ("-", ("-",)),
        ("one one", ("one",)),
        ('"open', ("open",)),
        ("\x00", ("\ufffd",)),
        ('""', ()),
    ],
)
def test_words_and_phrases_are_looked_for(words: str, expected: tuple[str, ...]):
    assert parse_terms(words) == expected


def test_parse_terms_limits_terms_and_characters():
    assert len(parse_terms(" ".join(f"w{n}" for n in range(99)))) == find_in_conversation.MAX_TERMS
    assert len(parse_terms("x" * 999)[0]) == find_in_conversation.MAX_QUERY_CHARS


#: The positions of the events that have all words of a query.
POSITIONS_BY_WORDS: dict[str, list[int]] = {
    "apple": [0, 3, 6, 9],
    "PPLE-T": [0, 3, 6, 9],
    "apple 9": [9],
    '"tree 6"': [6],
    '"6 tree"': [],
    "%": [],
    "_": [],
    "\\": [],
    "title": [],
    "elsewhere": [],
    "": [],
}


def test_find_matches_returns_events_with_all_words(conversation: Conversation):
    found_positions = {words: positions(conversation, words) for words in POSITIONS_BY_WORDS}
    assert found_positions == POSITIONS_BY_WORDS


def test_find_matches_counts_hits_and_returns_pages(conversation: Conversation):
    first = find_in_conversation.find_matches(conversation.pk, "apple", limit=3)
    assert (first.total, first.has_more, first.unindexed_events) == (4, False, 0)
    assert [hit.number for hit in first.matches] == [1, 2, 3]
    (last,) = find_in_conversation.find_matches(conversation.pk, "apple", after=6, limit=3).matches
    assert (last.position, last.number, last.category, last.item_position) == (9, 4, "message", 9)
    assert last.anchor == JournalEntry.objects.get(conversation=conversation, position=9).anchor
    assert [piece.text for piece in last.snippet if piece.highlighted] == ["Apple"]


def test_find_matches_counts_up_to_its_limit(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(find_in_conversation, "COUNT_LIMIT", 2)
    result = find_in_conversation.find_matches(conversation.pk, "apple")
    assert (len(result.matches), result.total, result.has_more) == (2, 2, True)
    beyond = find_next(conversation.pk, "apple", 4)
    assert beyond is not None
    assert (beyond.position, beyond.number) == (6, 0)


def test_the_next_and_the_previous_are_found_from_anywhere(conversation: Conversation):
    def step(match: find_in_conversation.EventMatch | None) -> tuple[int, int] | None:
        return (match.position, match.number) if match else None

    assert step(find_next(conversation.pk, "apple", -1)) == (0, 1)
    assert step(find_next(conversation.pk, "apple", 4)) == (6, 3)
    assert step(find_next(conversation.pk, "apple", 9)) is None
    assert step(find_previous(conversation.pk, "apple", 9)) == (6, 3)
    assert step(find_previous(conversation.pk, "apple", 100)) == (9, 4)
    assert step(find_previous(conversation.pk, "apple", 0)) is None
    assert step(find_next(conversation.pk, "", 0)) is None


def test_find_matches_counts_unindexed_events(conversation: Conversation):
    say(conversation, "one more apple", "and another")
    result = find_in_conversation.find_matches(conversation.pk, "apple")
    assert (result.total, result.unindexed_events) == (4, 2)
    Conversation.objects.filter(pk=conversation.pk).update(revision=5)
    assert find_in_conversation.find_matches(conversation.pk, "apple").unindexed_events == 12
    index_all()
    assert find_in_conversation.find_matches(conversation.pk, "apple").unindexed_events == 0
    assert find_in_conversation.find_matches(10**9, "apple").unindexed_events == 0


@pytest.mark.parametrize("words", ["größe", "GRÖßE", "Größe", "die größe"])
def test_letters_of_any_script_count_the_same_in_either_case(workspace: Workspace, words: str):
    conversation = making.conversation(workspace)
    say(conversation, "Die Größe", "klein")
    index_all()
    assert positions(conversation, words) == [0]


def test_a_hit_in_a_long_event_is_one(workspace: Workspace):
    conversation = making.conversation(workspace)
    say(conversation, "needle " * 20_000)
    index_all()
    result = find_in_conversation.find_matches(conversation.pk, "needle")
    assert (result.total, len(result.matches)) == (1, 1)


def test_the_queries_do_not_grow(conversation: Conversation, django_assert_num_queries: Any):
    with django_assert_num_queries(3):
        find_in_conversation.find_matches(conversation.pk, "apple")
    with django_assert_num_queries(3):
        find_next(conversation.pk, "apple", 0)


def test_words_far_apart_in_a_long_event_are_found(workspace: Workspace):
    conversation = making.conversation(workspace)
    say(conversation, "pear " + "filler " * 20_000 + "plum", "plum", "pear")
    index_all()
    assert positions(conversation, "pear plum") == positions(conversation, "plum pear") == [0]
