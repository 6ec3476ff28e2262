"""Processes that read conversations ahead of the one that writes them, where there is much to read.

A worker's standard input is a socket on which it gets folders and gives readings. It ends when the
other end is closed, so none outlives the process that began it, however that one ends; and it has
a process group of its own, so that Ctrl-C is that one's alone to handle.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from jpweb.installation import build_import_path
from jpweb.store.disk import reading, workspace
from jpweb.store.disk.reading import Reading
from jpweb.store.disk.workspace import FoundConversation

#: Bytes of streams from which workers are worth their start: a second's reading.
MUCH = 32 * 1024 * 1024
#: Folders, and bytes of streams, that are written while nobody else can write.
FEW, LITTLE = 20, 64 * 1024
#: One writes into the database, and does not keep up with more.
MOST = 2
#: Folders that a worker knows of, so that it never waits for the next. It makes one reading at a
#: time and waits until that is taken, so what is in memory does not grow with what is on disk.
AHEAD = 2
#: Seconds that a worker has to end by itself.
PATIENCE = 2.0


class _Order(msgspec.Struct, array_like=True):
    """What to read; names of folders are bytes, for not all are text."""

    folder: bytes
    about: bytes


_encode = msgspec.msgpack.Encoder().encode
_READING = msgspec.msgpack.Decoder(Reading)
_ORDER = msgspec.msgpack.Decoder(_Order)


@contextmanager
def readings(folders: Sequence[FoundConversation]) -> Iterator[Iterator[Reading]]:
    """Give the readings of conversations, in order; each is made when it is wanted or just before.

    What a worker that died leaves unread is read here.
    """
    crew: list[_Worker] = []
    try:
        with suppress(OSError):  # no room for another process: this one reads
            crew.extend(_Worker() for _ in range(_wanted(folders)))
        yield _readings(folders, crew)
    finally:
        for worker in crew:
            worker.end()


def little(folders: Sequence[FoundConversation]) -> bool:
    """Tell whether so little is to be read that nobody minds waiting for the whole of it."""
    return len(folders) <= FEW and sum(map(workspace.stream_size, folders)) <= LITTLE


def _wanted(folders: Sequence[FoundConversation]) -> int:
    """Return how many workers are worth it: none for little, or where one processor is all."""
    affinity = getattr(os, "sched_getaffinity", None)  # macOS has none
    spare = (len(affinity(0)) if affinity else os.cpu_count() or 1) - 1
    most = min(spare, MOST, len(folders) - 1)
    size = 0
    for folder in folders if most > 0 else ():
        size += workspace.stream_size(folder)
        if size >= MUCH:
            return most
    return 0


def _readings(folders: Sequence[FoundConversation], crew: list[_Worker]) -> Iterator[Reading]:
    left = iter(folders)
    given: deque[tuple[FoundConversation, _Worker]] = deque()

    def give(worker: _Worker) -> None:
        for folder in left:
            worker.ask(folder)
            given.append((folder, worker))
            return

    for worker in crew * AHEAD:
        give(worker)
    while given:
        folder, worker = given.popleft()
        taken = worker.take()
        give(worker)
        yield taken or reading.read(folder)
    yield from map(reading.read, left)


class _Worker:
    """A process that reads. One that was lost takes nothing in and gives nothing back."""

    def __init__(self) -> None:
        here, there = Pipe()
        # With -P and these paths nothing is imported from the folder that somebody stands in.
        with there:
            self._process = subprocess.Popen(  # noqa: S603  this Python, this module
                [sys.executable, "-P", "-m", __name__],
                stdin=there.fileno(),
                stdout=subprocess.DEVNULL,
                process_group=0,
                env=os.environ | {"PYTHONPATH": build_import_path()},
            )
        self._channel = here

    def ask(self, folder: FoundConversation) -> None:
        """Let it read a folder."""
        order = _Order(os.fsencode(folder.folder), os.fsencode(folder.about))
        with suppress(OSError):
            self._channel.send_bytes(_encode(order))

    def take(self) -> Reading | None:
        """Return the reading of the first folder that it was asked and has not given yet."""
        try:
            return _READING.decode(self._channel.recv_bytes())
        except (OSError, EOFError):
            return None

    def end(self) -> None:
        """Let it go, and wait until it is gone."""
        self._channel.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main() -> None:
    """Read what is asked for until nobody asks any more."""
    gc.freeze()  # what was imported stays: no need to look through it again and again
    with Connection(0) as channel, suppress(EOFError, OSError):
        while True:
            order = _ORDER.decode(channel.recv_bytes())
            folder, about = (Path(os.fsdecode(name)) for name in (order.folder, order.about))
            found = FoundConversation(folder, about, 0, archived=False, fingerprint="")
            channel.send_bytes(_encode(reading.read(found)))


if __name__ == "__main__":
    main()
