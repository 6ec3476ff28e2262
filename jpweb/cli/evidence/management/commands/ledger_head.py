"""Print the signed head of the ledger, to keep it where nobody who writes the database writes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from jpweb import text_settings
from jpweb.cli.existing_database import use_existing_database
from jpweb.evidence import ledger_verifier
from jpweb.store.ledger import sealing, signing


class Command(BaseCommand):
    """``jpweb ledger_head``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "Print the signed head of the ledger: one line of JSON, for verify_ledger --head FILE."

    @use_existing_database()
    def handle(self, *args: Any, **options: Any) -> None:
        sealing.seal_entries()
        head = sealing.get_head()
        if head.signed_at is None:
            raise CommandError("The ledger is empty: there is no head yet.")
        self.stdout.write(ledger_verifier.encode_canonical(signing.make_statement(head)))
