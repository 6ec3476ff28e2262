"""Tells whether a turn only waits for people, so that it could be parked and rebuilt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class IdleTracker:
    """Counts the live calls of a batch, and those of them that wait for a person.

    The turn is idle while every live call waits in a way that the journal, the prompts and the
    saved progress can rebuild: no tool would run twice, and no person be asked twice. Pending
    ``Interrupts`` are not considered.
    """

    def __init__(self) -> None:
        self._live_calls = 0
        self._waiting_calls = 0
        self._queued_calls = 0
        self._open_gates = 0
        self._hold_count = 0
        self._idle_event, self._busy_event = asyncio.Event(), asyncio.Event()
        self._busy_event.set()

    @property
    def is_idle(self) -> bool:
        """Whether the turn could be parked now."""
        waiting_calls = self._waiting_calls + (self._queued_calls if self._open_gates else 0)
        return (
            self._waiting_calls > 0 and waiting_calls == self._live_calls and not self._hold_count
        )

    @property
    def has_other_calls(self) -> bool:
        """Whether more than one call is live."""
        return self._live_calls > 1

    async def wait_idle(self) -> None:
        """Return once the turn is idle."""
        while not self.is_idle:
            await self._idle_event.wait()

    async def wait_busy(self) -> None:
        """Return once the turn is not idle."""
        while self.is_idle:
            await self._busy_event.wait()

    def start_batch(self, call_count: int) -> None:
        """Begin a batch of this many live calls, each until ``end_call``."""
        self._live_calls = call_count
        self._update_events()

    def end_call(self) -> None:
        """Remove a call that has ended, and whose result is recorded or saved."""
        self._live_calls -= 1
        self._update_events()

    @contextmanager
    def track_wait_for_person(self, *, gate: bool = False) -> Iterator[None]:
        """Count a call as waiting for a person; with ``gate``, calls queued for it wait as well."""
        self._waiting_calls += 1
        self._open_gates += gate
        self._update_events()
        try:
            yield
        finally:
            self._waiting_calls -= 1
            self._open_gates -= gate
            self._update_events()

    async def wait_for_decision(self, ask: Callable[[], Awaitable[T]], *, gate: bool = False) -> T:
        """Count the call as waiting for a person while ``ask`` runs."""
        with self.track_wait_for_person(gate=gate):
            return await ask()

    @contextmanager
    def track_wait_at_gate(self) -> Iterator[None]:
        """Count a call as queued for the gate; it is busy unless a call waits at the gate."""
        self._queued_calls += 1
        self._update_events()
        try:
            yield
        finally:
            self._queued_calls -= 1
            self._update_events()

    @contextmanager
    def prevent_idle(self) -> Iterator[None]:
        """Keep the turn from being idle: state is in memory only, or on its way to a row."""
        self._hold_count += 1
        self._update_events()
        try:
            yield
        finally:
            self._hold_count -= 1
            self._update_events()

    def _update_events(self) -> None:
        current_event, previous_event = (
            (self._idle_event, self._busy_event)
            if self.is_idle
            else (self._busy_event, self._idle_event)
        )
        previous_event.clear()
        current_event.set()
