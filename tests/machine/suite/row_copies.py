"""Rows that many tests begin with: the store's code makes them once, later ones are copies."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import connection

Made = TypeVar("Made")
#: Seconds for which rows are copied: a lease of theirs lasts 60 s, and pages say how old they are.
MAX_AGE_SECONDS = 10.0


class _TableRows(NamedTuple):
    name: str
    insert_sql: str
    rows: list[Any]


class RowCopies(Generic[Made]):
    """Calls ``make`` in the transaction of a test, or copies the rows and the result of a call.

    Results, such as objects of models, are copied too, by pickle, which takes a fifth of the time
    of a deep copy. On PostgreSQL each call makes rows.
    """

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._pickle = b""
        self._tables: list[_TableRows] = []
        self._made_at = 0.0

    def __call__(self) -> Made:
        if connection.vendor != "sqlite":
            return self._make()
        if not self._pickle or time.monotonic() - self._made_at > MAX_AGE_SECONDS:
            return self._make_original()
        if self._find_rows():
            return self._make()
        for table in self._tables:
            connection.connection.executemany(table.insert_sql, table.rows)
        result: Made = pickle.loads(self._pickle)  # noqa: S301  the rows' own
        return result

    def _make_original(self) -> Made:
        """Make rows, and keep them where they are all that their tables hold."""
        rows_before, made_at = read_all_rows(), time.monotonic()
        result = self._make()
        tables = [
            _TableRows(name, _build_insert(name), rows)
            for name, rows in read_all_rows().items()
            if rows != rows_before[name]
        ]
        if not any(rows_before[table.name] for table in tables):
            self._pickle, self._tables, self._made_at = pickle.dumps(result), tables, made_at
        return result

    def _find_rows(self) -> bool:
        queries = [f'EXISTS (SELECT 1 FROM "{table.name}")' for table in self._tables]  # noqa: S608  a table's name
        return bool(connection.connection.execute("SELECT " + " OR ".join(queries)).fetchone()[0])


def read_all_rows() -> dict[str, list[Any]]:
    """Return the rows of each table of SQLite as it stores them."""
    names = connection.connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    return {name: _read_rows(name) for (name,) in names.fetchall()}


def _read_rows(name: str) -> list[Any]:
    # An expression has no declared type, by which Django would convert dates.
    columns = ", ".join(f'+"{column}"' for column in _list_columns(name))
    query = f'SELECT {columns} FROM "{name}"'  # noqa: S608  a table's name
    rows: list[Any] = connection.connection.execute(query).fetchall()
    return rows


def _build_insert(name: str) -> str:
    columns = _list_columns(name)
    names = ", ".join(f'"{column}"' for column in columns)
    places = ", ".join("?" * len(columns))
    return f'INSERT INTO "{name}" ({names}) VALUES ({places})'  # noqa: S608  a table's name


def _list_columns(name: str) -> list[str]:
    rows = connection.connection.execute("SELECT name FROM pragma_table_info(?)", [name])
    return [column for (column,) in rows.fetchall()]
