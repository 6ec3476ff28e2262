"""Finds the account that a command names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.management.base import CommandError

from jpweb.store import accounts

if TYPE_CHECKING:
    from jpweb.store.models import Person


def find_account(name: str) -> Person:
    """Return the person of this name. Raises CommandError for an unknown or ambiguous one."""
    people = accounts.find_by_name(name)
    if not people:
        raise CommandError(f"No person named “{name}”.")
    if len(people) > 1:
        usernames = ", ".join(person.username for person in people)
        raise CommandError(
            f"Several people have this name. Give the account's name instead: {usernames}."
        )
    return people[0]
