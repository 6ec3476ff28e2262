"""Opens the database for commands that work on what a jpweb has stored in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError

from jpweb.store import bootstrap
from jpweb.store.errors import DatabaseUnavailable


@contextmanager
def use_existing_database() -> Iterator[None]:
    """Raise CommandError for a database that is missing, not up to date, or fails in the block."""
    try:
        with bootstrap.use_existing_database():
            yield
    except DatabaseUnavailable as error:
        raise CommandError(str(error)) from error
