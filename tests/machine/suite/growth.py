"""Growth of a cost with its size, in processor time: other processes do not count."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

#: Growth from a size to its double's double: 4 where it is linear, and 16 where it is quadratic.
MAX_LINEAR_GROWTH = 8.0


def measure_growth(run: Callable[[int], object], size: int) -> float:
    """Return how many times as long ``run`` takes at four times the size."""
    return _measure_least(run, 4 * size) / _measure_least(run, size)


def _measure_least(run: Callable[[int], object], size: int) -> float:
    """Return the least of three processor times."""
    seconds = []
    for _ in range(3):
        start = thread_time()
        run(size)
        seconds.append(thread_time() - start)
    return min(seconds)
