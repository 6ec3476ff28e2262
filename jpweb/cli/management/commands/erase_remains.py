"""Rewrite the database's files without redacted and deleted content."""

from __future__ import annotations

from contextlib import closing, nullcontext
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from jpweb import text_settings
from jpweb.cli.data_folder_lock import lock_data_dir
from jpweb.cli.existing_database import use_existing_database
from jpweb.store.errors import StoreError
from jpweb.store.redaction import remains


class Command(BaseCommand):
    """``jpweb erase_remains``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "Rewrite the database's files without redacted and deleted content."

    def handle(self, *_args: Any, **_options: Any) -> None:
        # With PostgreSQL a server may run: tables are locked, not the data folder.
        with closing(lock_data_dir()) if settings.IS_SQLITE else nullcontext():
            self._erase_remains()
        self.stdout.write("The database's tables hold nothing that was redacted or deleted.")
        if not settings.IS_SQLITE:
            self.stdout.write(
                "PostgreSQL's write-ahead log (WAL) and archives of it keep such texts for a while."
            )

    @use_existing_database()
    def _erase_remains(self) -> None:
        try:
            self.stdout.write("Rewriting the database. This takes as long as copying it.")
            if not settings.IS_SQLITE:
                self.stdout.write(
                    "Each table is locked while it is rewritten: what needs it waits, and may fail."
                )
            remains.erase_remains()
        except StoreError as error:
            raise CommandError(str(error)) from error
