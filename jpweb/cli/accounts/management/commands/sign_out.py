"""End all sign-ins of a person, who cannot press *Sign out everywhere* or should not stay."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandParser

from jpweb import text_settings
from jpweb.cli.account_lookup import find_account
from jpweb.cli.existing_database import use_existing_database
from jpweb.evidence.ledger_verifier import escape_line
from jpweb.store import accounts
from jpweb.store.ledger.entries import OPERATOR
from jpweb.store.people import identities, passkeys
from jpweb.store.reviews import reservations

if TYPE_CHECKING:
    from jpweb.store.models import Identity, Passkey, Person

security_logger = logging.getLogger("jpweb.security")

REMOVAL_OPTION = "--remove-passkeys-and-providers"


class Command(BaseCommand):
    """``jpweb sign_out NAME``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "End all sign-ins of a person, and their unused links."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument(
            REMOVAL_OPTION,
            action="store_true",
            help="also remove the passkeys and disconnect the providers that sign the person in, "
            "for a lost device, or for a person who left",
        )

    @use_existing_database()
    def handle(self, *args: Any, **options: Any) -> None:
        person = find_account(options["name"])
        # Before the sign-ins end: none can follow by what is removed.
        if options["remove_passkeys_and_providers"]:
            self._remove_passkeys(person)
            self._disconnect_providers(person)
        count = len(accounts.end_sign_ins(person.pk))
        reservations.release_all(person.pk)
        security_logger.info("sign-out by the operator account=%s", json.dumps(person.username))
        # A running server compares its open pages with the database (session_expiry).
        self.stdout.write(
            f"Ended {count} {'sign-in' if count == 1 else 'sign-ins'} of {person.display_name} "
            f"(account {person.username}), and all unused links. Open pages close within ten "
            "seconds."
        )
        self._report_remaining(person)

    def _remove_passkeys(self, person: Person) -> None:
        for row in passkeys.list_passkeys(person.pk):
            if passkeys.remove_passkey(person, row.pk, OPERATOR) is not None:
                self._report_removal("passkey removed", person, passkey=row.name)
                self.stdout.write(f"Removed the {_name_passkey(row)}.")

    def _disconnect_providers(self, person: Person) -> None:
        for row in identities.list_identities(person.pk):
            title = identities.name_issuer(row.issuer)
            if identities.disconnect_identity(person, row.pk, title, OPERATOR):
                self._report_removal("identity disconnected", person, provider=title)
                self.stdout.write(f"Disconnected {_name_identity(row)}.")

    def _report_removal(self, event: str, person: Person, **fields: str) -> None:
        values = {"account": person.username} | fields
        text = " ".join(f"{name}={json.dumps(value)}" for name, value in values.items())
        security_logger.info("%s by the operator %s", event, text)

    def _report_remaining(self, person: Person) -> None:
        """Name the credentials that still sign the person in."""
        names = [_name_passkey(row) for row in passkeys.list_passkeys(person.pk)]
        names += [
            f"provider {_name_identity(row)}" for row in identities.list_identities(person.pk)
        ]
        if names and person.is_active:
            self.stdout.write(
                f"{person.display_name} can sign in again: {'; '.join(names)}. "
                f"{REMOVAL_OPTION} removes that."
            )


def _name_passkey(row: Passkey) -> str:
    return escape_line(f"passkey “{row.name}”")


def _name_identity(row: Identity) -> str:
    """Return the provider and the identity there: a person may have several at one provider."""
    account = row.email or f"identity {row.subject}"
    return escape_line(f"{identities.name_issuer(row.issuer)}, {account}")
