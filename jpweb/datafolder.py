"""The data folder: closed to other users of the machine, whatever made it.

Imported by the settings, and so at the start of every command: what a process makes from then on
is its user's alone. Tools get the umask that the command was started with.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

CLOSED_UMASK = 0o077
#: Says to processes that this one starts which umask people have.
_VARIABLE = "JPWEB_USER_UMASK"


def close_umask() -> int:
    """Set the umask, and return the one that the first command was started with."""
    before = os.umask(CLOSED_UMASK)
    return int(os.environ.setdefault(_VARIABLE, oct(before)), 8)


#: The umask for what is made on behalf of people, such as by their tools.
USER_UMASK = close_umask()


def make(folder: Path) -> None:
    """Make the folder where it is missing, open to its user alone. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def share(descriptor: int, mode: int = 0o666) -> None:
    """Give an open entry among the people's own files the mode that their umask gives."""
    if os.fstat(descriptor).st_uid == os.geteuid():
        os.fchmod(descriptor, mode & ~USER_UMASK)


def close(folder: Path) -> list[str]:
    """Take from others what they may do with the folder and all in it; return what was changed.

    Links are left alone, and so is what belongs to another user, who decides about it.
    Raises OSError where a mode cannot be changed.
    """
    return [str(path) for path in _walk(folder) if _close(path)]


def _walk(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    yield folder
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(parent, name)


def _close(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # a link, a socket, gone meanwhile, or another user's
        return False
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid() or not found.st_mode & CLOSED_UMASK:
            return False
        os.fchmod(descriptor, stat.S_IMODE(found.st_mode) & ~CLOSED_UMASK)
    finally:
        os.close(descriptor)
    return True
