"""Median and 95th percentile of the time until people saw and answered questions, by group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Value, Window
from django.db.models.functions import Coalesce, NullIf, RowNumber

from jpweb.store.models import DisplayReceipt
from jpweb.store.reviews.inquiry_counts import Sample
from jpweb.store.sql import utc_text
from jpweb.store.sql.waiting_time import WaitingMilliseconds

#: States of inquiries that people answered; the answer of a redacted one was a secret.
_ANSWERED_STATES = ("answered", "redacted")
#: Columns of the end and the begin of a wait: of inquiries, and of receipts.
_ANSWER_SPAN, _VIEW_SPAN = ("settled_at", "asked_at"), ("visible_at", "inquiry__asked_at")
#: The name by which receipts and inquiries know a person (``Person.display_name``).
_READER_NAME = Coalesce(
    NullIf("person__first_name", Value("")), "person__username", "person_name"
)  # fmt: skip


class Percentiles(NamedTuple):
    """Percentiles of ``sample_size`` times, by the nearest rank, in seconds."""

    sample_size: int
    median: float
    p95: float


class WaitingTime(NamedTuple):
    """The times of one group until questions were answered, and until they were on a screen."""

    group: str
    answers: Percentiles | None
    views: Percentiles | None = None


def measure_by_workspace(sample: Sample) -> list[WaitingTime]:
    """Return the times by workspace; those with most answers first."""
    return _measure_by(sample, "conversation__workspace_id", "conversation__workspace__name")


def measure_by_tool(sample: Sample) -> list[WaitingTime]:
    """Return the times by the tool that asked; those with most answers first."""
    return _measure_by(sample, "asker")


def measure_by_person(sample: Sample) -> list[WaitingTime]:
    """Return the times until each person saw and answered questions; most answers first."""
    answers = _list_answers(sample).exclude(decider_name="")
    receipts = _list_views(sample).annotate(reader=_READER_NAME)
    return _join_times(
        _pick_ranks(answers, _ANSWER_SPAN, "decider_name"),
        _pick_ranks(receipts, _VIEW_SPAN, "reader"),
    )


def measure_by_hour(sample: Sample) -> list[WaitingTime]:
    """Return the times until answers by the hour of the question, "00" to "23" in UTC."""
    rows = _list_answers(sample).annotate(hour=utc_text.get_hour("asked_at"))
    return sorted(
        WaitingTime(hour, times)
        for (hour,), times in _pick_ranks(rows, _ANSWER_SPAN, "hour").items()
    )


def _measure_by(sample: Sample, *columns: str) -> list[WaitingTime]:
    """Return the times of groups: the first column tells them apart, the last names them."""
    view_columns = [f"inquiry__{column}" for column in columns]
    return _join_times(
        _pick_ranks(_list_answers(sample), _ANSWER_SPAN, *columns),
        _pick_ranks(_list_first_views(sample), _VIEW_SPAN, *view_columns),
    )


def _list_views(sample: Sample) -> QuerySet[DisplayReceipt]:
    """Return the receipts of those who had an inquiry of the sample on their screen."""
    return DisplayReceipt.objects.filter(
        inquiry__in=sample.rows.values("pk"), visible_at__isnull=False
    )


def _list_first_views(sample: Sample) -> QuerySet[DisplayReceipt]:
    """Return one receipt of each inquiry: of the person who had it on their screen first."""
    is_earlier = Q(visible_at__lt=OuterRef("visible_at"))
    is_same_time = Q(visible_at=OuterRef("visible_at"), pk__lt=OuterRef("pk"))
    earlier_receipts = DisplayReceipt.objects.filter(
        is_earlier | is_same_time, inquiry=OuterRef("inquiry")
    )
    return _list_views(sample).filter(~Exists(earlier_receipts))


def _list_answers(sample: Sample) -> QuerySet[Any]:
    return sample.rows.filter(
        any_state__in=_ANSWERED_STATES, decided_by="person", settled_at__isnull=False
    )


def _join_times(
    answers: Mapping[tuple[Any, ...], Percentiles], views: Mapping[tuple[Any, ...], Percentiles]
) -> list[WaitingTime]:
    times = [
        WaitingTime(key[-1], answers.get(key), views.get(key))
        for key in answers.keys() | views.keys()
    ]
    return sorted(times, key=_rank_group)


def _rank_group(time: WaitingTime) -> tuple[int, int, str]:
    answers, views = time.answers, time.views
    return -answers.sample_size if answers else 0, -views.sample_size if views else 0, time.group


def _pick_ranks(
    rows: QuerySet[Any], span: tuple[str, str], *columns: str
) -> dict[tuple[Any, ...], Percentiles]:
    """Return the percentiles of a span, the columns of its end and its begin, by the first column.

    The database numbers the rows of each group by their waiting time and returns two of each.
    """
    waited_time = WaitingMilliseconds(*span)
    ranked_rows = rows.order_by().annotate(
        waited=waited_time,
        count=Window(Count("pk"), partition_by=F(columns[0])),
        rank=Window(RowNumber(), partition_by=F(columns[0]), order_by=waited_time.asc()),
    )
    # The nearest rank is n * p / 100, rounded up.
    ranked_rows = ranked_rows.annotate(
        median_rank=(F("count") + 1) / 2, p95_rank=(F("count") * 95 + 99) / 100
    ).filter(Q(rank=F("median_rank")) | Q(rank=F("p95_rank")))
    times: dict[tuple[Any, ...], Percentiles] = {}
    for *key, waited_ms, count in ranked_rows.order_by("rank").values_list(
        *columns, "waited", "count"
    ):
        # A group of one has one row, which is both; the later of two is the higher percentile.
        seconds = max(waited_ms, 0) / 1000
        lower_percentiles = times.get(tuple(key))
        times[tuple(key)] = Percentiles(
            count, lower_percentiles.median if lower_percentiles else seconds, seconds
        )
    return times
