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
            self.stdout.write("Rewriting the database. This takes as long as copying it.")
            remains.erase_remains()
        except (DatabaseUnavailable, StoreError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write("The database's files hold nothing that was redacted or deleted.")
