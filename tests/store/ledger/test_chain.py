"""The chain of the ledger: what is done to it in the database is found and named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from jpweb.evidence import ledger_verifier
from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.ledger import retention, sealing, signing, verification
from jpweb.store.ledger.entries import OPERATOR, Actor, Place, record_act
from jpweb.store.models import LedgerEntry, LedgerHead

pytestmark = pytest.mark.django_db

ADA = Actor("person", "Ada", 7)
ENTRY_COUNT = 6


def record_reads(count: int = ENTRY_COUNT) -> None:
    for number in range(count):
        record_act(Act.READ, ADA, Place(1, number), view="conversation")


@pytest.fixture
def chain() -> list[LedgerEntry]:
    """Return the sealed entries of a small ledger."""
    record_reads()
    sealing.seal_entries()
    return list(LedgerEntry.objects.order_by("sequence"))


def list_problems(**options: Any) -> list[str]:
    return [str(problem) for problem in verification.find_problems(**options)]


def test_sealing_gives_entries_consecutive_sequences(chain: list[LedgerEntry]):
    assert [entry.sequence for entry in chain] == [1, 2, 3, 4, 5, 6]
    assert chain[0].chain_hash == ledger_verifier.hash_link(
        ledger_verifier.GENESIS_HASH, chain[0].text_hash
    )
    assert list_problems() == []


def test_sealing_continues_behind_the_signed_head(chain: list[LedgerEntry]):
    record_reads(2)
    assert sealing.seal_entries() == 2
    assert sealing.get_head().sequence == ENTRY_COUNT + 2
    assert list_problems() == []


def test_sealing_more_entries_than_a_batch_takes_several(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sealing, "BATCH_ENTRIES", 4)
    record_reads(9)
    assert sealing.seal_entries() == 9
    assert list_problems() == []


def test_entry_of_a_failed_act_is_rolled_back_with_it():
    with transaction.atomic():
        record_act(Act.READ, ADA, Place())
        transaction.set_rollback(True)
    assert not LedgerEntry.objects.exists()


def flip_byte() -> None:
    entry = LedgerEntry.objects.get(sequence=3)
    LedgerEntry.objects.filter(pk=entry.pk).update(text=entry.text.replace("Ada", "Eve"))


def change_text_and_hash() -> None:
    flip_byte()
    entry = LedgerEntry.objects.get(sequence=3)
    text_hash = ledger_verifier.hash_text(entry.text)
    LedgerEntry.objects.filter(pk=entry.pk).update(text_hash=text_hash)


def rewrite_from_there() -> None:
    change_text_and_hash()
    previous_hash = LedgerEntry.objects.get(sequence=2).chain_hash
    for entry in LedgerEntry.objects.filter(sequence__gte=3).order_by("sequence"):
        previous_hash = ledger_verifier.hash_link(previous_hash, entry.text_hash)
        LedgerEntry.objects.filter(pk=entry.pk).update(chain_hash=previous_hash)


def delete_row() -> None:
    LedgerEntry.objects.filter(sequence=3).delete()


def swap_rows() -> None:
    third, fourth = LedgerEntry.objects.filter(sequence__in=(3, 4)).order_by("sequence")
    LedgerEntry.objects.filter(pk=third.pk).update(sequence=99)
    LedgerEntry.objects.filter(pk=fourth.pk).update(sequence=3)
    LedgerEntry.objects.filter(pk=third.pk).update(sequence=4)


def cut_tail() -> None:
    LedgerEntry.objects.filter(sequence__gt=4).delete()


def insert_row() -> None:
    entry = LedgerEntry.objects.get(sequence=6)
    entry.pk, entry.sequence = None, 7
    entry.chain_hash = ledger_verifier.hash_link(entry.chain_hash, entry.text_hash)
    entry.save(force_insert=True)


def insert_between() -> None:
    for sequence in (6, 5, 4):
        LedgerEntry.objects.filter(sequence=sequence).update(sequence=sequence + 1)
    entry = LedgerEntry.objects.get(sequence=3)
    entry.pk, entry.sequence = None, 4
    entry.save(force_insert=True)


def change_columns() -> None:
    LedgerEntry.objects.filter(sequence=3).update(person_id=8)


def change_time() -> None:
    LedgerEntry.objects.filter(sequence=3).update(at=clock.now())


def change_act_to_purge() -> None:
    LedgerEntry.objects.filter(sequence=3).update(act=Act.PURGED)
    empty_text(4)


def change_act_to_answer() -> None:
    LedgerEntry.objects.filter(sequence=3).update(act=Act.INQUIRY_ANSWERED)


def empty_text(sequence: int = 3) -> None:
    LedgerEntry.objects.filter(sequence=sequence).update(text="")


def change_head() -> None:
    LedgerHead.objects.update(sequence=4, chain_hash=LedgerEntry.objects.get(sequence=4).chain_hash)
    cut_tail()


def delete_head() -> None:
    LedgerHead.objects.all().delete()


TAMPERINGS: dict[Callable[[], None], list[str]] = {
    flip_byte: ["entry 3: its text was changed"],
    change_text_and_hash: ["entry 3: it does not follow the entry before it"],
    rewrite_from_there: ["entry 6: the chain up to here is not the one that was signed"],
    delete_row: [
        "entry 3: entry 3 is missing",
        "entry 4: it does not follow the entry before it",
    ],
    swap_rows: [
        "entry 3: it does not follow the entry before it",
        "entry 4: it does not follow the entry before it",
        "entry 5: it does not follow the entry before it",
    ],
    cut_tail: ["entry 5: entries 5 to 6 are missing"],
    insert_row: [
        "entry 7: it is behind the signed head: it was inserted",
        "entry 7: it is a copy of entry 6: it was inserted",
    ],
    insert_between: [
        "entry 4: it does not follow the entry before it",
        "entry 7: it is behind the signed head: it was inserted",
        "entry 4: it is a copy of entry 3: it was inserted",
    ],
    change_columns: ["entry 3: the columns that pages filter by differ from its text"],
    change_time: ["entry 3: the columns that pages filter by differ from its text"],
    change_act_to_purge: [
        "entry 3: the columns that pages filter by differ from its text",
        "entry 4: its text is gone, and no purge is on record",
    ],
    change_act_to_answer: ["entry 3: the columns that pages filter by differ from its text"],
    empty_text: ["entry 3: its text is gone, and no purge is on record"],
    change_head: ["head: the signature does not fit: the head was changed after it was signed"],
    delete_head: ["head: it is missing, and there are entries up to 6"],
}


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda tamper: tamper.__name__)
def test_verification_names_the_entry_that_was_tampered_with(tamper: Callable[[], None]):
    tamper()
    assert list_problems() == TAMPERINGS[tamper]


@pytest.mark.usefixtures("chain")
def test_cut_tail_under_an_older_head_is_found_by_a_kept_head():
    record_reads(2)
    old_head = LedgerHead.objects.values().get()
    sealing.seal_entries()
    kept_head = signing.make_statement(sealing.get_head())
    LedgerEntry.objects.filter(sequence__gt=ENTRY_COUNT).delete()
    LedgerHead.objects.update(**old_head)
    assert list_problems() == []
    assert list_problems(kept_heads=[kept_head]) == [
        "entry 8: it is missing, and a head that was kept names it"
    ]


@pytest.mark.usefixtures("chain")
def test_whole_ledger_that_was_made_again_contradicts_a_kept_head():
    kept_head = signing.make_statement(sealing.get_head())
    LedgerEntry.objects.all().delete()
    LedgerHead.objects.all().delete()
    record_reads()
    sealing.seal_entries()
    assert list_problems() == []
    assert list_problems(kept_heads=[kept_head]) == [
        "entry 6: the chain up to here is not the one of a head that was kept"
    ]


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize("order", [1, -1], ids=["older first", "newer first"])
def test_verification_compares_both_kept_heads_of_one_sequence(order: int):
    old_statement = signing.make_statement(sealing.get_head())
    LedgerEntry.objects.all().delete()
    LedgerHead.objects.all().delete()
    record_reads()
    sealing.seal_entries()
    new_statement = signing.make_statement(sealing.get_head())
    assert list_problems(kept_heads=[old_statement, new_statement][::order]) == [
        "entry 6: the chain up to here is not the one of a head that was kept"
    ]


@pytest.mark.usefixtures("chain")
def test_purged_entries_are_tombstones_that_verify():
    record_act(Act.ROLE_CHANGED, ADA, Place(1), role="owner")
    sealing.seal_entries()
    assert retention.purge_all(clock.now() + timedelta(seconds=1), OPERATOR) == ENTRY_COUNT
    sealing.seal_entries()
    assert list_problems() == []
    tombstone = LedgerEntry.objects.get(sequence=3)
    assert (tombstone.text, tombstone.person_id, tombstone.conversation_id) == ("", None, None)
    assert LedgerEntry.objects.get(act=Act.ROLE_CHANGED).text
    purge = json.loads(LedgerEntry.objects.get(act=Act.PURGED).text)
    assert purge["details"]["sequences"] == "1-6"


@pytest.mark.usefixtures("chain")
def test_purge_covers_only_the_entries_that_it_lists():
    record_act(Act.ROLE_CHANGED, ADA, Place(1), role="owner")
    sealing.seal_entries()
    retention.purge_all(clock.now() + timedelta(seconds=1), OPERATOR)
    sealing.seal_entries()
    LedgerEntry.objects.filter(act=Act.ROLE_CHANGED).update(text="")
    assert list_problems() == ["entry 7: its text is gone, and no purge is on record"]


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "its text is gone, and no purge is on record"), ("{", "its text was changed")],
    ids=["emptied", "changed"],
)
def test_verification_names_a_purge_with_missing_or_changed_text(text: str, problem: str):
    retention.purge_all(clock.now() + timedelta(seconds=1), OPERATOR)
    sealing.seal_entries()
    LedgerEntry.objects.filter(act=Act.PURGED).update(text=text)
    unlisted = "its text is gone, and no purge is on record"
    assert list_problems() == [
        *(f"entry {sequence}: {unlisted}" for sequence in range(1, ENTRY_COUNT + 1)),
        f"entry {ENTRY_COUNT + 1}: {problem}",
    ]


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize(
    "columns",
    [{"act": Act.READ}, {"act": Act.READ, "text": '{"act":"read","at":"2020-01-01T00:00:00Z"}'}],
    ids=["column", "text"],
)
def test_purge_keeps_a_decision_that_was_made_a_read(columns: dict[str, Any]):
    record_act(Act.ROLE_CHANGED, ADA, Place(1), role="owner")
    sealing.seal_entries()
    LedgerEntry.objects.filter(act=Act.ROLE_CHANGED).update(**columns)
    text = LedgerEntry.objects.get(sequence=ENTRY_COUNT + 1).text
    assert retention.purge_all(clock.now() + timedelta(seconds=1), OPERATOR) == ENTRY_COUNT
    sealing.seal_entries()
    assert LedgerEntry.objects.get(sequence=ENTRY_COUNT + 1).text == text
    problem = "columns that pages filter by differ from its text"
    if "text" in columns:
        problem = "its text was changed"
    (line,) = list_problems()
    assert line.startswith(f"entry {ENTRY_COUNT + 1}: ")
    assert problem in line


@pytest.mark.usefixtures("chain")
def test_purge_of_an_exchanged_text_is_named():
    record_act(Act.ROLE_CHANGED, ADA, Place(1), role="owner")
    sealing.seal_entries()
    decision = LedgerEntry.objects.filter(sequence=ENTRY_COUNT + 1)
    text_hash, text = decision.get().text_hash, '{"act":"read","at":"2020-01-01T00:00:00Z"}'
    exchanged_hash = ledger_verifier.hash_text(text)
    decision.update(text=text, text_hash=exchanged_hash, act=Act.READ)
    assert retention.purge_all(clock.now() + timedelta(seconds=1), OPERATOR) == ENTRY_COUNT + 1
    sealing.seal_entries()
    decision.update(text_hash=text_hash)
    assert list_problems() == [
        f"entry {ENTRY_COUNT + 2}: it cleared other texts than those that the chain had"
    ]


@pytest.mark.usefixtures("chain")
def test_purge_of_an_earlier_version_names_no_hash(monkeypatch: pytest.MonkeyPatch):
    def record_earlier(*arguments: Any, entries_hash: str, **details: Any) -> int:
        assert entries_hash
        return record_act(*arguments, **details)

    monkeypatch.setattr(retention, "record_act", record_earlier)
    assert retention.purge_all(clock.now() + timedelta(seconds=1), OPERATOR) == ENTRY_COUNT
    sealing.seal_entries()
    assert list_problems() == []


@pytest.mark.usefixtures("chain")
def test_purge_keeps_a_read_whose_time_was_changed():
    LedgerEntry.objects.filter(sequence=3).update(at="2020-01-01T00:00:00Z")
    assert retention.purge_all(clock.now() - timedelta(days=1), OPERATOR) == 0
    assert LedgerEntry.objects.get(sequence=3).text


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize("text", ["[]", "{}", "{", '{"act":"read","at":"2020-01-01"}', "[" * 10**5])
def test_purge_continues_after_entries_that_it_keeps(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setattr(retention, "MAX_PURGED_ENTRIES", 2)
    text_hash = ledger_verifier.hash_text(text)
    LedgerEntry.objects.filter(sequence__lte=3).update(text=text, text_hash=text_hash)
    assert retention.purge_all(clock.now() + timedelta(seconds=1), OPERATOR) == ENTRY_COUNT - 3
    assert set(LedgerEntry.objects.filter(text="").values_list("sequence", flat=True)) == {4, 5, 6}


def purge_oldest() -> None:
    retention.purge_entries(clock.now() + timedelta(seconds=1), OPERATOR)


def seal_read() -> None:
    record_reads(1)
    sealing.seal_entries()


ACTS_OF_A_SERVER = [seal_read, purge_oldest]


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize("act", ACTS_OF_A_SERVER, ids=lambda act: act.__name__)
def test_act_while_kept_heads_are_read_is_no_problem(act: Callable[[], None]):
    def act_and_keep_head() -> Iterator[dict[str, Any]]:
        act()
        sealing.seal_entries()
        yield signing.make_statement(sealing.get_head())

    assert list_problems(kept_heads=act_and_keep_head()) == []


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize("act", ACTS_OF_A_SERVER, ids=lambda act: act.__name__)
def test_acts_while_the_chain_is_read_are_no_problem(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]
):
    monkeypatch.setattr(verification, "_BATCH_ENTRIES", 2)
    monkeypatch.setattr(retention, "MAX_PURGED_ENTRIES", 3)
    done: list[int] = []

    def act_in_between(entries: int, _total: int) -> None:
        done.append(entries)
        act()

    purge_oldest()
    assert list_problems(progress=act_in_between) == []
    assert done == [2, 4, 6]


@pytest.mark.usefixtures("chain")
def test_inserted_entry_is_found_also_while_acts_are_sealed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(verification, "_BATCH_ENTRIES", 2)
    insert_row()
    LedgerEntry.objects.filter(sequence=7).update(sequence=99)
    problems = list_problems(progress=lambda *_: seal_read())
    assert "entry 7: it is behind the signed head: it was inserted" in problems


@pytest.mark.usefixtures("chain")
def test_kept_head_without_a_signature_is_one_problem():
    assert list_problems(kept_heads=[{"head": {"sequence": 1}}]) == [
        "head: it has no head, public_key and signature in hexadecimal digits"
    ]
