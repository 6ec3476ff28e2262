"""A file that only this user can read, for as long as it is needed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR
from tempfile import TemporaryDirectory, gettempdir

#: Kept in memory where the machine offers that: what is written to a disk can be read from it.
_MEMORY = Path("/dev/shm")  # noqa: S108  a private folder is made in it

_PREFIX = "jpweb-"


def sweep(memory: Path = _MEMORY) -> int:
    """Remove what processes left behind that were killed in the middle; returns how many files.

    Only those of this user whose process is gone.
    """
    swept = 0
    for folder in (*_left(memory), *_left(Path(gettempdir()))):
        # anybody may put something there, and may take it away meanwhile
        with suppress(OSError):
            seen = folder.lstat()
            if S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid() and not _in_use(folder):
                shutil.rmtree(folder, ignore_errors=True)
                swept += 1
    return swept


def _left(parent: Path) -> list[Path]:
    with suppress(OSError):
        return [path for path in parent.iterdir() if path.name.startswith(_PREFIX)]
    return []


def _in_use(folder: Path) -> bool:
    """Tell whether the process in its name lives; where the name is not ours, it is let be."""
    pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
    return not pid.isdecimal() or _alive(int(pid))


def _alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() if Path("/proc/self").exists() else True


@contextmanager
def private_file(text: str, memory: Path = _MEMORY) -> Iterator[Path]:
    """Yield a file with the text, mode 0600, in a folder of its own; both are gone afterwards."""
    parent = memory if os.access(memory, os.W_OK) else None
    # a tool may have put something in there that cannot be removed; its result counts all the same
    name = f"{_PREFIX}{os.getpid()}-"
    with TemporaryDirectory(prefix=name, dir=parent, ignore_cleanup_errors=True) as folder:
        path = Path(folder, "context.json")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        yield path
