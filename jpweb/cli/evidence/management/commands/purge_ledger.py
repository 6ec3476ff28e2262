"""Clear old entries of the ledger that say who read, searched and signed in."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb import text_settings
from jpweb.cli.existing_database import use_existing_database
from jpweb.number_settings import MAX_DAYS
from jpweb.store.database import clock
from jpweb.store.ledger import retention, sealing
from jpweb.store.ledger.entries import OPERATOR


class Command(BaseCommand):
    """``jpweb purge_ledger --older-than DAYS``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = (
        "Clear entries of page views, searches, sign-ins and sign-outs that are older than DAYS. "
        "Their hashes stay, so the ledger still verifies; the purge itself is an entry."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--older-than", type=int, required=True, metavar="DAYS")

    def handle(self, *args: Any, **options: Any) -> None:
        days = options["older_than"]
        if days < 1:
            raise CommandError(f"--older-than must be at least 1, not {days}.")
        if days > MAX_DAYS:
            raise CommandError(f"--older-than must be at most {MAX_DAYS} days, not {days}.")
        with use_existing_database():
            sealing.seal_entries()
            count = retention.purge_all(clock.now() - timedelta(days=days), OPERATOR)
        self.stdout.write(f"{count} {'entry' if count == 1 else 'entries'} cleared.")
