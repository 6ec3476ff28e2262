"""Counts of the audit's inquiries for charts: by period, reason, tool, person and age.

The database counts; each function takes one query, or one more for the most frequent values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal, NamedTuple

from django.db.models import Case, Count, F, Max, Min, Q, QuerySet, Value, When

from jpweb.store import audit
from jpweb.store.audit import AuditFilters
from jpweb.store.database import clock
from jpweb.store.inquiries import OPEN_STATE
from jpweb.store.models import Inquiry
from jpweb.store.sql import utc_text
from jpweb.stream.inquiry import CancellationReason

#: Newest inquiries that are counted, and the most values of each kind that have a count of their
#: own. All statistics of 100,000 inquiries took 2 s with SQLite, on a machine that did more.
MAX_COUNTED_ROWS = 100_000
MAX_TOOLS, MAX_PEOPLE, MAX_TOOLS_OF_PEOPLE = 12, 12, 6
#: Bars of the longest period.
MAX_PERIODS = 60
#: Days of the longest range by day, by week and by month; a longer one is counted by year.
_MAX_RANGE_DAYS = {"day": 60, "week": 58 * 7, "month": 58 * 30}
#: Upper bounds of the ages of open questions and approvals, in seconds; the last count is of those
#: that are older.
AGE_BOUNDS_SECONDS = (60, 3600, 86400, 7 * 86400)
#: Kinds of deciders that have a count of their own.
DECIDER_KINDS = ("person", "configuration", "operator", "memory", "assistant", "system")

PeriodUnit = Literal["day", "week", "month", "year"]


class Sample(NamedTuple):
    """The newest inquiries that filters let through, with the days of the first and the last.

    ``is_limited``: older ones are left out.
    """

    rows: QuerySet[Any]  # with the annotation any_state
    first_day: date | None
    last_day: date | None
    is_limited: bool


class Period(NamedTuple):
    """The days of a bar, both inclusive, and the counts by state."""

    unit: PeriodUnit
    first_day: date
    last_day: date
    counts: dict[str, int]


class PeriodCounts(NamedTuple):
    """The periods of a chart, and the numbers of inquiries before the first and after the last."""

    periods: list[Period]
    earlier_count: int = 0
    later_count: int = 0


class Grid(NamedTuple):
    """Counts by row and column; None is the key of all values that are not in the lists."""

    rows: list[str | None]
    columns: list[str | None]
    counts: dict[tuple[str | None, str | None], int]


class OpenAges(NamedTuple):
    """The open rows of each table up to each age of ``AGE_BOUNDS_SECONDS``, and the older ones."""

    inquiries: list[int]
    approvals: list[int]


def take_sample(person_id: int, filters: AuditFilters) -> Sample:
    """Return the inquiries that charts count; at most five queries."""
    rows = audit.list_inquiries(person_id, filters).select_related(None).order_by()
    is_limited = rows.values("pk")[: MAX_COUNTED_ROWS + 1].count() > MAX_COUNTED_ROWS
    rows = _limit_rows(person_id, filters) if is_limited else rows.annotate(any_state=F("state"))
    bounds: dict[str, Any] = rows.aggregate(first=Min("asked_at"), last=Max("asked_at"))
    first_date, last_date = (at.date() if at else None for at in (bounds["first"], bounds["last"]))
    return Sample(rows, first_date, last_date, is_limited)


def _limit_rows(person_id: int, filters: AuditFilters) -> QuerySet[Inquiry]:
    """Return the newest inquiries, by a range of the index of their time."""
    rows = audit.filter_inquiries(person_id, filters).prefetch_related(None)
    times = rows.order_by("-asked_at", "-id").values_list("asked_at", flat=True)
    for oldest_time in times[MAX_COUNTED_ROWS - 1 : MAX_COUNTED_ROWS]:
        rows = rows.filter(asked_at__gte=oldest_time)
    return rows


def choose_unit(first_day: date, last_day: date) -> PeriodUnit:
    """Return the shortest unit of which the range has not too many."""
    range_days = (last_day - first_day).days
    units: tuple[PeriodUnit, ...] = ("day", "week", "month")
    return next((unit for unit in units if range_days < _MAX_RANGE_DAYS[unit]), "year")


def count_by_period(sample: Sample) -> PeriodCounts:
    """Return the counts by state of the last ``MAX_PERIODS`` periods, without a gap.

    At most two queries more where these do not reach back to the first inquiry.
    """
    if sample.first_day is None or sample.last_day is None:
        return PeriodCounts([])
    last_day = _choose_last_day(sample, sample.first_day, sample.last_day)
    rows, later_count = sample.rows, 0
    if last_day < sample.last_day:
        end = datetime.combine(last_day + timedelta(days=1), time(), UTC)
        rows, later_count = rows.filter(asked_at__lt=end), rows.filter(asked_at__gte=end).count()
    unit = choose_unit(sample.first_day, last_day)
    text = {"month": utc_text.get_month, "year": utc_text.get_year}.get(unit, utc_text.get_day)
    rows_by_period = rows.annotate(period=text("asked_at")).order_by()
    periods = _list_periods(sample.first_day, last_day, unit)
    counts: dict[date, dict[str, int]] = {period.first_day: period.counts for period in periods}
    earlier_counts: dict[str, int] = {}
    for period_text, state, count in _count(rows_by_period, "period", "state"):
        day = date.fromisoformat(f"{period_text}-01-01"[:10])
        states = counts.get(_find_first_day(day, unit), earlier_counts)
        states[state] = states.get(state, 0) + count
    return PeriodCounts(periods, sum(earlier_counts.values()), later_count)


def _choose_last_day(sample: Sample, first_day: date, last_day: date) -> date:
    """Return the day of the last inquiry; of the last until tomorrow, where not all have a bar.

    One question of a clock that is years ahead would leave no bar to all others.
    """
    if last_day.year - first_day.year < MAX_PERIODS:
        return last_day
    past_rows = sample.rows.filter(asked_at__lt=clock.now() + timedelta(days=1))
    last_at: datetime | None = past_rows.aggregate(last=Max("asked_at"))["last"]
    return last_at.date() if last_at else last_day


def count_reasons_by_tool(sample: Sample) -> Grid:
    """Return the cancelled inquiries by tool and reason, those of the most frequent tools first."""
    rows = sample.rows.filter(any_state="cancelled")
    tools = _list_most_frequent(rows, "asker", MAX_TOOLS)
    return _count_grid(rows, "asker", tools, "reason", [*CancellationReason])


def count_tools_by_person(sample: Sample) -> Grid:
    """Return the inquiries that people settled, by their name and tool."""
    rows = sample.rows.exclude(decider_name="")
    people = _list_most_frequent(rows, "decider_name", MAX_PEOPLE)
    tools = _list_most_frequent(rows, "asker", MAX_TOOLS_OF_PEOPLE)
    return _count_grid(rows, "decider_name", people, "asker", tools)


def count_states_by_decider(sample: Sample) -> Grid:
    """Return the settled inquiries by the kind of their decider and state."""
    rows = sample.rows.exclude(any_state=OPEN_STATE)
    states = ["answered", "redacted", "cancelled", "unanswered"]
    return _count_grid(rows, "decided_by", DECIDER_KINDS, "state", states)


def count_open_by_age(person_id: int, filters: AuditFilters) -> OpenAges:
    """Return the open inquiries and approvals up to each age, and the older ones.

    They are those of any time: an index has them, and the oldest matter most.
    """
    inquiries, approvals = audit.list_open_rows(person_id, filters)
    inquiry_ages = _count_ages(inquiries, "inquiries")
    counts_by_table = {
        table: counts for table, *counts in inquiry_ages.union(_count_ages(approvals, "approvals"))
    }
    no_ages = [0] * (len(AGE_BOUNDS_SECONDS) + 1)
    return OpenAges(*(counts_by_table.get(table, no_ages) for table in OpenAges._fields))


def _count_ages(rows: QuerySet[Any], table: str) -> QuerySet[Any, tuple[Any, ...]]:
    """Return one row: the table's name, and the counts by age."""
    current_time = clock.now()
    begins = [current_time - timedelta(seconds=seconds) for seconds in AGE_BOUNDS_SECONDS]
    upper_bounds = [Q(), *(Q(asked_at__lt=begin) for begin in begins)]
    lower_bounds = [*(Q(asked_at__gte=begin) for begin in begins), Q()]
    counts = {
        f"age_{number}": Count("pk", filter=pair[0] & pair[1])
        for number, pair in enumerate(zip(upper_bounds, lower_bounds, strict=True))
    }
    counted_rows: QuerySet[Any, tuple[Any, ...]]
    counted_rows = (
        rows.order_by().annotate(table=Value(table)).values_list("table").annotate(**counts)
    )
    return counted_rows


def _list_periods(first_day: date, last_day: date, unit: PeriodUnit) -> list[Period]:
    periods: list[Period] = []
    day = _find_first_day(last_day, unit)
    end_day = last_day
    while len(periods) < MAX_PERIODS and end_day >= first_day:
        periods.append(Period(unit, day, end_day, {}))
        if day == date.min:
            break
        end_day = day - timedelta(days=1)
        day = _find_first_day(end_day, unit)
    return periods[::-1]


def _find_first_day(day: date, unit: PeriodUnit) -> date:
    match unit:
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "year":
            return day.replace(month=1, day=1)


def _list_most_frequent(rows: QuerySet[Any], column: str, limit: int) -> list[str]:
    counted_rows = rows.order_by().values_list(column).annotate(n=Count("pk"))
    return [value for value, _ in counted_rows.order_by("-n", column)[:limit]]


def _count_grid(
    rows: QuerySet[Any],
    row_column: str,
    row_values: Sequence[str],
    column: str,
    column_values: Sequence[str],
) -> Grid:
    """Count by two columns; values outside the lists are counted together."""
    if not row_values:
        return Grid([], [], {})
    rows_with_rest = rows.annotate(
        row_value=_fold(row_column, row_values), column_value=_fold(column, column_values)
    )
    counts = {
        (row_value, column_value): count
        for row_value, column_value, count in _count(rows_with_rest, "row_value", "column_value")
    }
    has_row, has_column = {key[0] for key in counts}, {key[1] for key in counts}
    return Grid(
        [value for value in (*row_values, None) if value in has_row],
        [value for value in (*column_values, None) if value in has_column],
        counts,
    )


def _fold(column: str, values: Iterable[str]) -> Case:
    """Return the column's value, or NULL where it is not one of these."""
    return Case(When(**{f"{column}__in": [*map(str, values)]}, then=F(column)))


def _count(rows: QuerySet[Any], *columns: str) -> Iterable[tuple[Any, ...]]:
    counted_rows: QuerySet[Any, tuple[Any, ...]]
    counted_rows = rows.order_by().values_list(*columns).annotate(n=Count("pk"))
    return counted_rows
