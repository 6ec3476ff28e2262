"""Finding in one conversation."""

from __future__ import annotations

from typing import Any

import pytest

from jpweb.store import journal
from jpweb.store.finding import within
from jpweb.store.finding.within import following, preceding, terms
from jpweb.store.models import Conversation, JournalEntry, Workspace
from jpweb.stream.events import ChatResponse
from tests.store import making
from tests.store.finding.conftest import up_to_date

pytestmark = pytest.mark.django_db


@pytest.fixture
def talk(home: Workspace) -> Conversation:
    """Return a conversation of ten messages, of which every third is of an apple."""
    made: Conversation = making.conversation(home, "an apple in the title")
    say(made, *(f"{'An Apple-tree' if n % 3 == 0 else 'a pear'} {n}" for n in range(10)))
    say(making.conversation(home), "an apple elsewhere")
    up_to_date()
    return made


def say(talk: Conversation, *texts: str) -> None:
    journal.append(talk.pk, [making.event(ChatResponse("message", text)) for text in texts])


def positions(talk: Conversation, words: str, **more: Any) -> list[int]:
    return [hit.position for hit in within.within(talk.pk, words, **more).hits]


@pytest.mark.parametrize(
    ("words", "looked"),
    [
        ("", ()),
        ("one  two", ("one", "two")),
        ('"one two" three*', ("one two", "three")),
        ("one -two", ("one",)),
        ("-", ("-",)),
        ("one one", ("one",)),
        ('"open', ("open",)),
        ("\x00", ("\ufffd",)),
        ('""', ()),
    ],
)
def test_words_and_phrases_are_looked_for(words: str, looked: tuple[str, ...]):
    assert terms(words) == looked


def test_little_of_much_is_looked_for():
    assert len(terms(" ".join(f"w{n}" for n in range(99)))) == within.TERMS
    assert len(terms("x" * 999)[0]) == within.LONGEST


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("apple", [0, 3, 6, 9]),
        ("PPLE-T", [0, 3, 6, 9]),
        ("apple 9", [9]),
        ('"tree 6"', [6]),
        ('"6 tree"', []),
        ("%", []),
        ("_", []),
        ("\\", []),
        ("title", []),
        ("elsewhere", []),
        ("", []),
    ],
)
def test_every_event_that_holds_all_of_it_is_found(
    talk: Conversation, words: str, found: list[int]
):
    assert positions(talk, words) == found


def test_hits_are_counted_and_come_in_parts(talk: Conversation):
    first = within.within(talk.pk, "apple", limit=3)
    assert (first.total, first.more, first.behind) == (4, False, 0)
    assert [hit.number for hit in first.hits] == [1, 2, 3]
    (last,) = within.within(talk.pk, "apple", after=6, limit=3).hits
    assert (last.position, last.number, last.facet, last.head) == (9, 4, "message", 9)
    assert last.anchor == JournalEntry.objects.get(conversation=talk, position=9).anchor
    assert [piece.text for piece in last.snippet if piece.lit] == ["Apple"]


def test_many_are_counted_up_to_a_bound(talk: Conversation, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(within, "MOST", 2)
    found = within.within(talk.pk, "apple")
    assert (len(found.hits), found.total, found.more) == (2, 2, True)
    beyond = following(talk.pk, "apple", 4)
    assert beyond is not None
    assert (beyond.position, beyond.number) == (6, 0)


def test_the_next_and_the_previous_are_found_from_anywhere(talk: Conversation):
    def step(found: within.Hit | None) -> tuple[int, int] | None:
        return (found.position, found.number) if found else None

    assert step(following(talk.pk, "apple", -1)) == (0, 1)
    assert step(following(talk.pk, "apple", 4)) == (6, 3)
    assert step(following(talk.pk, "apple", 9)) is None
    assert step(preceding(talk.pk, "apple", 9)) == (6, 3)
    assert step(preceding(talk.pk, "apple", 100)) == (9, 4)
    assert step(preceding(talk.pk, "apple", 0)) is None
    assert step(following(talk.pk, "", 0)) is None


def test_what_is_yet_to_be_indexed_is_told(talk: Conversation):
    say(talk, "one more apple", "and another")
    found = within.within(talk.pk, "apple")
    assert (found.total, found.behind) == (4, 2)
    Conversation.objects.filter(pk=talk.pk).update(revision=5)
    assert within.within(talk.pk, "apple").behind == 12
    up_to_date()
    assert within.within(talk.pk, "apple").behind == 0
    assert within.within(10**9, "apple").behind == 0


@pytest.mark.parametrize("words", ["größe", "GRÖßE", "Größe", "die größe"])
def test_letters_of_any_script_count_the_same_in_either_case(home: Workspace, words: str):
    talk = making.conversation(home)
    say(talk, "Die Größe", "klein")
    up_to_date()
    assert positions(talk, words) == [0]


def test_a_hit_in_a_long_event_is_one(home: Workspace):
    talk = making.conversation(home)
    say(talk, "needle " * 20_000)
    up_to_date()
    found = within.within(talk.pk, "needle")
    assert (found.total, len(found.hits)) == (1, 1)


def test_the_queries_do_not_grow(talk: Conversation, django_assert_num_queries: Any):
    with django_assert_num_queries(3):
        within.within(talk.pk, "apple")
    with django_assert_num_queries(3):
        following(talk.pk, "apple", 0)
