"""Restoring into a database that lacks migrations."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection, transaction

from jpweb.store.backups import restoration, schemas, snapshot, tables
from jpweb.store.choices import Act
from jpweb.store.errors import DatabaseNotEmpty
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import LedgerEntry

pytestmark = pytest.mark.django_db(transaction=True)


def ignore_progress(_done: int, _total: int) -> None:
    pass


def test_database_without_rows_is_empty_also_if_it_lacks_migrations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    record_act(Act.ROLE_CHANGED, OPERATOR, Place())
    path = tmp_path / "jpweb.backup"
    snapshot.write_backup(path, ignore_progress)
    with transaction.atomic():
        tables.delete_rows(connection)
    migrations = schemas.list_migrations()
    monkeypatch.setattr(schemas, "list_migrations", lambda: ["0000_missing", *migrations])
    restoration.restore_backup(path, ignore_progress)
    acts = set(LedgerEntry.objects.values_list("act", flat=True))
    assert acts >= {Act.ROLE_CHANGED, Act.RESTORED}
    with pytest.raises(DatabaseNotEmpty, match="of an older jpweb"):
        restoration.restore_backup(path, ignore_progress)
