"""Places in the order of decisions, which is one of several tables, and how far a page reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db.models import Q, QuerySet

from jpweb.store.ledger import newest_entries
from jpweb.store.models import Approval, Inquiry, LedgerEntry

if TYPE_CHECKING:
    from jpweb.store.reviews.decisions import DecisionFilters

#: The ranks of the tables, in the order of rows of one instant.
INQUIRY_RANK, APPROVAL_RANK, ENTRY_RANK = 0, 1, 2
#: Rows of each table, and of each act, that a page reads at most for a filter without an index.
MAX_SCANNED_ROWS = 2000


class DecisionCursor(NamedTuple):
    """The place of a row in the order: its instant, the rank of its table, its key.

    Without a key it is the place after all rows of the instant, where a scan stopped at its limit.
    """

    at: datetime
    rank: int
    key: int

    @property
    def ends_scan(self) -> bool:
        """Whether the scan of a page stopped here; the next page continues it."""
        return self.key == 0


def filter_place(
    rows: QuerySet[Any],
    rank: int,
    filters: DecisionFilters,
    after: DecisionCursor | None = None,
    horizon: datetime | None = None,
) -> QuerySet[Any]:
    """Return the rows of a table within the dates, after a place and not beyond a horizon."""
    column = "at" if rank == ENTRY_RANK else "settled_at"
    # The nearest bound comes first: SQLite searches by the first of several.
    matches = rows if after is None else _filter_after(rows, column, rank, after)
    bounds = [("gte", horizon), ("gte", filters.since), ("lt", filters.until)]
    for lookup, instant in bounds:
        if instant:
            matches = matches.filter(**{f"{column}__{lookup}": instant})
    return matches


def find_horizon(
    filters: DecisionFilters,
    after: DecisionCursor | None,
    ranks: Collection[int],
    acts: Sequence[str],
) -> datetime | None:
    """Return the instant at which a scan from a place stops; None where it reads all rows.

    ``ranks`` are those of the tables that are read, ``acts`` those of the ledger. The rows up to
    the limit are counted in the order of their index, before any filter.
    """
    tables: list[tuple[int, QuerySet[Any]]] = [
        (INQUIRY_RANK, Inquiry.objects.filter(settled_at__isnull=False)),
        (APPROVAL_RANK, Approval.objects.filter(settled_at__isnull=False)),
    ]
    instants: list[datetime] = []
    for rank, rows in tables:
        if rank in ranks:
            places = filter_place(rows, rank, filters, after).order_by("-settled_at", "-id")
            times = places.values_list("settled_at", flat=True)
            instants += times[MAX_SCANNED_ROWS : MAX_SCANNED_ROWS + 1]
    entries = filter_place(LedgerEntry.objects.all(), ENTRY_RANK, filters, after)
    entry = newest_entries.find_entry_beyond(entries, acts, MAX_SCANNED_ROWS)
    return max([*instants, *([entry.at] if entry else [])], default=None)


def _filter_after(
    rows: QuerySet[Any], column: str, rank: int, after: DecisionCursor
) -> QuerySet[Any]:
    """Return the rows of a table that follow a place in the order of all tables."""
    if rank > after.rank:
        return rows.filter(**{f"{column}__lt": after.at})
    rows = rows.filter(**{f"{column}__lte": after.at})
    if rank < after.rank:
        return rows
    return rows.exclude(Q(**{column: after.at, "id__gte": after.key}))
