from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jpweb.stream.transcript.turn_times import TimedEvent, TurnTimes, measure_turn

START = datetime(2026, 1, 2, 3, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def measure(*events: tuple[str, int, float], waits: list[tuple[float, float]] = []) -> TurnTimes:  # noqa: B006  it is only read
    times = measure_turn(
        [
            TimedEvent(category, item_position, at(second))
            for category, item_position, second in events
        ],
        [(at(start), at(end)) for start, end in waits],
    )
    assert times
    return times


def spent(times: TurnTimes) -> tuple[float, float, float]:
    return times.model_seconds, times.tool_seconds, times.waiting_seconds


def test_a_turn_without_events_has_no_times():
    assert measure_turn([]) is None


@pytest.mark.parametrize(
    ("events", "waits", "expected"),
    [
        ([("person", 0, 0), ("message", 1, 7)], [], (7, 0, 0)),
        ([("person", 0, 0), ("call", 1, 2), ("result", 1, 5), ("message", 3, 6)], [], (3, 3, 0)),
        # The question waits inside its call.
        (
            [("call", 0, 0), ("question", 0, 1), ("outcome", 0, 4), ("result", 0, 6)],
            [],
            (0, 3, 3),
        ),
        # Calls side by side are not counted twice, whichever ends first.
        (
            [("call", 0, 0), ("call", 1, 1), ("result", 1, 2), ("failure", 0, 10)],
            [],
            (0, 10, 0),
        ),
        # Two questions of one call, the first of which was dropped.
        (
            [
                *[("call", 0, 0), ("question", 0, 1), ("dropped", 0, 2)],
                *[("question", 0, 5), ("outcome", 0, 9), ("result", 0, 10)],
            ],
            [],
            (0, 5, 5),
        ),
        # A call without a result and a question without an outcome count as the model's time.
        ([("call", 0, 0), ("question", 0, 1), ("message", 2, 4)], [], (4, 0, 0)),
        # An approval waits where no call runs yet; what lies outside the turn is cut off.
        ([("person", 0, 0), ("message", 1, 10)], [(-5, 2), (8, 20), (30, 40)], (6, 0, 4)),
        # Clocks that went backwards make no negative times.
        ([("call", 0, 5), ("result", 0, 3)], [], (2, 0, 0)),
    ],
)
def test_the_time_of_a_turn_is_the_models_a_tools_or_waiting(
    events: list[tuple[str, int, float]],
    waits: list[tuple[float, float]],
    expected: tuple[float, float, float],
):
    times = measure(*events, waits=waits)
    assert spent(times) == expected
    assert sum(expected) == times.seconds


def test_problems_are_counted():
    times = measure(("failure", 0, 0), ("dropped", 0, 1), ("broken", 2, 2), ("result", 3, 3))
    assert times.problem_count == 3
