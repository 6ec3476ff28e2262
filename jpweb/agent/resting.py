"""Whether a turn does nothing but wait for people, so that it could be put down and rebuilt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class Resting:
    """Counts the calls of a batch that live, and those of them that wait for a person.

    It rests while every live call waits in a way that the journal, the prompts and what the
    recorder keeps can rebuild: nothing would be run twice, and nobody asked twice. What people say
    to the turn meanwhile (``Interrupts``) is not looked at.
    """

    def __init__(self) -> None:
        self._live = 0
        self._waits = 0
        self._queued = 0
        self._gates = 0
        self._held = 0
        self._rests, self._works = asyncio.Event(), asyncio.Event()
        self._works.set()

    @property
    def resting(self) -> bool:
        """Whether the turn could be put down now."""
        waiting = self._waits + (self._queued if self._gates else 0)
        return self._waits > 0 and waiting == self._live and not self._held

    @property
    def others_live(self) -> bool:
        """Whether calls live besides the one that asks."""
        return self._live > 1

    async def wait(self) -> None:
        """Return once it rests; it does then."""
        while not self.resting:
            await self._rests.wait()

    async def wait_working(self) -> None:
        """Return once it does not rest; it does not then."""
        while self.resting:
            await self._works.wait()

    def calls(self, number: int) -> None:
        """Begin a batch: so many calls live, each until ``ended``."""
        self._live = number
        self._changed()

    def ended(self) -> None:
        """Count a call that has ended, and whose result is recorded or kept."""
        self._live -= 1
        self._changed()

    @contextmanager
    def waiting(self, *, gate: bool = False) -> Iterator[None]:
        """Let a call wait for a person; behind a ``gate`` those that queue for it wait as well."""
        self._waits += 1
        self._gates += gate
        self._changed()
        try:
            yield
        finally:
            self._waits -= 1
            self._gates -= gate
            self._changed()

    async def until_decided(self, ask: Callable[[], Awaitable[T]], *, gate: bool = False) -> T:
        """Return what a person decides, ``waiting`` from the moment that they are asked."""
        with self.waiting(gate=gate):
            return await ask()

    @contextmanager
    def queued(self) -> Iterator[None]:
        """Let a call queue for the gate. Where nobody is asked at it, the call is about to work."""
        self._queued += 1
        self._changed()
        try:
            yield
        finally:
            self._queued -= 1
            self._changed()

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Hold something in memory alone, or on its way to a row: it must not be put down."""
        self._held += 1
        self._changed()
        try:
            yield
        finally:
            self._held -= 1
            self._changed()

    def _changed(self) -> None:
        now, past = (self._rests, self._works) if self.resting else (self._works, self._rests)
        past.clear()
        now.set()
