"""How a turn's time was spent: on the model, on tools, and on waiting for people."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from jpweb.stream.transcript.categories import PROBLEM_CATEGORIES

#: A beginning and an end.
Interval: TypeAlias = tuple[datetime, datetime]

_RESULT_CATEGORIES = ("result", "failure")
_OUTCOME_CATEGORIES = ("outcome", "dropped")


class TimedEvent(NamedTuple):
    """An event's category, the position of its item, and when it happened."""

    category: str
    item_position: int
    at: datetime


class TurnTimes(NamedTuple):
    """When a turn began and ended, and the seconds that it spent on each; problems are counted."""

    started_at: datetime
    ended_at: datetime
    model_seconds: float
    tool_seconds: float
    waiting_seconds: float
    problem_count: int

    @property
    def seconds(self) -> float:
        """The whole duration."""
        return (self.ended_at - self.started_at).total_seconds()


def measure_turn(
    events: Sequence[TimedEvent], approval_waits: Iterable[Interval] = ()
) -> TurnTimes | None:
    """Return how a turn's time was spent; None without events.

    Waiting is the time in which a question or an approval was open, tools the rest of the time in
    which a call was running, and the model all the rest. ``approval_waits`` may lie outside.
    """
    if not events:
        return None
    started_at, ended_at = min(event.at for event in events), max(event.at for event in events)
    waits = [
        (max(start, started_at), min(end, ended_at))
        for start, end in approval_waits
        if start < ended_at and end > started_at
    ]
    waits += _pair_events(events, ("question",), _OUTCOME_CATEGORIES)
    calls = _pair_events(events, ("call",), _RESULT_CATEGORIES)
    waiting_seconds = _count_covered_seconds(waits)
    busy_seconds = _count_covered_seconds([*waits, *calls])
    total_seconds = (ended_at - started_at).total_seconds()
    return TurnTimes(
        started_at,
        ended_at,
        model_seconds=max(total_seconds - busy_seconds, 0.0),
        tool_seconds=busy_seconds - waiting_seconds,
        waiting_seconds=waiting_seconds,
        problem_count=sum(event.category in PROBLEM_CATEGORIES for event in events),
    )


def _pair_events(
    events: Iterable[TimedEvent], openings: tuple[str, ...], endings: tuple[str, ...]
) -> list[Interval]:
    """Return the intervals between openings and endings of the same item, the oldest first."""
    open_starts: dict[int, deque[datetime]] = defaultdict(deque)
    intervals = []
    for event in events:
        starts = open_starts[event.item_position]
        if event.category in openings:
            starts.append(event.at)
        elif event.category in endings and starts:
            start = starts.popleft()
            intervals.append((start, max(start, event.at)))
    return intervals


def _count_covered_seconds(intervals: Iterable[Interval]) -> float:
    """Return the seconds that at least one of the intervals covers."""
    seconds = 0.0
    covered_until: datetime | None = None
    for start, end in sorted(intervals):
        begin = start if covered_until is None else max(start, covered_until)
        if end > begin:
            seconds += (end - begin).total_seconds()
        covered_until = end if covered_until is None else max(covered_until, end)
    return seconds
