"""Small and read-only disks: a tmpfs of some processes; a user namespace lets anybody mount it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PIECE_BYTES = 4096
#: The current folder is still the one below the mount. ``cat`` ends with its input: at the latest
#: with the process that started it.
_HOLD = 'cd "$0" && mount -t tmpfs -o "$1" tmpfs "$0" && cp --archive . "$0" && echo && exec cat'
_TRUNCATE = """import sqlite3, sys
line = sqlite3.connect(sys.argv[1])
line.execute("PRAGMA schema_version").fetchone()
assert line.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
"""
_COPY = """import sqlite3, sys
sqlite3.connect(sys.argv[1]).execute("VACUUM INTO ?", sys.argv[2:])
"""


@dataclass(frozen=True, slots=True)
class HeldDisk:
    """A disk in the place of ``folder``, for processes that are let in.

    ``account``: the arguments of subprocess that select its owner, who alone can write to it.
    """

    folder: Path
    account: Mapping[str, Any]
    #: The process that holds it.
    pid: int

    @property
    def wrapper(self) -> tuple[str, ...]:
        """A command that lets another in, with a user ID that is not root's."""
        enter = ("nsenter", f"--target={self.pid}", "--user", "--preserve-credentials", "--mount")
        return (*enter, "unshare", "--user", "--map-user=1", "--map-group=1")

    @contextmanager
    def fill(self) -> Iterator[None]:
        """Leave no room on it meanwhile."""
        filler = self.folder / "filler"
        self._run_inside("sh", "-c", 'cat /dev/zero > "$0" || true', filler)
        try:
            yield
        finally:
            self._run_inside("rm", filler)

    def _run_inside(self, *command: str | Path) -> None:
        subprocess.run(
            [*self.wrapper, *command], stderr=subprocess.DEVNULL, check=True, **self.account
        )


@contextmanager
def hold_disk(
    folder: Path, account: Mapping[str, Any], options: Sequence[str]
) -> Iterator[HeldDisk]:
    """Hold a disk that has a copy of the folder, and outlives the processes that are let in."""
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c", _HOLD]
    with subprocess.Popen(
        [*command, folder, ",".join(options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **account,
    ) as holder:  # at its end, its input is closed and it is waited for
        assert holder.stdout is not None
        assert holder.stdout.readline(), f"there is no disk at {folder}"
        yield HeldDisk(folder, account, holder.pid)


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
