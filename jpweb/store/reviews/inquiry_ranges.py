"""The audit's filters and orders as index ranges, of each workspace that a person audits.

One column with an index is a condition of the query. All other filters are tested row by row in
that range, up to a limit, so no planner chooses another index and sorts a million rows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from django.db.models import Expression, F, Q, QuerySet

from jpweb.store.audit import AuditFilters
from jpweb.store.models import Inquiry
from jpweb.store.sql.byte_order import ByteOrder
from jpweb.store.sql.call_ids import build_inquiry_match
from jpweb.store.sql.keyset_merge import IndexRange
from jpweb.store.sql.spellings import build_contains
from jpweb.store.sql.waiting_time import WaitingMilliseconds

#: Rows that one page reads at most.
MAX_SCANNED_ROWS = 2000
#: Sort columns of the rows, by the name in an address.
SORT_COLUMNS: dict[str, Expression | F] = {
    "asked": F("asked_at"),
    "asker": ByteOrder("asker"),
    "outcome": ByteOrder("state"),
    "decider": ByteOrder("decider_name"),
    "waited": WaitingMilliseconds("settled_at", "asked_at"),
}
#: The columns of the orders that are sorted as text.
_TEXT_COLUMNS = {"asker": "asker", "outcome": "state", "decider": "decider_name"}
#: Columns with an index that goes on by time.
_INDEXED_COLUMNS = ("conversation_id", "decider_name", "asker", "reason", "source", "state")


class Order(NamedTuple):
    """The order of the table."""

    name: str = "asked"
    is_descending: bool = True


class FilteredRange(NamedTuple):
    """The rows of an index range, and the condition of the filters that the index does not answer.

    ``condition`` is empty where the index answers all. ``column`` has one value in all rows.
    """

    rows: QuerySet[Inquiry]
    condition: Q
    column: str = ""


def narrow_by_time(workspace_ids: list[int], filters: AuditFilters) -> FilteredRange:
    """Return the range of the filter with the fewest rows, or of the dates alone."""
    if _has_nul(filters):
        return FilteredRange(Inquiry.objects.none(), Q())  # no row has NUL; PostgreSQL refuses it
    rows = Inquiry.objects.filter(**_get_bounds(filters))
    values = _get_values(filters)
    columns = [column for column in _INDEXED_COLUMNS if column in values]
    if len(columns) > 1:
        columns.sort(key=lambda column: _count_some(workspace_ids, rows, column, values[column]))
    column = columns[0] if columns else ""
    if column:
        rows = rows.filter(**{column: values.pop(column)})
    return FilteredRange(rows, Q(**values) & _match_texts(filters), column)


def list_ranges(
    workspace_ids: list[int],
    filters: AuditFilters,
    time_range: FilteredRange,
    order: Order,
    after: int,
    *,
    has_first: bool = False,
) -> list[IndexRange]:
    """Return the ranges that follow the row with a key, 0 for the first, one after the other.

    ``time_range`` is that of ``narrow_by_time`` for the same filters.
    A key of no row in these workspaces is 0: else pages would compare with rows of others.
    They are the rest of the rows with its value, and then the rows with other values. One range
    with OR would read all rows of the value for each page. ``has_first``: they begin with the row.
    """
    if _has_nul(filters):
        return []
    if filters == AuditFilters() and not after:
        return [_make_first_range(order)]
    sort_column = SORT_COLUMNS[order.name]
    is_by_time = order.name == "asked"
    rows, condition, _ = time_range if is_by_time else _narrow_by_order(filters, order)
    rows = rows.annotate(sort_value=sort_column)
    listed_rows = Inquiry.objects.filter(workspace_id__in=workspace_ids)
    last_row = listed_rows.filter(pk=after).values_list(sort_column).first() if after else None
    if last_row is None:
        return [_make_range(rows, condition, order)]
    side = "lt" if order.is_descending else "gt"
    key_lookup = f"pk__{side}e" if has_first else f"pk__{side}"
    same_value = rows.filter(sort_value=last_row[0], **{key_lookup: after})
    other_values = _make_range(
        rows.filter(**{f"sort_value__{side}": last_row[0]}), condition, order
    )
    if not same_value.filter(workspace_id__in=workspace_ids).exists():
        return [other_values]  # as of nearly all instants; the range took a tenth of a page
    # By the key alone: SQLite would sort by an expression also where it is equal.
    by_key = IndexRange(
        same_value,
        "pk",
        is_descending=order.is_descending,
        condition=condition or None,
        conversation_column=None,
        scan_limit=MAX_SCANNED_ROWS,
    )
    return [by_key, other_values]


@lru_cache(maxsize=2 * len(SORT_COLUMNS))
def _make_first_range(order: Order) -> IndexRange:
    """Return the range of the table without a filter, the same each time."""
    rows = Inquiry.objects.annotate(sort_value=SORT_COLUMNS[order.name])
    return _make_range(rows, Q(), order)


def _narrow_by_order(filters: AuditFilters, order: Order) -> FilteredRange:
    """Return the rows of an order's index; only a filter of its own column narrows them."""
    values = _get_values(filters)
    column = _TEXT_COLUMNS.get(order.name)
    rows = Inquiry.objects.all()
    if column in values:
        rows = rows.filter(**{column: values.pop(column)})
    return FilteredRange(rows, Q(**values, **_get_bounds(filters)) & _match_texts(filters))


def _make_range(rows: QuerySet[Inquiry], condition: Q, order: Order) -> IndexRange:
    return IndexRange(
        rows,
        "sort_value",
        is_descending=order.is_descending,
        condition=condition or None,
        conversation_column=None,
        is_text=order.name in _TEXT_COLUMNS,
        scan_limit=MAX_SCANNED_ROWS,
    )


def _count_some(
    workspace_ids: list[int], rows: QuerySet[Inquiry], column: str, value: object
) -> int:
    """Return the number of rows with a value, up to the number that a page looks at."""
    matches = rows.filter(workspace_id__in=workspace_ids, **{column: value})
    return matches.order_by().values("pk")[: MAX_SCANNED_ROWS + 1].count()


def _get_values(filters: AuditFilters) -> dict[str, Any]:
    """Return the values that columns must have."""
    values = {
        "conversation_id": filters.conversation,
        "decider_name": filters.person,
        "decider_id": filters.account,
        "asker": filters.tool,
        "reason": filters.reason,
        "source": filters.source,
        "state": filters.outcome,
        "decided_by": filters.decided,
    }
    return {column: value for column, value in values.items() if value not in ("", None)}


def _get_bounds(filters: AuditFilters) -> dict[str, Any]:
    bounds = {"asked_at__gte": filters.since, "asked_at__lt": filters.until}
    return {lookup: instant for lookup, instant in bounds.items() if instant is not None}


def _match_texts(filters: AuditFilters) -> Q:
    """Return the conditions of the words and of the id, which no index answers."""
    condition = build_contains("question__text", filters.words) if filters.words else Q()
    return condition & build_inquiry_match(filters.identifier) if filters.identifier else condition


def _has_nul(filters: AuditFilters) -> bool:
    values = [*_get_values(filters).values(), filters.words, filters.identifier]
    return any("\x00" in value for value in values if isinstance(value, str))
