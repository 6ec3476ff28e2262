from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils.module_loading import import_string

from tests.load.benchmark import BENCHMARKS, Benchmark, BenchRun
from tests.load.sizes import TOY, Size
from tests.machine.serving import ROOT

# One worker runs them all: they share servers.
pytestmark = pytest.mark.xdist_group("benchmarks")


@pytest.fixture(scope="module")
def bench(django_db_blocker: Any) -> Iterator[BenchRun]:
    with django_db_blocker.unblock(), BenchRun(TOY) as run:
        yield run


def _name_in_words(benchmark: Benchmark) -> str:
    return benchmark.name.replace(".", "-")


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=_name_in_words)
def test_benchmark_at_toy_size_measures_and_reports(benchmark: Benchmark, bench: BenchRun) -> None:
    reports: list[tuple[int, int]] = []

    value, floor = import_string(benchmark.measure)(bench, lambda *report: reports.append(report))

    assert min(value, floor) > 0
    assert math.isfinite(value + floor)
    assert all(0 <= done <= total for done, total in reports)
    assert reports[-1][0] == reports[-1][1] > 0


def test_toy_run_prints_a_table_and_leaves_nothing(tmp_path: Path) -> None:
    environment = os.environ | {"JPWEB_DATA": str(tmp_path / "data"), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "tests.load", "--toy", "--only", "render.markdown"]

    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )

    assert "render.markdown" in run.stdout
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
