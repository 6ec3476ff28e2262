"""k-way merge of per-workspace index ranges, for keyset pagination in O(page size).

One query over several workspaces would sort all their rows. Instead the index range of
each workspace is read from the cursor for at most one page, and the ranges are merged.
So a page among 1,000,000 conversations may take 1.5 times one among 1,000 (``list.1m``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import BooleanField, Case, F, Q, QuerySet, Value, When

from jpweb.store.sql.keyset_cursor import Cursor, normalize_value

#: Workspaces of one UNION ALL; SQLite accepts 500 parts of a compound SELECT.
_WORKSPACES_PER_STATEMENT = 200
#: Up to so many workspaces, a whole page of each is read; of more, first only so many rows each.
_FEW_WORKSPACES, _FIRST_READ_ROWS = 8, 20
#: Rows that are scanned for a condition that no index answers: in total, and at least of each
#: workspace.
MAX_SCANNED_ROWS, _MIN_SCANNED_ROWS = 20_000, 100
#: Placeholder parameter, replaced by each workspace's key: the SQL is compiled once for all.
#: Negative, as no key or count is, and a number, since Django converts the value of a key.
_WORKSPACE_PLACEHOLDER = -987_654_321


@dataclass(frozen=True, slots=True)
class IndexRange:
    """Rows of a table in the order of an index, for each workspace.

    ``rows`` hold the conditions that the index answers, ``condition`` the others.
    They are ordered by ``column``, then by the key, both descending or both ascending.
    Where rows of several tables are merged into one order, the rank of a row is its key
    times ``table_count`` plus ``table_index``. A text column (``is_text``) has the order of
    ``ByteOrder``, else Python would merge in another order than PostgreSQL.
    ``scan_limit`` replaces ``MAX_SCANNED_ROWS``. Without a ``conversation_column`` the index alone
    is read where it answers all: the ranked keys have no conversation, 0.
    """

    rows: QuerySet[Any]
    column: str
    is_descending: bool
    condition: Q | None = None
    conversation_column: str | None = "pk"
    table_index: int = 0
    table_count: int = 1
    is_text: bool = False
    scan_limit: int | None = None


class RankedKey(NamedTuple):
    """A conversation, and its cursor in the order."""

    key: Cursor
    conversation_id: int
    workspace_id: int


@dataclass(frozen=True, slots=True)
class RangePage:
    """Ranked keys in order; ``horizon`` is the end of the scan, where that is not the last row."""

    ranked_keys: list[RankedKey]
    horizon: Cursor | None = None


def find_nearest(
    ranges: Sequence[IndexRange],
    workspace_ids: Sequence[int],
    cursor: Cursor | None,
    limit: int,
    *,
    is_backward: bool,
) -> RangePage:
    """Return the nearest ``limit`` keys that follow the cursor, or that precede it.

    All ranges have the same order. With a condition that no index answers, at most
    ``MAX_SCANNED_ROWS`` rows are scanned, no further than the horizon: the first workspace's scan
    end. What follows it is left for the next page.
    """
    is_descending = ranges[0].is_descending != is_backward
    first_limit = limit if len(workspace_ids) <= _FEW_WORKSPACES else min(limit, _FIRST_READ_ROWS)
    find_horizon = _prepare_horizon(ranges, workspace_ids, cursor, is_descending=is_descending)
    horizon = find_horizon()
    merge = partial(_merge, ranges, cursor=cursor, horizon=horizon, is_descending=is_descending)
    ranked_keys = merge(workspace_ids, limit=first_limit)[:limit]
    counts = Counter(ranked_key.workspace_id for ranked_key in ranked_keys)
    truncated_ids = (
        [key for key, count in counts.items() if count >= first_limit]
        if first_limit < limit
        else []
    )
    if truncated_ids:
        complete_keys = [
            ranked_key for ranked_key in ranked_keys if ranked_key.workspace_id not in truncated_ids
        ]
        reread_keys = merge(truncated_ids, limit=limit)
        merged_keys = sorted([*complete_keys, *reread_keys], key=_sort_key, reverse=is_descending)
        ranked_keys = merged_keys[:limit]
    # Rows that came since the first look may have kept the scans from reaching that horizon.
    horizon = _choose_nearest([horizon, find_horizon()], is_descending=is_descending)
    if horizon is None:
        return RangePage(ranked_keys)
    within_horizon = [
        candidate
        for candidate in ranked_keys
        if (candidate.key >= horizon if is_descending else candidate.key <= horizon)
    ]
    # A full page ends before the horizon; its cursor is that of its last row.
    return RangePage(within_horizon, None if len(within_horizon) == limit else horizon)


def _sort_key(ranked_key: RankedKey) -> Cursor:
    return ranked_key.key


def _merge(
    ranges: Sequence[IndexRange],
    workspace_ids: Sequence[int],
    *,
    cursor: Cursor | None,
    horizon: Cursor | None,
    limit: int,
    is_descending: bool,
) -> list[RankedKey]:
    parts = [
        _find_matching_statement(
            index_range,
            cursor,
            horizon,
            _scan_share(index_range, workspace_ids),
            limit,
            is_descending=is_descending,
        )
        for index_range in ranges
    ]
    rows = _execute(parts, workspace_ids, is_text=ranges[0].is_text)
    return sorted(rows, key=_sort_key, reverse=is_descending)


def _prepare_horizon(
    ranges: Sequence[IndexRange],
    workspace_ids: Sequence[int],
    cursor: Cursor | None,
    *,
    is_descending: bool,
) -> Callable[[], Cursor | None]:
    """Return the function that finds the nearest end of the scans that end within a workspace.

    Beyond it, a scan may have left out matches that come before those of another workspace::

        cursor                horizon            order of the list -->
          |--- workspace 1 ------|               its share of rows ends here
          |--- workspace 2 ------|------|        its share ends later
          |--- workspace 3 -|    |               has no more rows
          | matches are shown    | and left for the next page
    """
    statements = [
        _compile_statement(
            _select_columns(
                _query_range(index_range, cursor, is_descending=is_descending), index_range
            )[share - 1 : share]
        )
        for index_range in ranges
        if index_range.condition is not None
        for share in [_scan_share(index_range, workspace_ids)]
    ]
    if not statements:
        return lambda: None

    def find_horizon() -> Cursor | None:
        ends = _execute(statements, workspace_ids, is_text=ranges[0].is_text)
        return _choose_nearest([ranked_key.key for ranked_key in ends], is_descending=is_descending)

    return find_horizon


def _choose_nearest(cursors: Iterable[Cursor | None], *, is_descending: bool) -> Cursor | None:
    """Return the cursor that comes first in the order, or None where there is none."""
    choose = max if is_descending else min
    return choose((cursor for cursor in cursors if cursor is not None), default=None)


def _scan_share(index_range: IndexRange, workspace_ids: Sequence[int]) -> int:
    """Return the number of rows of each workspace that are scanned."""
    limit = index_range.scan_limit or MAX_SCANNED_ROWS
    return max(limit // max(len(workspace_ids), 1), _MIN_SCANNED_ROWS)


@lru_cache(maxsize=256)
def _find_matching_statement(
    index_range: IndexRange,
    cursor: Cursor | None,
    horizon: Cursor | None,
    share: int,
    limit: int,
    *,
    is_descending: bool,
) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that finds the matches in one workspace.

    Django takes 2 ms to compile it. Equal are ranges of the same queryset: those of first pages.
    """
    rows = _query_range(index_range, cursor, is_descending=is_descending)
    if index_range.condition is None:
        return _compile_statement(_select_columns(rows, index_range)[:limit])
    if horizon is not None:  # of 2,000 rows of five workspaces 1,100 were beyond it: 3 of 6 ms
        side = "gte" if is_descending else "lte"
        rows = rows.filter(**{f"{index_range.column}__{side}": horizon.value})
    hit = Case(When(index_range.condition, then=True), default=False, output_field=BooleanField())
    inner_sql, params = _compile_statement(
        _select_columns(rows.annotate(hit=hit), index_range, "hit")[:share]
    )
    order = "DESC" if is_descending else "ASC"
    return (
        f"SELECT value, rank_, conversation_key, workspace_key "  # noqa: S608  Django's own words
        f"FROM ({inner_sql}) AS candidates WHERE hit "
        f"ORDER BY value {order}, rank_ {order} LIMIT {int(limit)}",
        params,
    )


def _query_range(
    index_range: IndexRange, cursor: Cursor | None, *, is_descending: bool
) -> QuerySet[Any]:
    """Return the rows of one workspace from the cursor on."""
    sign, column = "-" if is_descending else "", index_range.column
    rows = index_range.rows.filter(workspace_id=_WORKSPACE_PLACEHOLDER).order_by(
        f"{sign}{column}", f"{sign}pk"
    )
    if cursor is None:
        return rows
    edge_id, is_exact = divmod(cursor.rank - index_range.table_index, index_range.table_count)
    # Costs O(page size) on every database, unlike an OR or a row-value comparison.
    if is_descending:
        edge_id += 1 if is_exact else 0
        return rows.filter(**{f"{column}__lte": cursor.value}).exclude(
            **{column: cursor.value, "pk__gte": edge_id}
        )
    return rows.filter(**{f"{column}__gte": cursor.value}).exclude(
        **{column: cursor.value, "pk__lte": edge_id}
    )


def _select_columns(
    rows: QuerySet[Any], index_range: IndexRange, *extra_columns: str
) -> QuerySet[Any]:
    annotated_rows = rows.annotate(
        value=F(index_range.column),
        rank_=F("pk") * Value(index_range.table_count) + Value(index_range.table_index),
        conversation_key=(
            F(index_range.conversation_column) if index_range.conversation_column else Value(0)
        ),
        workspace_key=F("workspace_id"),
    )
    values: QuerySet[Any] = annotated_rows.values_list(
        "value", "rank_", "conversation_key", "workspace_key", *extra_columns
    )
    return values


def _compile_statement(rows: QuerySet[Any]) -> tuple[str, tuple[Any, ...]]:
    return rows.query.sql_with_params()


def _execute(
    statements: Sequence[tuple[str, tuple[Any, ...]]],
    workspace_ids: Sequence[int],
    *,
    is_text: bool,
) -> Iterator[RankedKey]:
    """Yield the rows of the statements, each executed for every workspace."""
    for start in range(0, len(workspace_ids), _WORKSPACES_PER_STATEMENT):
        batch = workspace_ids[start : start + _WORKSPACES_PER_STATEMENT]
        sql = " UNION ALL ".join(
            f"SELECT * FROM ({sql}) AS part"  # noqa: S608  Django's own words
            for sql, _ in statements
            for _ in batch
        )
        params = [
            workspace_id if value == _WORKSPACE_PLACEHOLDER else value
            for _, values in statements
            for workspace_id in batch
            for value in values
        ]
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            for value, rank, conversation_id, workspace_id, *_ in cursor.fetchall():
                key = Cursor(value if is_text else normalize_value(value), int(rank))
                yield RankedKey(key, conversation_id, workspace_id)
