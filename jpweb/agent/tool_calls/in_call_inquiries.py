"""Questions that a tool asks while it runs (an MCP server's elicitations)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeAlias

from jpweb.agent.interrupts import CallInterrupts
from jpweb.agent.ports import Answer, Declined
from jpweb.agent.tool_calls.result import ToolAnswer, Unanswered
from jpweb.agent.tool_outcome import Question

RunInquiry: TypeAlias = Callable[[Question], Awaitable[ToolAnswer | Unanswered]]


class InCallInquiries:
    """Runs each question in a task of its own, independent of the tool.

    As a context: on leaving, open questions are closed; where the block was cancelled or failed
    they stay open.
    """

    def __init__(self, run_inquiry: RunInquiry, interrupts: CallInterrupts) -> None:
        self._run_inquiry = run_inquiry
        self._interrupts = interrupts
        self._tasks: set[asyncio.Task[ToolAnswer | Unanswered]] = set()

    async def ask(self, question: Question) -> Answer | Declined:
        """Ask a question; return the typed answer, or the reason why there is none."""
        task = asyncio.ensure_future(self._run_inquiry(question))
        self._tasks.add(task)
        answer = await asyncio.shield(task)
        return Answer(answer.value) if isinstance(answer, ToolAnswer) else Declined(answer.reason)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if error_type is None:
            self._interrupts.end_call()
        else:
            for task in self._tasks:
                task.cancel()
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        errors = [result for result in results if isinstance(result, BaseException)]
        if error_type is None and errors:
            raise errors[0]
