"""Renames three columns; no row is rewritten."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

#: Models, and the old and new names of a column.
COLUMNS = (
    ("approval", "shown", "subject"),
    ("approval", "spent", "was_applied"),
    ("run", "left_by", "expired_holders"),
)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("store", "0012_ledger")]

    operations: ClassVar = [migrations.RenameField(*names) for names in COLUMNS]
