"""The lock on the data folder, which one server or one restore holds at a time."""

from __future__ import annotations

import fcntl
import os
from typing import IO

from django.conf import settings
from django.core.management.base import CommandError

from jpweb import datafolder


def lock_data_dir() -> IO[str]:
    """Lock the data folder until the returned file is closed or the process ends.

    Raises CommandError where another process has the lock.
    """
    datafolder.make(settings.DATA_DIR)
    lock: IO[str] = (settings.DATA_DIR / "server.lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise CommandError(
            f"jpweb is running on {settings.DATA_DIR} already. Stop it first, or use another "
            "folder: JPWEB_DATA=/some/folder"
        ) from error
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock
