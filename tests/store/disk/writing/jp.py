"""A jp at its lock, as section 8 describes it: no inode check, closed first, unlinked after.

``hold PATH`` holds until its input ends; ``race PATH FOLDER SLOW`` takes and lets go until its
input ends, slow to unlink or slow to lock as a busy machine makes it.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import select
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

SLOW = 0.004


def acquire(path: Path, pause: float = 0) -> int | None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    time.sleep(pause)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    about = {"pid": os.getpid(), "session": "s1", "acquired_at": datetime.now(UTC).isoformat()}
    os.ftruncate(descriptor, 0)
    os.write(descriptor, json.dumps(about, separators=(",", ":")).encode())
    return descriptor


def release(path: Path, descriptor: int, pause: float = 0) -> None:
    os.close(descriptor)
    time.sleep(pause)
    path.unlink(missing_ok=True)


def be_inside(folder: Path, who: str) -> None:
    """Note in the log that ``who`` holds, with a ``!`` where somebody else does too."""
    witness = folder / "witness"
    try:
        os.close(os.open(witness, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        note(folder, "!")
        return
    note(folder, who)
    time.sleep(random.uniform(0, 0.001))  # noqa: S311  only to vary the timing
    witness.unlink()


def note(folder: Path, text: str) -> None:
    with (folder / "log").open("a") as log:
        log.write(text)


def race(path: Path, folder: Path, slow: str) -> None:
    while not select.select([sys.stdin], [], [], 0)[0]:
        held = acquire(path, SLOW if slow == "lock" else 0)
        if held is not None:
            be_inside(folder, "j")
            release(path, held, SLOW if slow == "unlink" else 0)
        time.sleep(random.uniform(0, 0.001))  # noqa: S311  only to vary the timing


def hold(path: Path) -> None:
    held = acquire(path)
    print("held" if held is not None else "refused", flush=True)
    sys.stdin.read()
    if held is not None:
        release(path, held)


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        hold(Path(sys.argv[2]))
    else:
        race(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
