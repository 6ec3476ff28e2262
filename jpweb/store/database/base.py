"""Django's SQLite engine, which converts the placeholders of each statement only once.

Django does it at each execution, by a regular expression: 1.0 of the 22 ms of a conversation's
page, whose lists of keys have many placeholders. Django looks for an engine in a module called
base.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.db.backends.sqlite3.base import FORMAT_QMARK_REGEX, SQLiteCursorWrapper
from django.db.backends.sqlite3.base import DatabaseWrapper as SQLiteDatabaseWrapper

#: Statements whose text a process keeps.
_MAX_CACHED_STATEMENTS = 2_000
#: Characters of the longest one that is kept; inserts of many rows are longer.
_MAX_CACHED_CHARS = 8_000


class CachingCursor(SQLiteCursorWrapper):
    """A cursor that looks up a statement's text for SQLite."""

    def convert_query(self, query: str, *, param_names: Any = None) -> str:
        """Return the statement with SQLite's placeholders."""
        if param_names is None and len(query) <= _MAX_CACHED_CHARS:
            return _convert_positional(query)
        converted_query: str = super().convert_query(query, param_names=param_names)
        return converted_query


class DatabaseWrapper(SQLiteDatabaseWrapper):
    """Django's engine with this module's cursor."""

    def create_cursor(self, name: str | None = None) -> CachingCursor:
        """Return a cursor of this module."""
        cursor: CachingCursor = self.connection.cursor(factory=CachingCursor)
        return cursor


@lru_cache(_MAX_CACHED_STATEMENTS)
def _convert_positional(query: str) -> str:
    converted_query: str = FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")
    return converted_query
