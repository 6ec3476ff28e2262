"""Restore the account of a deactivated person, with their roles."""

from __future__ import annotations

import json
import logging
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jpweb import text_settings
from jpweb.cli.account_lookup import find_account
from jpweb.cli.existing_database import use_existing_database
from jpweb.store.maintenance import deactivation

security_logger = logging.getLogger("jpweb.security")


class Command(BaseCommand):
    """``jpweb reactivate_person NAME``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "Restore the account of a deactivated person, with their roles."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    @use_existing_database()
    def handle(self, *args: Any, **options: Any) -> None:
        person = find_account(options["name"])
        name = f"{person.display_name} (account {person.username})"
        if not deactivation.reactivate_person(person):
            self.stdout.write(f"{name} is not deactivated.")
            return
        account = json.dumps(person.username)
        security_logger.info("person reactivated by the operator account=%s", account)
        self.stdout.write(
            f"Reactivated {name}, with the roles that they have. Their passkeys and providers sign "
            f"them in again; `jpweb sign_in_link {person.username}` prints a new link."
        )
