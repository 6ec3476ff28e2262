"""What a benchmark is, and the list of them."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

#: Is told how many rounds are done, and of how many.
Progress = Callable[[int, int], None]
#: One round: prepares what it needs, and returns the seconds that the measured part took.
Round = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """``measure`` is the dotted path of a function: Progress -> (value, floor)."""

    name: str
    unit: str
    goal: float
    measure: str


class Row(TypedDict):
    """A result as ``bench.json`` keeps it; ``ratio`` is value by floor."""

    name: str
    value: float
    unit: str
    floor: float
    ratio: float
    goal: float


BENCHMARKS = {
    each.name: each
    for each in [
        Benchmark("import.largest", "ms", 2.0, "tests.load.importing.largest"),
        Benchmark("render.markdown", "ms/MB", 1.5, "tests.load.rendering.markdown"),
        Benchmark("import.million", "s", 2.0, "tests.load.million.time"),
        Benchmark("import.memory", "MB", 1.1, "tests.load.million.memory"),
        Benchmark("fanout.5000", "ms", 1.3, "tests.load.fanout.loop"),
        Benchmark("fanout.5000.layer", "ms", 0.2, "tests.load.fanout.layer"),
        Benchmark("socket.idle", "KB", 1.5, "tests.load.sockets.idle"),
        Benchmark("answer.p99", "ms", 2.0, "tests.load.answering.p99"),
        Benchmark("answer.p99.form", "ms", 2.0, "tests.load.answering.form"),
        Benchmark("open.100k", "ms", 1.3, "tests.load.browsing.opening.first"),
        Benchmark("list.1m", "ms", 1.5, "tests.load.listing.pages"),
        Benchmark("search.1m", "ms", 2.0, "tests.load.browsing.searching.p95"),
        Benchmark("parked.100k.start", "s", 1.5, "tests.load.parked.start"),
        Benchmark("parked.100k.memory", "MB", 1.5, "tests.load.parked.memory"),
        Benchmark("parked.100k.answer", "ms", 1.5, "tests.load.parked.answer"),
    ]
}


def interleaved(
    ours: Round, floor: Round, progress: Progress, rounds: int = 9
) -> tuple[float, float]:
    """Run both in turn and return the median seconds of each; the first round warms up."""
    taken: tuple[list[float], list[float]] = ([], [])
    for done in range(rounds + 1):
        progress(done, rounds + 1)
        for one, times in zip((ours, floor), taken, strict=True):
            gc.collect()
            times.append(one())
    progress(rounds + 1, rounds + 1)
    return statistics.median(taken[0][1:]), statistics.median(taken[1][1:])
