"""What a benchmark is, the list of them, and what one run of them has in common."""

from __future__ import annotations

import gc
import statistics
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar

from tests.load.sizes import Size
from tests.machine.templates import SQLITE_FILE, copy_migrated_sqlite

#: Is told how many rounds are done, and of how many.
Progress = Callable[[int, int], None]
#: One round: prepares what it needs, and returns the seconds that the measured part took.
Round = Callable[[], float]

Shared = TypeVar("Shared")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """``measure`` is the dotted path of a function: (BenchRun, Progress) -> (value, floor)."""

    name: str
    unit: str
    goal: float
    measure: str

    @property
    def module(self) -> str:
        """The module of ``measure``; its benchmarks share servers."""
        return self.measure.rpartition(".")[0]


class BenchmarkResult(TypedDict):
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
        Benchmark("import.largest", "ms", 2.0, "tests.load.importing.measure_largest"),
        Benchmark("render.markdown", "ms/MB", 1.5, "tests.load.rendering.measure_markdown"),
        Benchmark("import.million", "s", 2.0, "tests.load.million.measure_time"),
        Benchmark("import.memory", "MB", 1.1, "tests.load.million.measure_memory"),
        Benchmark("ledger.append", "ms", 1.5, "tests.load.answers.ledger.measure_append"),
        Benchmark("fanout.5000", "ms", 1.3, "tests.load.fanout.measure_loop"),
        Benchmark("fanout.5000.layer", "ms", 0.2, "tests.load.fanout.measure_layer"),
        Benchmark("socket.idle", "KB", 1.5, "tests.load.sockets.measure_idle"),
        Benchmark("answer.p99", "ms", 2.0, "tests.load.answers.answering.measure_p99"),
        Benchmark("answer.p99.form", "ms", 2.0, "tests.load.answers.answering.measure_form"),
        Benchmark("answer.p99.durable", "ms", 2.0, "tests.load.answers.answering.measure_durable"),
        Benchmark(
            "page.conversation", "ms", 5.0, "tests.load.browsing.paging.measure_conversation"
        ),
        Benchmark("page.list", "ms", 5.0, "tests.load.browsing.paging.measure_list"),
        Benchmark("page.audit", "ms", 5.0, "tests.load.browsing.paging.measure_audit"),
        Benchmark("open.100k", "ms", 1.3, "tests.load.browsing.opening.measure_first"),
        Benchmark("list.1m", "ms", 1.5, "tests.load.browsing.listing.measure_pages"),
        Benchmark("inquiries.1m", "ms", 1.5, "tests.load.browsing.auditing.measure_table"),
        Benchmark("search.1m", "ms", 2.0, "tests.load.browsing.searching.measure_p95"),
        Benchmark(
            "search.1m.grouped", "ms", 2.0, "tests.load.browsing.searching.measure_grouped_p95"
        ),
        Benchmark("neighbour.p95", "ms", 2.0, "tests.load.browsing.neighbor.measure_p95"),
        Benchmark("parked.100k.start", "s", 1.5, "tests.load.answers.parked.measure_start"),
        Benchmark("parked.100k.memory", "MB", 1.5, "tests.load.answers.parked.measure_memory"),
        Benchmark("parked.100k.answer", "ms", 1.5, "tests.load.answers.parked.measure_answer"),
    ]
}


class BenchRun:
    """One run of benchmarks: its size, its scratch folder, and the resources that rows share.

    Rows share servers and databases because each costs seconds to make.
    """

    def __init__(self, size: Size) -> None:
        self.size = size
        self._folder = tempfile.TemporaryDirectory(prefix="jpweb-bench-")
        self._resources = ExitStack()
        self._shared: dict[Any, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.release()
        finally:
            self._folder.cleanup()

    def share(
        self,
        build: Callable[[BenchRun, Progress], AbstractContextManager[Shared]],
        progress: Progress,
    ) -> Shared:
        """Return what ``build`` opens, the same for every caller until ``release``."""
        if build not in self._shared:
            self._shared[build] = self._resources.enter_context(build(self, progress))
        shared: Shared = self._shared[build]
        return shared

    def release(self) -> None:
        """Close what is shared and remove all folders: the next row has the machine to itself."""
        self._shared.clear()
        self._resources.close()

    def make_folder(self) -> Path:
        """Return a new empty folder, which is removed by ``release``."""
        folder = tempfile.TemporaryDirectory(dir=self._folder.name)
        self._resources.callback(folder.cleanup)
        return Path(folder.name)

    def make_database(self) -> Path:
        """Return a migrated SQLite file, alone in a new data folder."""
        data = self.make_folder() / "data"
        copy_migrated_sqlite(data)
        return data / SQLITE_FILE


def measure_interleaved(
    bench: BenchRun, ours: Round, floor: Round, progress: Progress, rounds: int = 9
) -> tuple[float, float]:
    """Run both in turn and return the median seconds of each, without the warm-up rounds."""
    warm_up = bench.size.warm_up_rounds
    total = warm_up + bench.size.limit_rounds(rounds)
    samples: tuple[list[float], list[float]] = ([], [])
    for done in range(total):
        progress(done, total)
        for run_round, times in zip((ours, floor), samples, strict=True):
            gc.collect()
            times.append(run_round())
    progress(total, total)
    return statistics.median(samples[0][warm_up:]), statistics.median(samples[1][warm_up:])
