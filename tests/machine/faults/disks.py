"""Small and read-only disks: a tmpfs of one process, which a user namespace lets anybody mount."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

PIECE_BYTES = 4096
_TRUNCATE = """import sqlite3, sys
line = sqlite3.connect(sys.argv[1])
line.execute("PRAGMA schema_version").fetchone()
assert line.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
"""
_COPY = """import sqlite3, sys
sqlite3.connect(sys.argv[1]).execute("VACUUM INTO ?", sys.argv[2:])
"""


def mount_disk(folder: Path, *options: str) -> tuple[str, ...]:
    """Return the wrapper of a command that sees an empty disk in place of this folder."""
    mount = f"mount -t tmpfs -o {','.join(options)} tmpfs {folder}"
    return ("unshare", "--mount", "--map-root-user", "sh", "-c", f'{mount} && exec "$@"', "sh")


def see_disk(pid: int, folder: Path) -> Path:
    """Return the folder as a wrapped process sees it."""
    return Path(f"/proc/{pid}/root") / folder.relative_to("/")


def fill_disk(folder: Path) -> Path:
    """Write a file until there is no room left; return it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * PIECE_BYTES):
            pass
    return filler


def truncate_log(pid: int, database: Path) -> None:
    """Truncate SQLite's log on the disk that a process sees.

    It keeps its length, so it would have room for more while the disk is full.
    """
    _run_beside(pid, _TRUNCATE, database)


def copy_database(pid: int, database: Path, copy: Path) -> None:
    """Copy an SQLite file from the disk that a process sees to a path outside of that disk.

    SQLite opens no path below ``see_disk``: it resolves the link to the root.
    """
    _run_beside(pid, _COPY, database, copy)


def _run_beside(pid: int, code: str, *paths: Path) -> None:
    """Run Python code where the disk of a process is mounted."""
    enter = ["nsenter", f"--target={pid}", "--user", "--preserve-credentials", "--mount"]
    subprocess.run([*enter, sys.executable, "-c", code, *map(str, paths)], check=True)
