"""Numbers of the audit's inquiries by state, exact up to a limit, at the same cost for any more."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import BooleanField, Case, Count, Q, QuerySet, Value, When

from jpweb.store import audit
from jpweb.store.audit import AuditFilters
from jpweb.store.inquiries import INQUIRY_STATES
from jpweb.store.models import Inquiry
from jpweb.store.reviews import inquiry_ranges
from jpweb.store.reviews.inquiry_ranges import MAX_SCANNED_ROWS


class StateCount(NamedTuple):
    """The number of inquiries in a state; ``is_least``: there may be more."""

    number: int
    is_least: bool


def count_by_state(person_id: int, filters: AuditFilters) -> dict[str, StateCount]:
    """Return the numbers of matching inquiries by state; every state is a key.

    Of a filter with too many rows, so many are counted. Without one, each state is counted by its
    own index.
    """
    workspace_ids = audit.list_workspace_keys(person_id, filters)
    rows, condition, column = inquiry_ranges.narrow_by_time(workspace_ids, filters)
    rows = rows.filter(workspace_id__in=workspace_ids).order_by()
    counts = _count_some(rows, condition)
    if filters.outcome:
        others = dict.fromkeys(INQUIRY_STATES, StateCount(0, is_least=False))
        return others | {filters.outcome: counts[filters.outcome]}
    if column or condition or not any(count.is_least for count in counts.values()):
        return counts
    return {state: _count_some(rows.filter(state=state), condition)[state] for state in counts}


def _count_some(rows: QuerySet[Inquiry], condition: Q) -> dict[str, StateCount]:
    """Count the matches among the first rows, in the order of the index."""
    # As a column of the result: as a condition it could have a planner read another index.
    is_match = (
        Case(When(condition, then=True), default=False, output_field=BooleanField())
        if condition
        else Value(True)
    )
    some = rows.annotate(is_match=is_match)
    numbers: dict[str, int] = some[: MAX_SCANNED_ROWS + 1].aggregate(
        row_count=Count("pk"),
        **{state: Count("pk", filter=Q(state=state, is_match=True)) for state in INQUIRY_STATES},
    )
    is_least = numbers.pop("row_count") > MAX_SCANNED_ROWS
    # The row beyond the limit is counted too: it says that there are more, not how many.
    return {
        state: StateCount(min(number, MAX_SCANNED_ROWS), is_least)
        for state, number in numbers.items()
    }
