"""What memory an open socket takes that nothing is told to.

The floor is Channels' barest consumer, in one group of its own in-memory layer.
"""

from __future__ import annotations

from tests.load.benchmark import BenchRun, Progress
from tests.load.crowd import run_crowd
from tests.load.fanout import run_daphne

#: Of so many idle sockets, one is opened before memory is measured first.
WARM_UP_SHARE = 20
#: The kernel counts resident memory in whole pages.
PAGE_BYTES = 4096


def measure_idle(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the kilobytes of a page's socket, and of the floor, each in a daphne of its own."""
    ours, floor = (_each(bench, way, step, progress) for step, way in enumerate(("ws", "layer")))
    return ours, floor


def _each(bench: BenchRun, way: str, step: int, progress: Progress) -> float:
    many, settle = bench.size.idle_sockets, bench.size.settle_ms / 1000
    with run_daphne(bench) as server, run_crowd() as people:
        server.enter(people, way, many // WARM_UP_SHARE, lambda _: None)
        people.idle(settle)
        server.collect_garbage()
        before = server.resident()
        server.enter(people, way, many, lambda n: progress(step * many + n, 2 * many))
        people.idle(settle)
        server.collect_garbage()
        return max(server.resident() - before, PAGE_BYTES) / many / 1024
