"""The mirror over a workspace of many conversations: its time, and that its memory stays flat."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from jpweb.store.jp_files import mirror
from tests.load.benchmark import BenchRun, Progress
from tests.load.databases import use_database
from tests.load.importing import PRAGMAS, Rows, import_once, open_database
from tests.load.synthetic import make_events_json
from tests.machine.templates import inherit_environment

#: The memory of many conversations is compared with this part of them.
FEW_SHARE = 20
FIRST = 17_700_000_000


def measure_time(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the seconds of the mirror and of the floor, one after the other, once each."""
    many, events = bench.size.mirrored_conversations, bench.size.mirrored_events
    folder = bench.make_folder()
    empty = bench.make_database()
    root = workspace(folder / "many", many, events, progress)
    rows = import_once(folder, empty, workspace(folder / "one", 1, events, progress))
    value = _mirrored(root, folder, empty, progress)
    floor = _bare(root, folder, empty, rows, events)
    progress(many, many)
    return value, floor


def measure_memory(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the peak megabytes of a process that mirrors many conversations, and few."""
    many, events = bench.size.mirrored_conversations, bench.size.mirrored_events
    peaks = []
    for step, count in enumerate((max(many // FEW_SHARE, 1), many)):
        folder = bench.make_folder()
        root = workspace(folder / "workspace", count, events, progress)
        progress(step, 2)
        peaks.append(_peak(root, bench.make_database().parent))
        shutil.rmtree(folder)
    progress(2, 2)
    return peaks[1], peaks[0]


def workspace(root: Path, conversations: int, events: int, progress: Progress) -> Path:
    """Write a workspace of equal conversations with ids of their own."""
    text = make_events_json(events)
    for number in range(conversations):
        folder = root / ".jp" / "conversations" / f"{FIRST + number}-synthetic"
        folder.mkdir(parents=True)
        (folder / "events.json").write_bytes(text)
        (folder / "metadata.json").write_text(
            '{\n  "title": "Synthetic",\n  "last_activated_at": "2026-01-01 00:00:00.0"\n}\n'
        )
        progress(number, conversations)
    return root


def _mirrored(root: Path, folder: Path, empty: Path, progress: Progress) -> float:
    with use_database(Path(shutil.copy(empty, folder / "ours.sqlite3"))):
        start_time = perf_counter()
        mirror.mirror_workspace(root, "", lambda done, total, _: progress(done, total))
        seconds = perf_counter() - start_time
    (folder / "ours.sqlite3").unlink()
    return seconds


def _bare(root: Path, folder: Path, empty: Path, rows: Rows, events: int) -> float:
    """Parse each file and insert the rows of one conversation, the keys made different."""
    with open_database(Path(shutil.copy(empty, folder / "bare.sqlite3"))) as writer:
        writer.executescript(PRAGMAS)
        start_time = perf_counter()
        for number, path in enumerate(sorted(root.glob(".jp/conversations/*/events.json"))):
            json.loads(path.read_bytes())
            with writer:
                _insert(writer, rows, number, events)
        return perf_counter() - start_time


def _insert(writer: sqlite3.Connection, rows: Rows, number: int, events: int) -> None:
    for table, values in rows.items():
        if table == "store_workspace":
            if number == 0:
                writer.executemany(_statement(table, values), values)
            continue
        columns = [row[1] for row in writer.execute(f"PRAGMA table_info({table})")]
        new_rows = [_moved(columns, row, number, events) for row in values]
        writer.executemany(_statement(table, values), new_rows)


def _moved(
    columns: list[str], row: tuple[object, ...], number: int, events: int
) -> tuple[object, ...]:
    """Return the row as the ``number``-th conversation has it."""
    shift = {"id": number * events * 2, "conversation_id": number, "jp_id": number}
    if "jp_id" in columns:
        shift["id"] = number
    return tuple(
        value + shift[name] if name in shift and isinstance(value, int) else value
        for name, value in zip(columns, row, strict=True)
    )


def _statement(table: str, values: list[tuple[object, ...]]) -> str:
    marks = ", ".join("?" * len(values[0]))
    return f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608  Django's own names


def _peak(root: Path, data: Path) -> float:
    """Return the peak resident memory of ``manage.py mirror``, in megabytes."""
    program = (
        "import resource, sys; from django.core.management import execute_from_command_line as run;"
        "sys.stdout = open('/dev/null', 'w'); run(['manage.py', 'mirror', sys.argv[1]]);"
        "sys.__stdout__.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))"
    )
    environment = inherit_environment() | {
        "JPWEB_DATA": str(data),
        "DATABASE_URL": f"sqlite:///{data / 'jpweb.sqlite3'}",
        "DJANGO_SETTINGS_MODULE": "jpweb.settings",
    }
    result = subprocess.run(
        [sys.executable, "-c", program, str(root)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return int(result.stdout) / 1024
