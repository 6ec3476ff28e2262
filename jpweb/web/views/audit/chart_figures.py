"""Audit: each chart with the table behind it, whose cells lead to the questions they count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlencode

from django.utils.safestring import SafeString

from jpweb.runtime.rendering import charts
from jpweb.runtime.rendering.charts import BarChart, Series
from jpweb.store.audit import AuditFilters
from jpweb.store.reviews.inquiry_counts import Grid, OpenAges, Period, PeriodCounts
from jpweb.store.reviews.waiting_percentiles import Percentiles, WaitingTime
from jpweb.stream.markdown import outcome_texts
from jpweb.web import display_text
from jpweb.web.labels import audit_labels, chart_labels

#: States in the order of the bars' parts.
_STATES = ("answered", "redacted", "cancelled", "unanswered", "open")
#: Workspaces, tools or people whose waits have bars; the table has all.
_MAX_WAITING_GROUPS = 12


class Cell(NamedTuple):
    """A cell; ``query`` filters the audit table by the cell's rows, "" where no filter does."""

    text: str
    query: str = ""


class Figure(NamedTuple):
    """A picture, its legend, and its table: headings, and rows whose first cell names them."""

    picture: SafeString
    legend: list[str]
    headings: list[str]
    rows: list[list[Cell]]


class Links:
    """Queries of the audit table: those of the charts' filters, narrowed."""

    def __init__(self, query: dict[str, str]) -> None:
        self._query = query

    def narrow(self, **params: str | None) -> str:
        """Return the query, or "" where a value is none that the form's fields take as it is."""
        values = [value or "" for value in params.values()]
        is_exact = all(value and value == value.strip() for value in values)
        return urlencode(self._query | params) if is_exact else ""


def build_outcomes(periods: Sequence[Period], filters: AuditFilters, links: Links) -> Figure:
    """Return the outcomes over time."""
    labels = [display_text.STATE_LABELS[state][0] for state in _STATES]
    rows = []
    for period in periods:
        days = _name_days(period, filters.since)
        total = sum(period.counts.values())
        cells = [
            _make_count(period.counts.get(state, 0), links.narrow(**days, outcome=state))
            for state in _STATES
        ]
        heading = Cell(chart_labels.describe_period(period), links.narrow(**days) if total else "")
        rows.append([heading, *cells])
    chart = BarChart(
        [chart_labels.shorten_period(period) for period in periods],
        [
            Series(label, [period.counts.get(state, 0) for period in periods])
            for state, label in zip(_STATES, labels, strict=True)
        ],
    )
    return _make_figure(chart, [chart_labels.PERIOD_HEADING, *labels], rows)


def list_undrawn(period_counts: PeriodCounts, links: Links) -> list[Cell]:
    """Return the counts of the questions before the first period, and after the last."""
    periods, earlier_count, later_count = period_counts
    cells = []
    if earlier_count:
        first_day = periods[0].first_day
        text = chart_labels.count_earlier(earlier_count, first_day)
        until = first_day - timedelta(days=1)
        cells.append(Cell(text, links.narrow(until=until.isoformat())))
    if later_count:
        last_day = periods[-1].last_day
        text = chart_labels.count_later(later_count, last_day)
        since = last_day + timedelta(days=1)
        cells.append(Cell(text, links.narrow(since=since.isoformat())))
    return cells


def build_reasons(grid: Grid, links: Links) -> Figure:
    """Return the cancellation reasons by tool."""

    def find_query(tool: str | None, *reason: str | None) -> str:
        reason_filter = {"reason": reason[0]} if reason else {}
        return links.narrow(outcome="cancelled", tool=tool, **reason_filter)

    labels = [_describe_reason(reason) for reason in grid.columns]
    names = [chart_labels.OTHER_TOOLS if tool is None else tool for tool in grid.rows]
    return _build_grid(grid, (chart_labels.TOOL_HEADING, names, labels), find_query)


def build_people(grid: Grid, links: Links) -> Figure:
    """Return the questions that people decided, by tool."""

    def find_query(person: str | None, *tool: str | None) -> str:
        return links.narrow(person=person, **({"tool": tool[0]} if tool else {}))

    labels = [chart_labels.OTHER_TOOLS if tool is None else tool for tool in grid.columns]
    names = [chart_labels.OTHER_PEOPLE if name is None else name for name in grid.rows]
    return _build_grid(grid, (chart_labels.PERSON_HEADING, names, labels), find_query)


def build_deciders(grid: Grid, links: Links) -> Figure:
    """Return the outcomes by the kind of decider."""

    def find_query(kind: str | None, *state: str | None) -> str:
        return links.narrow(decided=kind, **({"outcome": state[0]} if state else {}))

    grid = grid._replace(columns=[*_STATES[:-1]])  # each state has the colour of the first chart
    labels = [display_text.STATE_LABELS[state][0] for state in _STATES[:-1]]
    names = [
        chart_labels.UNKNOWN_DECIDER if kind is None else audit_labels.DECIDER_KIND_LABELS[kind]
        for kind in grid.rows
    ]
    return _build_grid(grid, (chart_labels.DECIDER_HEADING, names, labels), find_query)


def build_waits(times: Sequence[WaitingTime], heading: str) -> Figure:
    """Return the times until questions of each group were answered, and until they were seen."""
    shown_times = times[:_MAX_WAITING_GROUPS]
    views = [time.views for time in shown_times]
    series = _make_time_series(chart_labels.ANSWER_SERIES, [time.answers for time in shown_times])
    if any(views):  # questions of jp alone were on no page of jpweb
        series += _make_time_series(chart_labels.VIEW_SERIES, views)
    headings = [heading, *chart_labels.ANSWER_HEADINGS, *chart_labels.VIEW_HEADINGS]
    rows = [
        [Cell(time.group), *_make_time_cells(time.answers), *_make_time_cells(time.views)]
        for time in times
    ]
    return _make_figure(
        BarChart([time.group for time in shown_times], series, True, True), headings, rows
    )


def build_hours(times: Sequence[WaitingTime]) -> Figure:
    """Return the times until answers by hour."""
    answers_by_hour = {time.group: time.answers for time in times}
    hours = [f"{hour:02}" for hour in range(24)]
    shown_hours = [answers_by_hour.get(hour) for hour in hours]
    series = _make_time_series(chart_labels.ANSWER_SERIES, shown_hours)
    headings = [chart_labels.HOUR_HEADING, *chart_labels.ANSWER_HEADINGS]
    rows = [[Cell(f"{time.group}:00"), *_make_time_cells(time.answers)] for time in times]
    return _make_figure(BarChart(hours, series, has_times=True), headings, rows)


def build_ages(ages: OpenAges) -> Figure:
    """Return the open questions and approvals by age."""
    labels, headings = chart_labels.AGE_LABELS, chart_labels.COUNT_HEADINGS
    series = [Series(heading, counts) for heading, counts in zip(headings, ages, strict=True)]
    chart = BarChart(labels, series, is_horizontal=True)
    rows = [
        [Cell(label), *map(_make_count, counts)]
        for label, *counts in zip(labels, *ages, strict=True)
    ]
    return _make_figure(chart, [chart_labels.AGE_HEADING, *headings], rows)


def _build_grid(
    grid: Grid,
    texts: tuple[str, list[str], list[str]],
    find_query: Callable[..., str],
) -> Figure:
    """Return a figure with a bar for each row; ``texts``: heading, names of rows and columns."""
    heading, names, labels = texts
    rows = [
        [
            Cell(name, find_query(row)),
            *(
                _make_count(grid.counts.get((row, column), 0), find_query(row, column))
                for column in grid.columns
            ),
        ]
        for row, name in zip(grid.rows, names, strict=True)
    ]
    series = [
        Series(label, [grid.counts.get((row, column), 0) for row in grid.rows])
        for column, label in zip(grid.columns, labels, strict=True)
    ]
    return _make_figure(BarChart(names, series, is_horizontal=True), [heading, *labels], rows)


def _make_figure(chart: BarChart, headings: list[str], rows: list[list[Cell]]) -> Figure:
    legend = [series.label for series in chart.series]
    return Figure(charts.draw_bars(chart), legend, headings, rows)


def _make_count(count: int, query: str = "") -> Cell:
    return Cell(f"{count:,}", query if count else "")


def _make_time_series(labels: tuple[str, str], times: Sequence[Percentiles | None]) -> list[Series]:
    median_label, p95_label = labels
    return [
        Series(median_label, [time.median if time else None for time in times]),
        Series(p95_label, [time.p95 if time else None for time in times]),
    ]


def _make_time_cells(times: Percentiles | None) -> list[Cell]:
    if times is None:
        return [Cell("0"), Cell(""), Cell("")]
    seconds = (times.median, times.p95)
    return [_make_count(times.sample_size), *(Cell(f"{value:,.3f}") for value in seconds)]


def _name_days(period: Period, since: datetime | None) -> dict[str, str]:
    """Return the days of a period from the beginning of the charts' range on."""
    first_day = max(period.first_day, since.date()) if since else period.first_day
    return {"since": first_day.isoformat(), "until": period.last_day.isoformat()}


def _describe_reason(reason: str | None) -> str:
    if reason is None:
        return chart_labels.OTHER_REASONS
    return _capitalize(outcome_texts.describe_reason(reason))


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
