"""The lock on the data folder, which one server or one restore holds at a time."""

from __future__ import annotations

import fcntl
import os
from typing import IO

from django.conf import settings
from django.core.management.base import CommandError

from jpweb import data_folder


def lock_data_dir() -> IO[str]:
    """Lock the data folder until the returned file is closed or the process ends.

    Raises CommandError where another process has the lock, or the folder cannot be written.
    """
    path = settings.DATA_DIR / "server.lock"
    try:
        data_folder.make_folder(settings.DATA_DIR)
        lock: IO[str] = path.open("a+")
        return _acquire_lock(lock)
    except OSError as error:
        raise CommandError(f"JPWEB_DATA cannot be used: {path}: {error.strerror}.") from error


def _acquire_lock(lock: IO[str]) -> IO[str]:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
    except BlockingIOError as error:
        lock.close()
        raise CommandError(
            f"jpweb is already running on {settings.DATA_DIR}. Stop it first, or use another "
            "folder: JPWEB_DATA=/some/folder"
        ) from error
    return lock
