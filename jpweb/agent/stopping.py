"""Doing things at once, and interrupting them, without leaving a task behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Restart:
    """Give up the tool calls of this cycle and run all of them again."""

    SEVERITY: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class Respond:
    """Give up what is running, tell the model this text instead, and go on."""

    SEVERITY: ClassVar[int] = 2
    text: str = ""
    author: str | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """End the turn."""

    SEVERITY: ClassVar[int] = 3


Interrupt: TypeAlias = Restart | Respond | Stop


class Interrupts:
    """What people say to a turn that is running, until the turn has taken it.

    Of two that are said at once the more severe one stands. A stop is never taken back.
    """

    def __init__(self) -> None:
        self._said = asyncio.Event()
        self._pending: Interrupt | None = None

    @property
    def pending(self) -> Interrupt | None:
        """What has been said and not been taken."""
        return self._pending

    def say(self, what: Interrupt) -> None:
        """Interrupt the turn at its next wait. Of two responses both texts are told."""
        if isinstance(what, Respond) and isinstance(self._pending, Respond):
            what = replace(what, text="\n\n".join(filter(None, (self._pending.text, what.text))))
        if self._pending is None or what.SEVERITY >= self._pending.SEVERITY:
            self._pending = what
        self._said.set()

    def take(self) -> Interrupt | None:
        """Return what has been said, and go on as if it had not been, unless it is a stop."""
        taken = self._pending
        if not isinstance(taken, Stop):
            self._pending = None
            self._said.clear()
        return taken

    def is_set(self) -> bool:
        """Tell whether something has been said."""
        return self._said.is_set()

    async def wait(self) -> None:
        """Return once something has been said."""
        await self._said.wait()


class CallInterrupts(Interrupts):
    """The interrupts of a turn as one of its tool calls meets them; the call may also let go."""

    def __init__(self, turn: Interrupts) -> None:
        super().__init__()
        self._turn = turn

    @property
    def pending(self) -> Interrupt | None:
        """What has been said to the turn; None where the call let go."""
        return self._turn.pending

    def let_go(self) -> None:
        """End what the call still waits for: nobody will take the answer."""
        self._said.set()

    def is_set(self) -> bool:
        """Tell whether the turn was interrupted, or the call let go."""
        return super().is_set() or self._turn.is_set()

    async def wait(self) -> None:
        """Return once one of the two has happened."""
        waits = [asyncio.create_task(wait) for wait in (self._said.wait(), self._turn.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _gone(*waits)


@dataclass(frozen=True, slots=True)
class Stopped:
    """The work was given up because somebody interrupted it."""


async def unless_stopped(work: Coroutine[Any, Any, T], stop: Interrupts) -> T | Stopped:
    """Return what the work returns, or Stopped, the work then being cancelled and gone.

    Work that is done when the interrupt comes keeps its result; after one none is started.
    """
    if stop.is_set():
        work.close()
        return Stopped()
    task, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _gone(task, stopping)
    if task.cancelled() and stop.is_set():
        return Stopped()
    return task.result()


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return what the works return, in their order. The first to raise cancels the others."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await _gone(*tasks)


async def _gone(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
