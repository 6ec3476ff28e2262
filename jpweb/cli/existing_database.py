"""Opens the database for commands that work on the data of an earlier jpweb."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError

from jpweb.store import bootstrap
from jpweb.store.errors import DatabaseUnavailable, WrongSecretKey
from jpweb.store.ledger import sealing


@contextmanager
def use_existing_database(*, is_any_key_accepted: bool = False) -> Iterator[None]:
    """Raise CommandError for a database that is missing, not up to date, or fails in the block.

    Raises it also where another key has signed the ledger, unless any key is accepted.
    """
    try:
        with bootstrap.use_existing_database():
            if not is_any_key_accepted:
                sealing.require_own_key()
            yield
    except (DatabaseUnavailable, WrongSecretKey) as error:
        raise CommandError(str(error)) from error
