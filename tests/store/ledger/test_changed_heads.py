"""Heads that were written into the database, to have forged entries signed by the next sealing."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.test import override_settings

from jpweb.evidence import ledger_verifier
from jpweb.store.choices import Act
from jpweb.store.ledger import sealing, signing, tree, verification
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import LedgerEntry, LedgerHead

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sealed_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a ledger of two sealed entries, in a process that has logged no problem."""
    monkeypatch.setattr(sealing, "_logged_problems", set())
    record_role()
    record_role()
    sealing.seal_entries()


def record_role() -> None:
    record_act(Act.ROLE_CHANGED, OPERATOR, Place(1))


def append_forged_entry() -> LedgerHead:
    """Insert a third entry with its place in the chain, and return the head that covers it."""
    record_role()
    entry, head = LedgerEntry.objects.get(sequence=None), sealing.get_head()
    tree.append_entries(head, [entry.text_hash])
    head.chain_hash = ledger_verifier.hash_link(head.chain_hash, entry.text_hash)
    head.sequence = 3
    LedgerEntry.objects.filter(pk=entry.pk).update(sequence=3, chain_hash=head.chain_hash, mac=None)
    return head


def list_problems() -> list[str]:
    return [str(problem) for problem in verification.find_problems()]


@pytest.mark.parametrize(
    "columns",
    [{}, {"signature": "é"}, {"public_key": "00"}, {"signed_at": None, "public_key": ""}],
    ids=["old signature", "no signature", "no key", "unsigned"],
)
def test_seal_entries_seals_nothing_after_a_changed_head(
    columns: dict[str, Any], caplog: pytest.LogCaptureFixture
):
    append_forged_entry().save()
    LedgerHead.objects.update(**columns)
    record_role()
    with caplog.at_level(logging.ERROR):
        assert [sealing.seal_entries() for _ in range(3)] == [0, 0, 0]
    assert len(caplog.messages) == 1
    assert sealing.get_head().sequence == 3
    assert any(problem.startswith("head: ") for problem in list_problems())


def test_head_of_another_key_is_on_record_before_the_next_entry():
    head = append_forged_entry()
    with override_settings(SECRET_KEY="of somebody else"):
        head.public_key, head.signature = signing.sign_head(head)
    head.save()
    assert verification.list_key_changes() == []
    record_role()
    assert sealing.seal_entries() == 1
    assert list(LedgerEntry.objects.order_by("sequence").values_list("act", flat=True)) == [
        *[Act.ROLE_CHANGED] * 3,
        Act.LEDGER_KEY_CHANGED,
        Act.ROLE_CHANGED,
    ]
    assert (verification.list_key_changes(), list_problems()) == ([4], [])
    assert head.public_key in LedgerEntry.objects.get(sequence=4).text
    record_role()
    assert sealing.seal_entries() == 1
    assert verification.list_key_changes() == [4]
