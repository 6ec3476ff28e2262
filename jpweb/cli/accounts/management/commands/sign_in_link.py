"""Print a one-time sign-in link for a person who cannot sign in, with or without a code."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb import text_settings
from jpweb.cli import public_host
from jpweb.cli.account_lookup import find_account
from jpweb.cli.existing_database import use_existing_database
from jpweb.store import accounts
from jpweb.store.errors import InactivePerson
from jpweb.store.ledger.entries import OPERATOR
from jpweb.store.people import second_factors

if TYPE_CHECKING:
    from jpweb.store.models import Person

security_logger = logging.getLogger("jpweb.security")


class Command(BaseCommand):
    """``jpweb sign_in_link [NAME]``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "Print a one-time sign-in link for a person (default: the first owner)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", default=accounts.OWNER_USERNAME)
        parser.add_argument(
            "--remove-second-factor",
            action="store_true",
            help="also turn the second factor off, for a person who lost app and recovery codes",
        )

    @use_existing_database()
    def handle(self, *args: Any, **options: Any) -> None:
        person = find_account(options["name"])
        if options["remove_second_factor"]:
            self._remove_second_factor(person)
        try:
            token = accounts.issue_link(person)
        except InactivePerson as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{settings.PUBLIC_URL}/sign-in#{token}")
        public_host.warn_unless_served(self.stderr)

    def _remove_second_factor(self, person: Person) -> None:
        name = f"{person.display_name} (account {person.username})"
        if second_factors.remove_factor(person.pk, OPERATOR):
            account = json.dumps(person.username)
            security_logger.info("second factor removed by the operator account=%s", account)
            self.stdout.write(f"Turned off the second factor of {name}.")
        else:
            self.stdout.write(f"{name} has no second factor.")
