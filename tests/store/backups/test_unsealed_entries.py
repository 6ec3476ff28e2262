"""Backups with entries of the ledger that are not sealed yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jpweb.store.backups import restoration, snapshot
from jpweb.store.choices import Act
from jpweb.store.ledger import sealing, verification
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import LedgerEntry

pytestmark = pytest.mark.django_db(transaction=True)


def ignore_progress(_done: int, _total: int) -> None:
    pass


def record_and_back_up(folder: Path, **columns: Any) -> Path:
    """Back up a ledger with an unsealed entry, which has these columns."""
    record_act(Act.ROLE_CHANGED, OPERATOR, Place())
    LedgerEntry.objects.filter(sequence=None).update(act=Act.ROLE_CHANGED, **columns)
    file = folder / "jpweb.backup"
    snapshot.write_backup(file, ignore_progress)
    return file


def restore_and_seal(file: Path) -> tuple[int, int]:
    """Return how many entries are not sealed then, and how many problems there are."""
    restoration.restore_backup(file, ignore_progress, replace=True)
    sealing.seal_entries()
    problems = list(verification.find_problems())
    return LedgerEntry.objects.filter(sequence=None).count(), len(problems)


@pytest.mark.parametrize("has_head", [True, False], ids=["sealed ledger", "nothing sealed"])
def test_backup_of_another_key_brings_its_unsealed_entries(
    tmp_path: Path, settings: Any, has_head: bool
):
    if has_head:
        record_act(Act.ROLE_CHANGED, OPERATOR, Place())
        sealing.seal_entries()
    file = record_and_back_up(tmp_path)
    settings.SECRET_KEY = "another installation's"
    assert restore_and_seal(file) == (0, 0)


def test_restoring_a_forged_entry_does_not_make_it_authentic(tmp_path: Path):
    record_act(Act.ROLE_CHANGED, OPERATOR, Place())
    sealing.seal_entries()
    assert restore_and_seal(record_and_back_up(tmp_path, mac="0" * 64)) == (1, 1)
