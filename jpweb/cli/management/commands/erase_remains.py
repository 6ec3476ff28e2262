"""Rewrite the database's files without what was redacted or deleted."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from jpweb.store import bootstrap
from jpweb.store.errors import DatabaseUnavailable, StoreError
from jpweb.store.redaction import remains


class Command(BaseCommand):
    """``jpweb erase_remains``."""

    help = "Rewrite the database's files without what was redacted or deleted."

    def handle(self, *_args: Any, **_options: Any) -> None:
        try:
            bootstrap.prepare_database()
            self.stdout.write(
                "Rewriting the database. This takes as long as copying it. With PostgreSQL, each "
                "table is locked while it is rewritten: what needs it waits, and may fail."
            )
            remains.erase_remains()
        except (DatabaseUnavailable, StoreError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            "The database's tables hold nothing that was redacted or deleted. With PostgreSQL, its "
            "write-ahead log (WAL) and archives of that keep such texts for a while."
        )
