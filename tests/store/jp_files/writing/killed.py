"""Write a conversation again and again, killed a little later each time.

``BEFORE AFTER`` are folders: of BEFORE, which holds ``call.json``, AFTER gets one copy a kill and
``whole``, which was written to its end. Deaths are before each step and in the middle of writes.
A step is whatever changes the disk: Python's audit events say so, no hook in the product does.
In the middle of a write the system kills who goes beyond the size that a file may have.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Any

from jpweb.store.jp_files import locks, writer

DS = 17728322628
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.utime", "os.symlink"}


def files(call: Any) -> writer.ConversationFiles:
    base_config = call["base_config"]
    return writer.ConversationFiles(
        call["metadata"], call["events"].encode(), base_config and base_config.encode()
    )


def make_call(root: Path) -> writer.WriteResult:
    """Make the call that ``call.json`` asks for."""
    call = json.loads((root / "call.json").read_bytes())
    expected = call["expected"] and call["expected"].encode()
    homes = [root / home / "conversations" for home in ("silo", "project/.jp")]
    with locks.hold_lock(root / "silo", root / "project/.jp", DS) as lock:
        return writer.write_conversation(lock, homes, files(call), expected)


def die_before(step: int) -> None:
    steps = count(1)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if (event in CHANGES or writes) and next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def synced(fsync: Callable[[int], None]) -> Callable[[int], None]:
        def count_sync(descriptor: int) -> None:
            watch("os.remove", ())
            fsync(descriptor)

        return count_sync

    os.fsync = synced(os.fsync)  # type: ignore[assignment]  # it has no audit event
    sys.addaudithook(watch)


def die_within_files_beyond(size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def does_survive(root: Path, die: Callable[[int], None], when: int) -> bool:
    child = os.fork()
    if not child:
        die(when)
        make_call(root)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status) and status:
        raise SystemExit(f"{root} failed")
    return os.WIFEXITED(status)


def run_deaths(before: Path, after: Path, die: Callable[[int], None], whens: Iterable[int]) -> Path:
    """Die later and later until the writing survives; return its copy."""
    for when in whens:
        root = shutil.copytree(before, after / f"{die.__name__}_{when:04}", symlinks=True)
        if does_survive(root, die, when):
            return root
    raise SystemExit("it was always killed")


def main(before: Path, after: Path) -> None:
    shutil.rmtree(run_deaths(before, after, die_within_files_beyond, range(0, 2000, 25)))
    run_deaths(before, after, die_before, range(1, 300)).rename(after / "whole")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
