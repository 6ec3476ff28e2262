"""``python -m tests.load [--only a,b] [--toy]``: measure, show a table, write ``bench.json``.

It measures and does not judge: the exit code is 0 whether goals are met or not.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import django
from django.utils.module_loading import import_string
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.load.benchmark import BENCHMARKS, Benchmark, BenchRun, Row
from tests.load.sizes import FULL, TOY, Size


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    only = [name for name in options.only.split(",") if name]
    unknown = [name for name in only if name not in BENCHMARKS]
    if unknown:
        there = ", ".join(BENCHMARKS)
        print(f"No benchmark is called {', '.join(unknown)}; there are: {there}", file=sys.stderr)
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
        rows = _measure([BENCHMARKS[name] for name in only or BENCHMARKS], size, console)
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


def _measure(chosen: list[Benchmark], size: Size, console: Console) -> list[Row]:
    rows: list[Row] = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
    )
    with (
        BenchRun(size) as bench,
        Progress(*columns, TimeElapsedColumn(), console=console) as progress,
    ):
        module = chosen[0].module
        for each in chosen:
            if each.module != module:
                bench.release()
                module = each.module
            task = progress.add_task(each.name, total=1)
            value, floor = import_string(each.measure)(
                bench,
                lambda done, total, task=task: progress.update(task, completed=done, total=total),
            )
            rows.append(_row(each, value, floor))
    return rows


def _row(each: Benchmark, value: float, floor: float) -> Row:
    return {
        "name": each.name,
        "value": round(value, 3),
        "unit": each.unit,
        "floor": round(floor, 3),
        "ratio": round(value / floor, 3),
        "goal": each.goal,
    }


def _table(rows: list[Row]) -> Table:
    table = Table()
    for heading in ("benchmark", "value", "floor", "ratio", "goal", "met"):
        table.add_column(heading, justify="left" if heading == "benchmark" else "right")
    for row in rows:
        value, floor = (f"{amount:.2f} {row['unit']}" for amount in (row["value"], row["floor"]))
        met = "[green]yes[/]" if row["ratio"] <= row["goal"] else "[red]no[/]"
        table.add_row(row["name"], value, floor, f"{row['ratio']:.2f}", f"{row['goal']:.2f}", met)
    return table


if __name__ == "__main__":
    sys.exit(main())
