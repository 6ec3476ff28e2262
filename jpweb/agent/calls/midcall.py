"""The questions that a tool asks while it runs, and goes on with (an MCP server's elicitations)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeAlias

from jpweb.agent.calls.result import Given, Unanswered
from jpweb.agent.outcome import Question
from jpweb.agent.ports import Answer, Declined
from jpweb.agent.stopping import CallInterrupts

Inquire: TypeAlias = Callable[[Question], Awaitable[Given | Unanswered]]


class MidCall:
    """Sees each question through in a task of its own, whatever becomes of the tool meanwhile.

    As a context: on leaving, what is still asked is closed; where the block was cancelled or
    failed it stays open, as everything does then.
    """

    def __init__(self, inquire: Inquire, interrupts: CallInterrupts) -> None:
        self._inquire = inquire
        self._interrupts = interrupts
        self._asked: set[asyncio.Task[Given | Unanswered]] = set()

    async def ask(self, question: Question) -> Answer | Declined:
        """Put a question; returns the typed answer, or why there is none."""
        task = asyncio.ensure_future(self._inquire(question))
        self._asked.add(task)
        settled = await asyncio.shield(task)
        return Answer(settled.value) if isinstance(settled, Given) else Declined(settled.reason)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._interrupts.let_go()
        else:
            for task in self._asked:
                task.cancel()
        ended = await asyncio.gather(*self._asked, return_exceptions=True)
        failed = [one for one in ended if isinstance(one, BaseException)]
        if kind is None and failed:
            raise failed[0]
