"""The tables, made and brought up to date."""

from __future__ import annotations

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError

from jpweb.store.errors import NoDatabase


def prepare() -> None:
    """Bring the database up to date. Raises NoDatabase where it cannot be reached or changed."""
    try:
        call_command("migrate", verbosity=0, interactive=False)
    except DatabaseError as error:
        name = settings.DATABASES["default"]["NAME"]
        reason = str(error).strip().partition("\n")[0]
        raise NoDatabase(
            f"The database {name} cannot be used: {reason}. Check DATABASE_URL or JPWEB_DATA."
        ) from error
