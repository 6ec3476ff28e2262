"""Print a one-time sign-in link for a person who cannot sign in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from jpweb.cli.account_lookup import find_account
from jpweb.store import accounts


class Command(BaseCommand):
    """``jpweb sign_in_link [NAME]``."""

    help = "Print a one-time sign-in link for a person (default: the first owner)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", default=accounts.OWNER_USERNAME)

    def handle(self, *args: Any, **options: Any) -> None:
        token = accounts.issue_link(find_account(options["name"]))
        self.stdout.write(f"{settings.PUBLIC_URL}/sign-in#{token}")
