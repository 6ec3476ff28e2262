"""Permissions of the data folder: closed to other users of the machine.

The settings import this module, so it applies to every command: new files are private to their
user. Tools get the umask that the command was started with.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

CLOSED_UMASK = 0o077
#: Environment variable that passes the first command's umask to child processes.
_UMASK_VARIABLE = "JPWEB_USER_UMASK"


def close_umask() -> int:
    """Set a private umask, and return the one that the first command was started with."""
    previous_umask = os.umask(CLOSED_UMASK)
    return int(os.environ.setdefault(_UMASK_VARIABLE, oct(previous_umask)), 8)


#: The umask for files that are created on behalf of people, such as by tools.
USER_UMASK = close_umask()


def make_folder(folder: Path) -> None:
    """Create the folder where it is missing, accessible to its user alone. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def share_file(descriptor: int, mode: int = 0o666) -> None:
    """Give an open file outside the data folder the mode that the user's umask allows."""
    if os.fstat(descriptor).st_uid == os.geteuid():
        os.fchmod(descriptor, mode & ~USER_UMASK)


def close_folder(folder: Path) -> list[str]:
    """Remove other users' permissions from the folder and its content; return the changed paths.

    Links and the files of other users are left alone. Raises OSError where a mode cannot be
    changed.
    """
    return [str(path) for path in _walk_folder(folder) if _close_path(path)]


def _walk_folder(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    yield folder
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(parent, name)


def _close_path(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # a link, a socket, a removed file, or another user's
        return False
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or not status.st_mode & CLOSED_UMASK:
            return False
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & ~CLOSED_UMASK)
    finally:
        os.close(descriptor)
    return True


def create_secret_key(path: Path) -> None:
    """Create the file of the secret key, unless a concurrent start does. Raises OSError."""
    temporary_path = path.with_name(f"secret-key.{os.getpid()}")
    temporary_path.touch(mode=0o600)
    with temporary_path.open("w") as file:
        file.write(secrets.token_urlsafe(50))
        file.flush()
        os.fsync(file.fileno())  # or a power cut may leave the name with an empty file
    with suppress(FileExistsError):  # a concurrent start was first; its key is read afterwards
        path.hardlink_to(temporary_path)
    temporary_path.unlink()
