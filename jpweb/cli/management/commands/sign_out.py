"""End all sign-ins of a person, who cannot press *Sign out everywhere* or should not stay."""

from __future__ import annotations

import json
import logging
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jpweb.cli.account_lookup import find_account
from jpweb.cli.existing_database import use_existing_database
from jpweb.store import accounts

security_logger = logging.getLogger("jpweb.security")


class Command(BaseCommand):
    """``jpweb sign_out NAME``."""

    help = "End all sign-ins of a person, and their unused links."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    @use_existing_database()
    def handle(self, *args: Any, **options: Any) -> None:
        person = find_account(options["name"])
        count = len(accounts.end_sign_ins(person.pk))
        security_logger.info("sign-out by the operator account=%s", json.dumps(person.username))
        # A running server compares its open pages with the database (session_expiry).
        self.stdout.write(
            f"Ended {count} {'sign-in' if count == 1 else 'sign-ins'} of {person.display_name} "
            f"(account {person.username}), and all unused links. Open pages close within ten "
            "seconds."
        )
