"""Many rows at once. Going through model instances costs several times as much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.db import connection


def insert(table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows. The names are the caller's own, never input."""
    _write(_insert(table, columns), rows)


def upsert(
    table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], key: Sequence[str]
) -> None:
    """Insert rows, or overwrite those that have the same values in the columns of ``key``."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key)
    conflict = f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"
    _write(f"{_insert(table, columns)} {conflict}", rows)


def moments() -> Callable[[datetime | None], Any]:
    """Return what makes of an instant what this database takes."""
    adapt: Callable[[datetime | None], Any] = connection.ops.adapt_datetimefield_value
    return adapt


def _insert(table: str, columns: Sequence[str]) -> str:
    marks = ", ".join(["%s"] * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608  own names


def _write(statement: str, rows: Sequence[Sequence[Any]]) -> None:
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(statement, rows)
