from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.utils.module_loading import import_string

from tests.load.benchmark import BENCHMARKS, Benchmark, BenchRun
from tests.load.sizes import TOY, Size
from tests.machine.ports import end_process, wait_until
from tests.machine.templates import ROOT


@pytest.fixture(scope="module")
def bench(django_db_blocker: Any) -> Iterator[BenchRun]:
    with django_db_blocker.unblock(), BenchRun(TOY) as run:
        yield run


def _name_in_words(benchmark: Benchmark) -> str:
    return benchmark.name.replace(".", "-")


@pytest.mark.proof  # 41 s of processor; CI runs `make bench TOY=1`
@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=_name_in_words)
def test_benchmark_at_toy_size_measures_and_reports(benchmark: Benchmark, bench: BenchRun) -> None:
    reports: list[tuple[int, int]] = []

    value, floor = import_string(benchmark.measure)(bench, lambda *report: reports.append(report))

    assert min(value, floor) > 0
    assert math.isfinite(value + floor)
    assert all(0 <= done <= total for done, total in reports)
    assert reports[-1][0] == reports[-1][1] > 0


@contextmanager
def start_toy_run(scratch: Path, only: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``python -m tests.load --toy``, which finds no other folder than ``scratch``."""
    environment = os.environ | {"JPWEB_DATA": str(scratch / "data"), "TMPDIR": str(scratch)}
    command = [sys.executable, "-m", "tests.load", "--toy", "--only", only]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as run:
        try:
            yield run
        finally:
            end_process(run)


def test_toy_run_prints_a_table_and_leaves_nothing(tmp_path: Path) -> None:
    with start_toy_run(tmp_path, "render.markdown") as run:
        output, _ = run.communicate(timeout=120)

    assert run.returncode == 0
    assert b"render.markdown" in output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.proof  # 8 s of processor
def test_terminated_toy_run_shows_what_it_measured_and_leaves_nothing(tmp_path: Path) -> None:
    with start_toy_run(tmp_path, "render.markdown,fanout.5000") as run:
        wait_until(
            lambda: [*tmp_path.glob("*/*/data/jpweb.sqlite3-wal")], "a database is open", 120
        )
        run.terminate()
        output, _ = run.communicate(timeout=120)

    assert "│ render.markdown │" in output.decode()
    assert run.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("assignment", "problem"),
    [
        ("sockets=100", "No size is called 'sockets'; there are: max_rounds, "),
        (
            "told_sockets=many",
            "The size told_sockets needs a whole number from 1: told_sockets=100",
        ),
        ("told_sockets=0", "The size told_sockets needs a whole number from 1: told_sockets=100"),
    ],
    ids=["unknown name", "no number", "nothing"],
)
def test_size_of_a_bad_assignment_is_refused(assignment: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        TOY.change([assignment])


def test_size_of_two_assignments_has_both() -> None:
    size = Size().change(["told_sockets=7", "passages=9"])
    assert (size.told_sockets, size.passages, size.idle_sockets) == (7, 9, Size().idle_sockets)
