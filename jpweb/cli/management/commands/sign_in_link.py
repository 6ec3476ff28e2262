"""Print a one-time sign-in link for a person who cannot sign in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb.store import accounts


class Command(BaseCommand):
    """``jpweb sign_in_link [NAME]``."""

    help = "Print a one-time sign-in link for a person (default: the first owner)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", default=accounts.OWNER_USERNAME)

    def handle(self, *args: Any, **options: Any) -> None:
        people = accounts.find_by_name(options["name"])
        if not people:
            raise CommandError(f"No person named “{options['name']}”.")
        if len(people) > 1:
            usernames = ", ".join(person.username for person in people)
            raise CommandError(
                f"Several people have this name. Give the account's name instead: {usernames}."
            )
        token = accounts.issue_link(people[0])
        self.stdout.write(f"{settings.PUBLIC_URL}/sign-in#{token}")
