"""jpweb's SQLite engine: statements mean what they mean to Django's, the second time as well."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from jpweb.store.database import base

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _on_sqlite() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("the other database has its own engine")


@pytest.mark.parametrize(
    ("query", "params", "row"),
    [
        ("SELECT %s, 'ab' LIKE 'a%%', %s", ["?", "%s"], ("?", 1, "%s")),
        ("SELECT %(name)s", {"name": "a%%b"}, ("a%%b",)),
        ("SELECT '%s'", None, ("%s",)),
    ],
)
@pytest.mark.parametrize("longest_cached", [0, 8_000])
def test_placeholders_are_replaced_as_by_django(
    query: str, params: Any, row: tuple[Any, ...], longest_cached: int, monkeypatch: Any
):
    monkeypatch.setattr(base, "_MAX_CACHED_CHARS", longest_cached)
    for _ in range(2):
        with connection.cursor() as cursor:
            assert isinstance(cursor.cursor, base.CachingCursor)
            cursor.execute(query, params)
            assert cursor.fetchone() == row
