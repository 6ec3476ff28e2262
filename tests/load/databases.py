"""SQLite files that Django uses for a while, in a process that has a database of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection


@contextmanager
def use_database(path: Path) -> Iterator[Path]:
    """Let Django use this SQLite file, and afterwards its own database again."""
    connection.close()
    assert connection.connection is None, "an open database in memory cannot be closed and reopened"
    usual = connection.settings_dict["NAME"]
    connection.settings_dict["NAME"] = str(path)
    try:
        yield path
    finally:
        connection.close()
        connection.settings_dict["NAME"] = usual
