"""The times of a conversation's turns, read from the beginnings of its entries."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from typing import NamedTuple

from django.db.models.functions import Substr

from jpweb.store.models import Approval, JournalEntry, Turn
from jpweb.stream.timestamps import parse_timestamp
from jpweb.stream.transcript.turn_times import Interval, TimedEvent, TurnTimes, measure_turn

#: Turns of one timeline.
MAX_TURNS = 120
#: Entries and approvals that are read for a timeline; turns after them have no times.
MAX_ENTRIES, MAX_APPROVALS = 20_000, 1_000
#: Characters of an entry that are read: its timestamp is its first key.
_PREFIX_CHARS = 100
_TIMESTAMP = re.compile(r'\s*\{\s*"timestamp"\s*:\s*"([^"\\]{10,40})"')


class TimelineTurn(NamedTuple):
    """A turn and its times; None where none of its events has a timestamp, or they are too many."""

    number: int
    title: str
    times: TurnTimes | None


class Timeline(NamedTuple):
    """Consecutive turns with their times, and the number of those before and after them."""

    turns: list[TimelineTurn]
    earlier_count: int
    later_count: int


def load_timeline(conversation_id: int, first_number: int, turn_count: int) -> Timeline:
    """Return up to ``MAX_TURNS`` turns from a number on; ``turn_count`` counts all turns."""
    first_number = max(min(first_number, turn_count - 1), 0)
    rows = Turn.objects.filter(conversation_id=conversation_id, number__gte=first_number)
    turns = list(rows.order_by("number")[: MAX_TURNS + 1])
    shown_turns, following_turns = turns[:MAX_TURNS], turns[MAX_TURNS:]
    if not shown_turns:
        return Timeline([], 0, 0)
    starts = [turn.position for turn in shown_turns]
    events_by_turn, end_position = _load_events(
        conversation_id, starts, following_turns[0].position if following_turns else None
    )
    waits = _load_approval_waits(conversation_id)
    timeline_turns = [
        TimelineTurn(
            turn.number,
            turn.title,
            measure_turn(events_by_turn[index], waits) if turn.position < end_position else None,
        )
        for index, turn in enumerate(shown_turns)
    ]
    later_count = max(turn_count - first_number - len(shown_turns), 0)
    return Timeline(timeline_turns, first_number, later_count)


def _load_events(
    conversation_id: int, starts: list[int], end_position: int | None
) -> tuple[dict[int, list[TimedEvent]], float]:
    """Return the events by the index of their turn, and the position from which none was read."""
    rows = JournalEntry.objects.filter(
        conversation_id=conversation_id, position__gte=starts[0]
    ).order_by("position")
    if end_position is not None:
        rows = rows.filter(position__lt=end_position)
    columns = rows.values_list(
        "position", "category", "item_position", Substr("text", 1, _PREFIX_CHARS)
    )
    events_by_turn: dict[int, list[TimedEvent]] = defaultdict(list)
    read_columns = list(columns[: MAX_ENTRIES + 1])
    for position, category, item_position, prefix in read_columns[:MAX_ENTRIES]:
        match = _TIMESTAMP.match(prefix)
        at = parse_timestamp(match[1]) if match else None
        if at is not None:
            index = bisect_right(starts, position) - 1
            events_by_turn[index].append(TimedEvent(category, item_position, at))
    has_more = len(read_columns) > MAX_ENTRIES
    return events_by_turn, read_columns[-1][0] if has_more else float("inf")


def _load_approval_waits(conversation_id: int) -> list[Interval]:
    """Return when the newest settled approvals of a conversation were open."""
    rows = Approval.objects.filter(conversation_id=conversation_id, settled_at__isnull=False)
    columns = rows.order_by("-asked_at").values_list("asked_at", "settled_at")
    return [
        (asked_at, settled_at) for asked_at, settled_at in columns[:MAX_APPROVALS] if settled_at
    ]
