"""A temporary file that only this user can read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR
from tempfile import TemporaryDirectory, gettempdir

#: tmpfs, where the machine has one: data written to a disk can be recovered from it.
_MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108  a private folder is made in it

_FOLDER_PREFIX = "jpweb-"


def sweep_private_files(memory: Path = _MEMORY_FOLDER) -> int:
    """Remove the files of killed processes; return how many folders were removed.

    Only those of this user whose process has ended.
    """
    swept_count = 0
    for folder in (*_list_leftover_folders(memory), *_list_leftover_folders(Path(gettempdir()))):
        # Every user can create entries in this folder, and delete them meanwhile.
        with suppress(OSError):
            status = folder.lstat()
            if S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not _is_in_use(folder):
                shutil.rmtree(folder, ignore_errors=True)
                swept_count += 1
    return swept_count


def _list_leftover_folders(parent: Path) -> list[Path]:
    with suppress(OSError):
        return [path for path in parent.iterdir() if path.name.startswith(_FOLDER_PREFIX)]
    return []


def _is_in_use(folder: Path) -> bool:
    """Tell whether the process in its name lives; True for a name that is not jpweb's."""
    pid = folder.name.removeprefix(_FOLDER_PREFIX).partition("-")[0]
    return not pid.isdecimal() or _is_process_alive(int(pid))


def _is_process_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() if Path("/proc/self").exists() else True


@contextmanager
def open_private_file(text: str, memory: Path = _MEMORY_FOLDER) -> Iterator[Path]:
    """Yield a file with the text, mode 0600, in its own folder; both are deleted afterwards."""
    parent = memory if os.access(memory, os.W_OK) else None
    # A tool may leave entries that cannot be removed; its result counts all the same.
    name = f"{_FOLDER_PREFIX}{os.getpid()}-"
    with TemporaryDirectory(prefix=name, dir=parent, ignore_cleanup_errors=True) as folder:
        path = Path(folder, "context.json")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        yield path
