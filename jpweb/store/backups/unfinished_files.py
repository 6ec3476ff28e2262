"""Unfinished backup files: each is locked while it is written, so that leftovers can be told."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SUFFIX = ".jpweb-unfinished"
#: Names of ``_create_locked``, of backups to any path: those of each day have other names.
_NAME = re.compile(rf"\..+\.\w+{re.escape(_SUFFIX)}", re.DOTALL)


@contextmanager
def create_unfinished(path: Path) -> Iterator[tuple[int, Path]]:
    """Create a file beside a path, with mode 0600; it is removed unless it has been renamed.

    Leftovers in its folder, of backups that were killed, are removed first. Raises OSError.
    """
    _remove_leftovers(path.parent)
    handle, unfinished_path = _create_locked(path)
    lock = os.dup(handle)  # the lock outlasts the handle, which is closed before the renaming
    try:
        yield handle, unfinished_path
    finally:
        unfinished_path.unlink(missing_ok=True)
        os.close(lock)


def _create_locked(path: Path) -> tuple[int, Path]:
    while True:
        handle, name = tempfile.mkstemp(_SUFFIX, f".{path.name}.", path.parent)
        with suppress(OSError):  # a file system without locks, on which no leftover is removed
            fcntl.flock(handle, fcntl.LOCK_EX)
        if Path(name).exists():
            return handle, Path(name)
        os.close(handle)  # another backup took it for a leftover before it was locked


def _remove_leftovers(folder: Path) -> None:
    """Remove the unlocked unfinished files of a folder, as far as this user may."""
    with suppress(OSError):
        for path in list(folder.iterdir()):
            if _NAME.fullmatch(path.name):
                _remove_unlocked(path)


def _remove_unlocked(path: Path) -> None:
    with suppress(OSError):  # such as one that is locked, or a link
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(descriptor)
