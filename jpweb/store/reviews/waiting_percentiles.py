"""Median and 95th percentile of the time that people took to answer, by workspace and by hour."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db.models import Count, F, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from jpweb.store.reviews.inquiry_counts import Sample
from jpweb.store.sql import utc_text
from jpweb.store.sql.waiting_time import WaitingMilliseconds

#: States of inquiries that people answered; the answer of a redacted one was a secret.
_ANSWERED_STATES = ("answered", "redacted")


class WaitingTime(NamedTuple):
    """Percentiles of a group by the nearest rank, in seconds, and the number of its answers."""

    group: str
    answer_count: int
    median: float
    p95: float


def measure_by_workspace(sample: Sample) -> list[WaitingTime]:
    """Return the waiting times by workspace; those with most answers first."""
    rows = sample.rows.annotate(
        group=F("conversation__workspace_id"), name=F("conversation__workspace__name")
    )
    picked = _pick_ranks(rows, "group", "name")
    times = [WaitingTime(name, *ranks) for (_, name), ranks in picked.items()]
    return sorted(times, key=lambda time: (-time.answer_count, time.group))


def measure_by_hour(sample: Sample) -> list[WaitingTime]:
    """Return the waiting times by the hour of the question, "00" to "23" in UTC."""
    rows = sample.rows.annotate(group=utc_text.get_hour("asked_at"))
    return sorted(
        WaitingTime(hour, *ranks) for (hour,), ranks in _pick_ranks(rows, "group").items()
    )


def _pick_ranks(
    rows: QuerySet[Any], *columns: str
) -> dict[tuple[Any, ...], tuple[int, float, float]]:
    """Return count, median and 95th percentile by the first column.

    The database numbers the rows of each group by their waiting time and returns two of each.
    """
    answers = rows.filter(
        any_state__in=_ANSWERED_STATES, decided_by="person", settled_at__isnull=False
    ).order_by()
    waited = WaitingMilliseconds("settled_at", "asked_at")
    ranked = answers.annotate(
        waited=waited,
        count=Window(Count("pk"), partition_by=F(columns[0])),
        rank=Window(RowNumber(), partition_by=F(columns[0]), order_by=waited.asc()),
    )
    # The nearest rank is n * p / 100, rounded up.
    ranked = ranked.annotate(
        median_rank=(F("count") + 1) / 2, p95_rank=(F("count") * 95 + 99) / 100
    ).filter(Q(rank=F("median_rank")) | Q(rank=F("p95_rank")))
    times: dict[tuple[Any, ...], tuple[int, float, float]] = {}
    for *key, waited_ms, count in ranked.order_by("rank").values_list(*columns, "waited", "count"):
        # A group of one has one row, which is both; the later of two is the higher percentile.
        seconds = max(waited_ms, 0) / 1000
        times[tuple(key)] = count, times.get(tuple(key), (0, seconds, 0))[1], seconds
    return times
