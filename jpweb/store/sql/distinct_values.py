"""The distinct values of indexed columns, by a loose index scan.

``SELECT DISTINCT`` would read every row. Here each value costs one look-up in the index, so 50
values among 1,000,000 rows take as long as among 1,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from django.db import connection

#: The recursion finds, for each workspace, the next greater value until there is none.
_SEARCH = """
found_{number}(workspace_id, value) AS (
    SELECT store_workspace.id, (
        SELECT min({column}) FROM {table}
        WHERE {table}.workspace_id = store_workspace.id AND {column} > ''
    ) FROM store_workspace WHERE store_workspace.id IN ({places})
    UNION ALL
    SELECT found_{number}.workspace_id, (
        SELECT min({column}) FROM {table}
        WHERE {table}.workspace_id = found_{number}.workspace_id
        AND {column} > found_{number}.value
    ) FROM found_{number} WHERE found_{number}.value IS NOT NULL
)"""
_VALUES = """
SELECT {number}, value FROM (
    SELECT value FROM found_{number} WHERE value IS NOT NULL LIMIT {limit}
) AS values_{number}"""


def list_distinct(
    table: str, columns: Sequence[str], workspace_ids: Sequence[int], limit: int
) -> list[list[str]]:
    """Return the values of each text column in these workspaces, sorted, without the empty one.

    Table and columns are literals of the caller, never input. For each column the table has an
    index that begins with ``workspace_id`` and the column. After ``limit`` values of workspaces the
    search for a column ends. All take one statement: one for each took 0.1 ms more a column.
    """
    values: list[set[str]] = [set() for _ in columns]
    if workspace_ids:
        with connection.cursor() as cursor:
            cursor.execute(
                _build_statement(table, tuple(columns), len(workspace_ids), limit),
                [*workspace_ids] * len(columns),
            )
            for number, value in cursor.fetchall():
                values[number].add(value)
    return [sorted(column_values) for column_values in values]


@lru_cache(maxsize=64)
def _build_statement(table: str, columns: tuple[str, ...], workspace_count: int, limit: int) -> str:
    places = ", ".join(["%s"] * workspace_count)
    searches = [
        _SEARCH.format(number=number, table=table, column=column, places=places)
        for number, column in enumerate(columns)
    ]
    selects = [_VALUES.format(number=number, limit=limit) for number in range(len(columns))]
    return f"WITH RECURSIVE {','.join(searches)}{' UNION ALL '.join(selects)}"
