"""How long the mirror takes for the largest conversation at hand.

The floor is what nothing can do without: JSON parse of the same file, and a bare insert of the
rows that the mirror makes, into the same tables with the same indexes.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection

from jpweb.store.jp_files import mirror
from tests.load.benchmark import BenchRun, Progress, measure_interleaved
from tests.load.databases import use_database
from tests.load.sizes import TOY

_BESIDE = Path(settings.BASE_DIR).parent / "shared" / "workspace"
#: Those of jpweb's own connections: the floor's commits are synced as the mirror's are.
PRAGMAS = f"{settings.DATABASES['default']['OPTIONS']['init_command']} PRAGMA foreign_keys=ON;"

#: The rows that an import makes, a table each, in the order in which they can be inserted.
Rows = dict[str, list[tuple[Any, ...]]]


def measure_largest(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of the mirror and of the floor."""
    folder = bench.make_folder()
    events = _alone(find_workspace(bench), folder / "workspace")
    empty = bench.make_database()
    rows = import_once(folder, empty, folder / "workspace")
    value, floor = measure_interleaved(
        bench,
        lambda: _mirrored(folder, empty),
        lambda: _bare(folder, empty, events, rows),
        progress,
    )
    return value * 1000, floor * 1000


def find_workspace(bench: BenchRun) -> Path:
    """Return the workspace to measure with: the one named, the one beside, or the demo.

    At toy size always the demo.
    """
    if bench.size == TOY:
        return mirror.DEMO_PATH
    folder_name = os.environ.get("JPWEB_BENCH_WORKSPACE")
    if folder_name:
        return Path(folder_name)
    return _BESIDE if _BESIDE.is_dir() else mirror.DEMO_PATH


def _alone(source: Path, home: Path) -> Path:
    """Copy the largest conversation into a workspace of its own; return its events."""
    paths = sorted(
        (source / ".jp" / "conversations").glob("*/events.json"),
        key=lambda path: path.stat().st_size,
    )
    if not paths:
        raise SystemExit(
            f"No conversation in {source}: name a JP workspace in JPWEB_BENCH_WORKSPACE"
        )
    copy = home / ".jp" / "conversations" / paths[-1].parent.name
    shutil.copytree(paths[-1].parent, copy)
    return copy / "events.json"


def import_once(folder: Path, empty: Path, home: Path) -> Rows:
    """Import once and return the rows that were not there before."""
    with use_database(_fresh(folder, empty)) as path:
        mirror.mirror_workspace(home)
        with sqlite3.connect(path) as reader:
            tables = [model._meta.db_table for model in apps.get_app_config("store").get_models()]
            queries = {t: f"SELECT * FROM {t}" for t in tables}  # noqa: S608  Django's own names
            rows = {t: reader.execute(query).fetchall() for t, query in queries.items()}
        reader.close()
    return {table: table_rows for table, table_rows in rows.items() if table_rows}


def _mirrored(folder: Path, empty: Path) -> float:
    with use_database(_fresh(folder, empty)):
        connection.ensure_connection()
        start_time = perf_counter()
        mirror.mirror_workspace(folder / "workspace")
        return perf_counter() - start_time


def _bare(folder: Path, empty: Path, events: Path, rows: Rows) -> float:
    with open_database(_fresh(folder, empty)) as writer:
        writer.executescript(PRAGMAS)
        start_time = perf_counter()
        json.loads(events.read_bytes())
        with writer:
            for table, values in rows.items():
                marks = ", ".join("?" * len(values[0]))
                insert = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608  Django's own names
                writer.executemany(insert, values)
        return perf_counter() - start_time


@contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database without Django."""
    writer = sqlite3.connect(path)
    try:
        yield writer
    finally:
        writer.close()


def _fresh(folder: Path, empty: Path) -> Path:
    path = folder / "round.sqlite3"
    for old in folder.glob("round.sqlite3*"):
        old.unlink()
    return Path(shutil.copy(empty, path))
