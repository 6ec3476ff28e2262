"""Audit: the decisions of a page as a timeline, a lane for each decider of a day; UTC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from typing import Any, NamedTuple

from jpweb.store.reviews.decisions import Decision
from jpweb.stream.markdown import outcome_texts
from jpweb.web.labels import audit_labels

#: Deciders of a day that have a lane of their own; those of more share the last lane.
MAX_LANES = 8
#: Minutes of a lane, which are the units of its picture; widths of a mark and of the least wait.
LANE_MINUTES, MARK_MINUTES, MIN_WAIT_MINUTES = 24 * 60, 6, 0.5


class Mark(NamedTuple):
    """A decision in a lane: the minute of the day, and where the wait began, if anyone waited.

    Marks of a day's last minutes are before them, whole.
    """

    minute: float
    wait_minute: float
    wait_width: float
    outcome: str


class Lane(NamedTuple):
    """A decider's decisions of a day."""

    name: str
    marks: list[Mark]


class TimelineDay(NamedTuple):
    """A day, the rows of the table that belong to it, and its lanes, the fullest first.

    Each row has one value more: ``decider``, the text that names who decided.
    """

    day: date
    rows: list[dict[str, Any]]
    lanes: list[Lane]


def build_days(page: Sequence[Decision], rows: Sequence[dict[str, Any]]) -> list[TimelineDay]:
    """Return the days of a page, in its order; ``rows`` are the template values of ``page``."""
    days = groupby(zip(page, rows, strict=True), key=lambda pair: _to_day(pair[0].cursor.at))
    return [_build_day(day, list(pairs)) for day, pairs in days]


def _build_day(day: date, pairs: Sequence[tuple[Decision, dict[str, Any]]]) -> TimelineDay:
    rows = [row | {"decider": _describe_decider(row)} for _, row in pairs]
    names = [name for name, _ in Counter(row["decider"] for row in rows).most_common()]
    is_folded = len(names) > MAX_LANES
    lane_names = [*names[: MAX_LANES - 1], audit_labels.OTHER_DECIDERS] if is_folded else names
    lanes = {name: Lane(name, []) for name in lane_names}
    for (decision, _), row in zip(pairs, rows, strict=True):
        lane = lanes.get(row["decider"]) or lanes[audit_labels.OTHER_DECIDERS]
        lane.marks.append(_make_mark(day, decision, row))
    return TimelineDay(day, rows, list(lanes.values()))


def _describe_decider(row: dict[str, Any]) -> str:
    """Return the decider, in the words of the table."""
    if "entry" in row:
        return str(row["actor"])
    if approval := row.get("approval"):
        kind = outcome_texts.get_approval_decider_kind(approval.state)
        return outcome_texts.describe_decider(kind, approval.decider_name)
    return outcome_texts.describe_decider(row["inquiry"].decided_by, row["inquiry"].decider_name)


def _make_mark(day: date, decision: Decision, row: dict[str, Any]) -> Mark:
    request_row = row.get("inquiry") or row.get("approval")
    minute = _to_minute(day, decision.cursor.at)
    begin = max(_to_minute(day, request_row.asked_at), 0.0) if request_row else minute
    outcome = row["inquiry"].state if "inquiry" in row else ""
    width = max(minute - begin, MIN_WAIT_MINUTES) if request_row else 0.0
    minute = min(minute, LANE_MINUTES - MARK_MINUTES)
    return Mark(round(minute, 1), round(begin, 1), round(width, 1), outcome)


def _to_day(at: datetime) -> date:
    return at.astimezone(UTC).date()


def _to_minute(day: date, at: datetime) -> float:
    return (at - datetime.combine(day, time.min, UTC)) / timedelta(minutes=1)
