"""Sees every open, read, list, write and rename below a folder, whichever process does it."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ALL_EVENTS = 0xFFF
_EVENT = struct.Struct("iIII")
_NAMES = {
    0x1: "read", 0x2: "written", 0x4: "changed", 0x20: "opened", 0x40: "moved", 0x80: "moved",
    0x100: "made", 0x200: "removed",
}  # fmt: skip


class Witness:
    """What inotify reported so far."""

    def __init__(self, root: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._folders: dict[int, Path] = {}
        for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
            watch = libc.inotify_add_watch(self._descriptor, os.fsencode(folder), _ALL_EVENTS)
            assert watch > 0, os.strerror(ctypes.get_errno())
            self._folders[watch] = folder

    def read_events(self) -> list[str]:
        """Return what was done since the last call, one line each."""
        lines = []
        try:
            data = os.read(self._descriptor, 1 << 20)
        except BlockingIOError:
            return []
        at = 0
        while at < len(data):
            watch, mask, _, length = _EVENT.unpack_from(data, at)
            name = data[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0").decode()
            names = "/".join(word for bit, word in _NAMES.items() if mask & bit)
            lines.append(f"{self._folders.get(watch)}/{name} {names or hex(mask)}")
            at += _EVENT.size + length
        return lines

    def close(self) -> None:
        os.close(self._descriptor)


@contextmanager
def watch_folder(root: Path) -> Iterator[Witness]:
    """Watch a folder; fails at the end where anything in it was touched."""
    witness = Witness(root)
    try:
        yield witness
        assert witness.read_events() == []
    finally:
        witness.close()
