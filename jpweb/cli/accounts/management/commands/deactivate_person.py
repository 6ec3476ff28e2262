"""Deactivate the account of a person who left: they are shut out, and their records stay."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb import text_settings
from jpweb.cli.account_lookup import find_account
from jpweb.cli.existing_database import use_existing_database
from jpweb.store import accounts
from jpweb.store.errors import InactivePerson, LastOwner, NameTaken
from jpweb.store.maintenance import deactivation

if TYPE_CHECKING:
    from jpweb.store.maintenance.deactivation import Deactivation
    from jpweb.store.models import Person

security_logger = logging.getLogger("jpweb.security")


class Command(BaseCommand):
    """``jpweb deactivate_person NAME [--new-owner NAME] [--force]``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "Deactivate the account of a person who left: nothing signs them in any more."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument(
            "--new-owner",
            metavar="NAME",
            help="the person who becomes owner where this one is the only owner",
        )
        parser.add_argument(
            "--force", action="store_true", help="leave workspaces without an owner"
        )

    @use_existing_database()
    def handle(self, *args: Any, **options: Any) -> None:
        person = find_account(options["name"])
        new_owner = find_account(options["new_owner"]) if options["new_owner"] else None
        if new_owner == person:
            raise CommandError(f"{person.display_name} can't be the new owner: choose another.")
        try:
            result = deactivation.deactivate_person(
                person, new_owner, may_leave_ownerless=options["force"]
            )
        except LastOwner as error:
            raise CommandError(
                f"{error} Appoint an owner: --new-owner NAME. Or leave them without one: --force"
            ) from error
        except (InactivePerson, NameTaken) as error:
            raise CommandError(str(error)) from error
        self._report_deactivation(person, result)
        self._report_owners(person, new_owner, result)

    def _report_deactivation(self, person: Person, result: Deactivation) -> None:
        name = f"{person.display_name} (account {person.username})"
        if not result.is_new:
            self.stdout.write(f"{name} is already deactivated.")
            return
        account = json.dumps(person.username)
        security_logger.info("person deactivated by the operator account=%s", account)
        count = result.ended_sign_in_count
        self.stdout.write(
            f"Deactivated {name}. Ended {count} {'sign-in' if count == 1 else 'sign-ins'} and all "
            "unused links. Open pages close within ten seconds."
        )
        if accounts.is_first_person(person):
            self.stdout.write(
                "This is the first person of the installation: until `jpweb reactivate_person "
                f"{person.username}`, `serve` prints no sign-in link, and workspaces that you add "
                "get no owner."
            )

    def _report_owners(
        self, person: Person, new_owner: Person | None, result: Deactivation
    ) -> None:
        for workspace in result.ownerless:
            if new_owner is not None:
                self.stdout.write(f"{new_owner.display_name} now owns {workspace.name}.")
            else:
                self.stdout.write(
                    f"{workspace.name} has no owner. To appoint one: jpweb deactivate_person "
                    f"{person.username} --new-owner NAME"
                )
