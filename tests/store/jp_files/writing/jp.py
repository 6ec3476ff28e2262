"""A jp at its lock (docs/jp-format.md, Locks): no inode check, closed first, unlinked after.

``hold PATH`` holds until its input ends; ``steps PATH`` does one system call for each line of its
input that names one, and says what came of it.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path


def open_lock_file(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_CREAT | os.O_RDWR, 0o666)


def take_lock(descriptor: int) -> bool:
    """Lock and sign the file, or close it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    about = {"pid": os.getpid(), "session": "s1", "acquired_at": datetime.now(UTC).isoformat()}
    os.ftruncate(descriptor, 0)
    os.write(descriptor, json.dumps(about, separators=(",", ":")).encode())
    return True


def acquire(path: Path) -> int | None:
    descriptor = open_lock_file(path)
    return descriptor if take_lock(descriptor) else None


def release(path: Path, descriptor: int) -> None:
    os.close(descriptor)
    path.unlink(missing_ok=True)


def steps(path: Path) -> None:
    descriptor = -1
    for line in sys.stdin:
        state = "done"
        match line.strip():
            case "open":
                descriptor = open_lock_file(path)
            case "lock":
                state = "held" if take_lock(descriptor) else "refused"
            case "close":
                os.close(descriptor)
            case "unlink":
                path.unlink(missing_ok=True)
            case unknown:
                sys.exit(f"no such step: {unknown}")
        print(state, flush=True)


def hold(path: Path) -> None:
    descriptor = acquire(path)
    print("held" if descriptor is not None else "refused", flush=True)
    sys.stdin.read()
    if descriptor is not None:
        release(path, descriptor)


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        hold(Path(sys.argv[2]))
    else:
        steps(Path(sys.argv[2]))
