"""Print the signed head of the ledger, to keep it where nobody who writes the database writes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from jpweb.evidence import ledger_verifier
from jpweb.store import bootstrap
from jpweb.store.errors import DatabaseUnavailable
from jpweb.store.ledger import sealing, signing


class Command(BaseCommand):
    """``jpweb ledger_head``."""

    help = "Print the signed head of the ledger: one line of JSON, for verify_ledger --heads FILE."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            bootstrap.prepare_database()
        except DatabaseUnavailable as error:
            raise CommandError(str(error)) from error
        sealing.seal_entries()
        head = sealing.get_head()
        if head.signed_at is None:
            raise CommandError("The ledger is empty: there is no head yet.")
        self.stdout.write(ledger_verifier.encode_canonical(signing.make_statement(head)))
