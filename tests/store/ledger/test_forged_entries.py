"""Rows that were inserted into the ledger's table without the installation's key."""

from __future__ import annotations

import importlib
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store.choices import Act
from jpweb.store.ledger import entries, entry_macs, sealing, verification
from jpweb.store.ledger.entries import OPERATOR, SYSTEM, NewAct, Place, record_act
from jpweb.store.models import LedgerEntry

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def empty_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process have logged no problem."""
    monkeypatch.setattr(sealing, "_logged_problems", set())


def record_roles(count: int) -> None:
    for number in range(count):
        record_act(Act.ROLE_CHANGED, OPERATOR, Place(number))


def forge_entry(act: Act = Act.ROLE_CHANGED, mac: str | None = "", **details: Any) -> int:
    """Insert an entry as write access to the database allows; return its key."""
    values = entries._make_values(NewAct(act, SYSTEM, Place(), details))
    return LedgerEntry.objects.create(**values | {"mac": mac}).pk


def list_problems() -> list[str]:
    return [str(problem) for problem in verification.find_problems()]


def describe_forgery(key: int) -> str:
    return (
        f"row {key}, not in the chain: it was forged, or recorded with another secret key: "
        "its MAC is invalid"
    )


@pytest.mark.parametrize("mac", [None, "", "0" * 64, "ü"], ids=["null", "empty", "wrong", "odd"])
def test_forged_entry_is_not_sealed_and_is_named(mac: str | None):
    record_roles(2)
    key = forge_entry(mac=mac)
    record_roles(1)
    assert sealing.seal_entries() == 3
    assert sealing.seal_entries() == 0
    assert LedgerEntry.objects.get(pk=key).sequence is None
    assert list_problems() == [describe_forgery(key)]


def test_forged_purge_covers_no_emptied_entry():
    record_roles(3)
    sealing.seal_entries()
    key = forge_entry(Act.PURGED, before="2026-01-01T00:00:00+00:00", sequences="2")
    LedgerEntry.objects.filter(sequence=2).update(text="")
    sealing.seal_entries()
    assert list_problems() == [
        "entry 2: its text is gone, and no purge is on record",
        describe_forgery(key),
    ]


def test_seal_entries_seals_entries_after_more_forged_than_a_batch(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(sealing, "BATCH_ENTRIES", 2)
    monkeypatch.setattr(entry_macs, "_BATCH_ROWS", 2)
    record_roles(1)
    keys = [forge_entry() for _ in range(5)]
    record_roles(4)
    assert sealing.seal_entries() == 5
    assert list_problems() == [describe_forgery(key) for key in keys]


@pytest.mark.parametrize("first_key", [None, 1])
def test_batch_of_unsealed_entries_has_one_bound(
    monkeypatch: pytest.MonkeyPatch, first_key: int | None
):
    monkeypatch.setattr(entry_macs, "_BATCH_ROWS", 2)
    record_roles(7)
    with CaptureQueriesContext(connection) as captured:
        assert len(list(entry_macs.iterate_unsealed(first_key))) == 7
    bounds = [query["sql"].count('"id" >') for query in captured]
    assert bounds == [0 if first_key is None else 1, 1, 1, 1]


def test_forged_entry_is_logged_once(caplog: pytest.LogCaptureFixture):
    key = forge_entry()
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            sealing.seal_entries()
    (message,) = caplog.messages
    assert message.startswith(f"The ledger's row {key} has no valid MAC")


def test_entry_taken_out_of_the_chain_is_not_sealed_again():
    record_roles(3)
    sealing.seal_entries()
    entry = LedgerEntry.objects.get(sequence=3)
    LedgerEntry.objects.filter(pk=entry.pk).update(sequence=None, chain_hash="")
    assert sealing.seal_entries() == 0
    assert list_problems() == ["entry 3: entry 3 is missing", describe_forgery(entry.pk)]


def test_copy_of_an_unsealed_entry_is_named():
    record_roles(2)
    entry = LedgerEntry.objects.latest("pk")
    entry.pk = None
    entry.save(force_insert=True)
    sealing.seal_entries()
    assert list_problems() == ["entry 3: it is a copy of entry 2: it was inserted"]


def test_recorded_entry_that_is_not_sealed_yet_is_no_problem():
    record_roles(2)
    assert list_problems() == []
    assert entry_macs.count_forged() == 0


def test_migration_gives_unsealed_entries_their_macs():
    record_roles(1)
    sealing.seal_entries()
    record_roles(2)
    LedgerEntry.objects.update(mac=None)
    migration = importlib.import_module("jpweb.store.migrations.0040_macs_of_entries")
    migration.add_macs(apps, SimpleNamespace(connection=connection))
    assert LedgerEntry.objects.filter(mac=None).count() == 1
    assert sealing.seal_entries() == 2
    assert list_problems() == []
