"""The distinct values of an indexed column, by a loose index scan.

``SELECT DISTINCT`` would read every row. Here each value costs one look-up in the index, so 50
values among 1,000,000 rows take as long as among 1,000.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

#: The recursion finds, for each workspace, the next greater value until there is none.
_STATEMENT = """
WITH RECURSIVE found(workspace_id, value) AS (
    SELECT store_workspace.id, (
        SELECT min({column}) FROM {table}
        WHERE {table}.workspace_id = store_workspace.id AND {column} > ''
    ) FROM store_workspace WHERE store_workspace.id IN ({places})
    UNION ALL
    SELECT found.workspace_id, (
        SELECT min({column}) FROM {table}
        WHERE {table}.workspace_id = found.workspace_id AND {column} > found.value
    ) FROM found WHERE found.value IS NOT NULL
)
SELECT value FROM found WHERE value IS NOT NULL LIMIT {limit}
"""


def list_distinct(table: str, column: str, workspace_ids: Sequence[int], limit: int) -> list[str]:
    """Return the values of a text column in these workspaces, sorted, without the empty one.

    Table and column are literals of the caller, never input. The table has an index that begins
    with ``workspace_id`` and the column. After ``limit`` values of workspaces the search ends.
    """
    if not workspace_ids:
        return []
    places = ", ".join(["%s"] * len(workspace_ids))
    statement = _STATEMENT.format(table=table, column=column, places=places, limit=limit)
    with connection.cursor() as cursor:
        cursor.execute(statement, list(workspace_ids))
        return sorted({value for (value,) in cursor.fetchall()})
