"""Growth of a cost with its size, in processor time: other processes do not count."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time
from typing import TypeVar

_Input = TypeVar("_Input")

#: Growth from an input to one of four times its size: 4 where it is linear, 16 where quadratic.
MAX_LINEAR_GROWTH = 8.0


def measure_growth(run: Callable[[_Input], object], small: _Input, large: _Input) -> float:
    """Return how many times as long ``run`` takes with the large input."""
    return _measure_least(run, large) / _measure_least(run, small)


def _measure_least(run: Callable[[_Input], object], argument: _Input) -> float:
    """Return the least of three processor times."""
    seconds = []
    for _ in range(3):
        start = thread_time()
        run(argument)
        seconds.append(thread_time() - start)
    return min(seconds)
