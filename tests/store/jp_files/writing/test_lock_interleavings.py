"""Our lock and a jp's, system call by system call: every order of the two, none left to chance.

The jp is a process that makes one system call each time it is told to over a pipe. It is told in
between ours: before any of them, and whenever ours waits, which takes no time here.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import pytest

from jpweb.store.jp_files import locks
from jpweb.store.jp_files.directory_handles import Directory
from tests.machine.sizes import choose_size

DS = 17728322628
CALLS = ("open", "lock", "close", "unlink")
#: As many calls as ours makes, waits aside, from taking to having let go.
MOMENTS = 18


class Peer:
    """A jp that takes and lets go."""

    def __init__(self, path: Path) -> None:
        words = [sys.executable, "-m", "tests.store.jp_files.writing.jp", "steps", str(path)]
        self._process = subprocess.Popen(words, stdin=-1, stdout=-1, text=True)
        self.left: list[str] = []
        self.holds = False

    def begin(self, calls: Sequence[str]) -> None:
        self.left, self.holds = list(calls), False

    def step(self) -> None:
        """Make its next call, if there is one."""
        if not self.left:
            return
        call = self.left.pop(0)
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{call}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline().strip()
        self.holds = line == "held"
        if line == "refused":  # it has closed the file, and unlinks only what it held
            del self.left[:2]

    def end(self) -> None:
        self._process.communicate(timeout=10)


class Order:
    """When the peer makes which of its calls: the moments of ours before which it does."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.inside = self.both = self.alone = False
        self.moment = 0
        self.due: list[int] = []
        self.on_the_way = False

    def begin(self, calls: Sequence[str], due_moments: Sequence[int]) -> None:
        self.peer.begin(calls)
        self.inside = self.both = self.alone = False
        self.moment, self.due = 0, list(due_moments)

    def next(self) -> None:
        """Let the peer make the calls that are due before our next one at the lock file."""
        if self.on_the_way:
            return
        while self.due and self.due[0] <= self.moment:
            self._let()
        self.moment += 1

    def wait(self) -> None:
        """Let the peer make its next call: ours waits for it, once more at most than it has any."""
        assert not self.alone, "ours waits, and nobody is there"
        self.alone = not self.peer.left
        self._let()

    def enter(self) -> None:
        self.inside = True
        self.both |= self.peer.holds

    def finish(self) -> None:
        while self.peer.left:
            self.peer.step()

    def _let(self) -> None:
        self.due = self.due[1:]
        self.peer.step()
        self.both |= self.inside and self.peer.holds


@pytest.fixture
def peers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def order(tmp_path: Path, peers: ExitStack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Order]:
    (tmp_path / "silo").mkdir()
    (tmp_path / ".jp").mkdir()
    peer = Peer(tmp_path / "silo" / "locks" / f"jp-c{DS}.lock")
    running_order = Order(peer)
    peers.callback(peer.end)

    def before(call: Callable[..., Any]) -> Callable[..., Any]:
        def after_the_peer(*words: Any, **options: Any) -> Any:
            running_order.next()
            return call(*words, **options)

        return after_the_peer

    def uncounted(call: Callable[..., Any]) -> Callable[..., Any]:
        """Leave out the calls that only reach the directory of the lock file."""

        def count_call(*words: Any) -> Any:
            running_order.on_the_way = True
            try:
                return call(*words)
            finally:
                running_order.on_the_way = False

        return count_call

    with monkeypatch.context() as patched:
        patched.setattr(Directory, "open_at", uncounted(Directory.open_at))
        patched.setattr(Directory, "close", uncounted(Directory.close))
        for owner, name in (
            *((os, name) for name in ("open", "stat", "unlink", "pread", "ftruncate", "close")),
            *((fcntl, name) for name in ("flock", "fcntl")),
        ):
            patched.setattr(owner, name, before(getattr(owner, name)))
        patched.setattr(time, "sleep", lambda _: running_order.wait())
        patched.setattr(time, "monotonic", lambda: 0.0)
        yield running_order


def take_lock(order: Order, root: Path) -> None:
    with locks.hold_lock(root / "silo", root / ".jp", DS, timeout_seconds=1) as lock:
        lock.confirm_held()
        order.enter()
        order.next()
        order.inside = False


def test_lock_that_jp_releases_and_retakes_is_never_held_by_both(order: Order, tmp_path: Path):
    for moments in combinations_with_replacement(
        range(1, MOMENTS, choose_size(2, 1)), choose_size(3, 4)
    ):
        order.begin(CALLS * 2, (-1, -1, *moments))
        order.next()
        assert order.peer.holds
        take_lock(order, tmp_path)
        order.finish()
        assert not order.both, f"the jp made its calls before our {moments}"


def test_lock_that_is_released_and_retaken_is_held_by_one_process(order: Order, tmp_path: Path):
    for first in range(MOMENTS):
        for then in range(first, 2 * MOMENTS, choose_size(2, 1)):
            order.begin(CALLS, (first, then))
            take_lock(order, tmp_path)
            take_lock(order, tmp_path)
            order.finish()
            assert not order.both, f"the jp made its calls before our {(first, then)}"
