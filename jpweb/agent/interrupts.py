"""Interrupts of a turn, and structured concurrency that leaves no task behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Restart:
    """Abandon the tool calls of this cycle and run all of them again.

    ``interrupt_ids`` as in Respond.
    """

    SEVERITY: ClassVar[int] = 1
    interrupt_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Respond:
    """Abandon the running work, send the model this text instead, and continue.

    ``interrupt_ids`` are the runtime's, for the commit of what the turn does about the interrupts.
    Of joined responses ``parts`` are those with text; ``author`` is that of the last.
    """

    SEVERITY: ClassVar[int] = 2
    text: str = ""
    author: str | None = None
    interrupt_ids: tuple[int, ...] = ()
    parts: tuple[Respond, ...] = field(default=(), compare=False)

    def list_parts(self) -> tuple[Respond, ...]:
        """Return a response for each text that a person sent, in the order of sending."""
        return self.parts or ((self,) if self.text else ())


@dataclass(frozen=True, slots=True)
class Stop:
    """End the turn."""

    SEVERITY: ClassVar[int] = 3


Interrupt: TypeAlias = Restart | Respond | Stop


class Interrupts:
    """The pending interrupt of a running turn.

    Of two interrupts the more severe one stays pending, with the ids of both unless it is a stop. A
    stop is never cleared.
    """

    def __init__(self) -> None:
        self._interrupted = asyncio.Event()
        self._pending: Interrupt | None = None

    @property
    def pending(self) -> Interrupt | None:
        """The interrupt that the turn has not taken yet."""
        return self._pending

    def interrupt(self, interrupt: Interrupt) -> None:
        """Interrupt the turn at its next wait. The texts of two responses are joined."""
        if self._pending is None or isinstance(interrupt, Stop):
            self._pending = interrupt
        elif not isinstance(self._pending, Stop):
            self._pending = _join_interrupts(self._pending, interrupt)
        self._interrupted.set()

    def take_pending(self) -> Interrupt | None:
        """Return the pending interrupt and clear it, unless it is a stop."""
        interrupt = self._pending
        if not isinstance(interrupt, Stop):
            self._pending = None
            self._interrupted.clear()
        return interrupt

    def is_set(self) -> bool:
        """Tell whether an interrupt is pending."""
        return self._interrupted.is_set()

    async def wait(self) -> None:
        """Return once an interrupt is pending."""
        await self._interrupted.wait()


def _join_interrupts(
    first_interrupt: Restart | Respond, second_interrupt: Restart | Respond
) -> Restart | Respond:
    """Return the more severe of two interrupts, with the ids of both and the texts of responses."""
    interrupt_ids = (*first_interrupt.interrupt_ids, *second_interrupt.interrupt_ids)
    if isinstance(first_interrupt, Respond) and isinstance(second_interrupt, Respond):
        return replace(
            second_interrupt,
            text="\n\n".join(filter(None, (first_interrupt.text, second_interrupt.text))),
            interrupt_ids=interrupt_ids,
            parts=(*first_interrupt.list_parts(), *second_interrupt.list_parts()),
        )
    return replace(
        max(second_interrupt, first_interrupt, key=_get_severity), interrupt_ids=interrupt_ids
    )


def _get_severity(interrupt: Restart | Respond) -> int:
    return interrupt.SEVERITY


class CallInterrupts(Interrupts):
    """The interrupts of a turn for one of its tool calls, or for one question of such a call.

    The end of the call, or of the question, counts as one.
    """

    def __init__(self, turn: Interrupts) -> None:
        super().__init__()
        self._turn = turn

    @property
    def pending(self) -> Interrupt | None:
        """The pending interrupt of the turn; None where only the call or the question ended."""
        return self._turn.pending

    def end_waits(self) -> None:
        """End the waits for answers: the tool no longer needs them."""
        self._interrupted.set()

    def is_set(self) -> bool:
        """Tell whether the turn was interrupted, or the call or the question ended."""
        return super().is_set() or self._turn.is_set()

    async def wait(self) -> None:
        """Return once the turn is interrupted, or the call or the question ends."""
        waiters = [
            asyncio.create_task(waiter) for waiter in (self._interrupted.wait(), self._turn.wait())
        ]
        try:
            await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel_and_wait(*waiters)


@dataclass(frozen=True, slots=True)
class InterruptedResult:
    """The work was cancelled by an interrupt.

    ``edited``: the arguments that a person substituted, where the work was a call with them.
    ``policies``: the policies that decided about such a call, as in CallResult.
    """

    edited: Mapping[str, Any] | None = None
    policies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


async def run_interruptible(
    work: Coroutine[Any, Any, T], interrupts: Interrupts
) -> T | InterruptedResult:
    """Return the result of the work, or InterruptedResult after an interrupt cancelled it.

    Work that is done when the interrupt comes keeps its result; after an interrupt none is started.
    """
    if interrupts.is_set():
        work.close()
        return InterruptedResult()
    task, stop_task = asyncio.create_task(work), asyncio.create_task(interrupts.wait())
    try:
        await asyncio.wait((task, stop_task), return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _cancel_and_wait(task, stop_task)
    if task.cancelled() and interrupts.is_set():
        return InterruptedResult()
    return task.result()


async def gather_or_cancel(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of the works, in their order. The first to raise cancels the others."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await _cancel_and_wait(*tasks)


async def _cancel_and_wait(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
