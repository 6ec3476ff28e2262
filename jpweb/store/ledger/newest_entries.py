"""Recorded entries of several acts, newest first, without the rows that were forged.

One query over several acts would sort all their entries: the index ``ledger_by_act`` has an order
within one act alone. Instead the index range of each act is read for at most a page, and the ranges
are merged (k-way merge). Forged rows are left out after they are read: there may be more of them
than a query has parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet

from jpweb.store.ledger import entry_macs
from jpweb.store.models import LedgerEntry

#: Rows of one query at most, where forged ones are among them.
MAX_READ_ROWS = 2000
#: Placeholder parameter, replaced by each act: Django compiles the range once for all.
_ACT_PLACEHOLDER = "act of the range"


def list_newest(
    entries: QuerySet[LedgerEntry], acts: Sequence[str], limit: int
) -> list[LedgerEntry]:
    """Return the newest ``limit`` of the entries of these acts; those of one instant by key."""
    recorded_entries: list[LedgerEntry] = []
    bounded_entries, read_limit = LedgerEntry.objects.all(), limit
    while acts:
        rows = _read_rows(bounded_entries & entries, acts, read_limit)
        recorded_entries += [row for row in rows if not entry_macs.is_forged(row)]
        if len(recorded_entries) >= limit or len(rows) < read_limit:
            break
        last_row = rows[-1]
        # The nearest bound comes first: SQLite searches by the first of several.
        bounded_entries = LedgerEntry.objects.filter(at__lte=last_row.at).exclude(
            at=last_row.at, pk__gte=last_row.pk
        )
        read_limit = min(2 * read_limit, MAX_READ_ROWS)
    return recorded_entries[:limit]


def find_entry_beyond(
    entries: QuerySet[LedgerEntry], acts: Sequence[str], row_count: int
) -> LedgerEntry | None:
    """Return the newest entry that has ``row_count`` newer ones of its act, forged or not."""
    return next(iter(_read_rows(entries, acts, 1, row_count)), None) if acts else None


def list_unsealed_workspaces(entries: QuerySet[LedgerEntry]) -> set[int]:
    """Return the keys of the workspaces of the recorded entries that are not in the chain yet."""
    return _list_unsealed(entries, "workspace_id")


def list_unsealed_conversations(entries: QuerySet[LedgerEntry]) -> set[int]:
    """Return the keys of the conversations of the same entries."""
    return _list_unsealed(entries, "conversation_id")


def _list_unsealed(entries: QuerySet[LedgerEntry], column: str) -> set[int]:
    keys: set[int] = set()
    rows = entries.filter(sequence__isnull=True).order_by("id")
    for key, text_hash, mac in rows.values_list(column, "text_hash", "mac"):
        if key is None or key in keys:
            continue
        if entry_macs.is_mac_valid(text_hash, mac):
            keys.add(key)
    return keys


def _read_rows(
    entries: QuerySet[LedgerEntry], acts: Sequence[str], limit: int, offset: int = 0
) -> list[LedgerEntry]:
    """Return the newest ``limit`` rows, without the first ``offset`` of each act."""
    act_entries = entries.filter(act=_ACT_PLACEHOLDER).order_by("-at", "-id")
    act_entries = act_entries[offset : offset + limit]
    try:
        act_sql, act_params = act_entries.query.sql_with_params()
    except EmptyResultSet:
        return []  # a condition of the entries has no values to match
    part = f"SELECT * FROM ({act_sql}) AS part"  # noqa: S608  Django's own words
    merged_sql = (
        f"SELECT * FROM ({' UNION ALL '.join([part] * len(acts))}) AS parts "  # noqa: S608  such parts
        f"ORDER BY at DESC, id DESC LIMIT {int(limit)}"
    )
    params = [act if value == _ACT_PLACEHOLDER else value for act in acts for value in act_params]
    return list(LedgerEntry.objects.raw(merged_sql, params))
