"""Audit: links that filter by the last days or by a calendar month; UTC."""

from __future__ import annotations

from datetime import date, timedelta
from typing import NamedTuple
from urllib.parse import urlencode

from django.utils import dates

from jpweb.web.labels import audit_labels

#: Days of the quick ranges; the last one is today.
_DAY_COUNTS = (7, 30, 90)


class QuickRange(NamedTuple):
    """A link's label, and the query string that filters by its days."""

    label: str
    query: str


def list_ranges(today: date, query: dict[str, str]) -> list[QuickRange]:
    """Return the last days, this month and the last one; ``query`` has the other filters."""
    month_start = today.replace(day=1)
    last_month_end = month_start - timedelta(days=1)
    last_days = [
        _make_range(
            audit_labels.LAST_DAYS.format(day_count=day_count),
            query,
            today - timedelta(days=day_count - 1),
        )
        for day_count in _DAY_COUNTS
    ]
    return [
        *last_days,
        _make_range(_name_month(month_start), query, month_start),
        _make_range(
            _name_month(last_month_end), query, last_month_end.replace(day=1), last_month_end
        ),
    ]


def _make_range(
    label: str, query: dict[str, str], since: date, until: date | None = None
) -> QuickRange:
    params = {key: value for key, value in query.items() if key not in ("since", "until")}
    params["since"] = since.isoformat()
    if until:
        params["until"] = until.isoformat()
    return QuickRange(label, urlencode(params))


def _name_month(day: date) -> str:
    return f"{dates.MONTHS[day.month]} {day.year}"
