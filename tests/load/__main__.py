"""``python -m tests.load [--only a,b] [--toy]``: measure, show a table, write ``bench.json``.

It measures and does not judge: the exit code is 0 whether goals are met or not. A run that is
stopped shows the table of what it measured, and leaves ``bench.json`` as it was.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import django
from django.utils.module_loading import import_string
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from jpweb.cli import gc_tuning
from tests.load.benchmark import BENCHMARKS, Benchmark, BenchmarkResult, BenchRun
from tests.load.sizes import FULL, TOY, Size


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    selection = [name for name in options.only.split(",") if name]
    names = selection or list(BENCHMARKS)
    unknown = [name for name in selection if name not in BENCHMARKS]
    if unknown:
        print(
            f"No benchmark is called {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}",
            file=sys.stderr,
        )
        return 2
    try:
        size = (TOY if options.toy else FULL).change(options.set)
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 2
    # SIGTERM raises, as SIGINT does: servers are ended and folders removed.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    target = Path(os.environ.get("JPWEB_DATA", "var")).expanduser() / "bench.json"
    console = Console()
    with tempfile.TemporaryDirectory(prefix="jpweb-bench-") as data:
        # Never the installation's own.
        os.environ |= {"DATABASE_URL": "sqlite://:memory:", "JPWEB_DATA": data}
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jpweb.settings")
        django.setup()
        gc_tuning.collect_rarely()  # as each command of jpweb does
        rows: list[BenchmarkResult] = []
        try:
            rows.extend(_measure([BENCHMARKS[name] for name in names], size, console))
        finally:
            console.print(_table(rows))
    if size != FULL:
        console.print("Not written to bench.json: this was not the full size.")
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(rows, indent=2) + "\n")
    console.print(f"Written to {target}", highlight=False)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--only", default="", metavar="A,B", help="names, parted by commas")
    parser.add_argument(
        "--toy", action="store_true", help="the toy size, in seconds; shows that benchmarks run"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="change one amount of tests/load/sizes.py; may be repeated",
    )
    return parser


def _measure(
    benchmarks: list[Benchmark], size: Size, console: Console
) -> Iterator[BenchmarkResult]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
    )
    with (
        BenchRun(size) as bench,
        Progress(*columns, TimeElapsedColumn(), console=console) as progress,
    ):
        module = benchmarks[0].module
        for benchmark in benchmarks:
            if benchmark.module != module:
                bench.release()
                module = benchmark.module
            task = progress.add_task(benchmark.name, total=1)
            value, floor = import_string(benchmark.measure)(
                bench,
                lambda done, total, task=task: progress.update(task, completed=done, total=total),
            )
            yield _row(benchmark, value, floor)


def _row(benchmark: Benchmark, value: float, floor: float) -> BenchmarkResult:
    return {
        "name": benchmark.name,
        "value": round(value, 3),
        "unit": benchmark.unit,
        "floor": round(floor, 3),
        "ratio": round(value / floor, 3),
        "goal": benchmark.goal,
    }


def _table(rows: list[BenchmarkResult]) -> Table:
    table = Table()
    for heading in ("benchmark", "value", "floor", "ratio", "goal", "met"):
        table.add_column(heading, justify="left" if heading == "benchmark" else "right")
    for row in rows:
        value, floor = (f"{amount:.2f} {row['unit']}" for amount in (row["value"], row["floor"]))
        verdict = "[green]yes[/]" if row["ratio"] <= row["goal"] else "[red]no[/]"
        table.add_row(
            row["name"], value, floor, f"{row['ratio']:.2f}", f"{row['goal']:.2f}", verdict
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
