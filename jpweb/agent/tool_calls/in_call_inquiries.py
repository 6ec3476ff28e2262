"""Questions that a tool asks while it runs (an MCP server's elicitations)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, Self, TypeAlias

from jpweb.agent.interrupts import CallInterrupts
from jpweb.agent.ports import Answer, Declined
from jpweb.agent.tool_calls.result import MissingAnswer, ToolAnswer
from jpweb.agent.tool_calls.turn_state import AnsweredQuestion, is_request_of
from jpweb.agent.tool_outcome import Question
from jpweb.stream.inquiry import InquirySource

RunInquiry: TypeAlias = Callable[[Question, CallInterrupts], Awaitable[ToolAnswer | MissingAnswer]]


class InCallInquiries:
    """Runs each question in a task of its own, independent of the tool.

    As a context: on leaving, open questions are closed; where the block was cancelled or failed
    they stay open. A question that the tool itself gives up is closed at once.
    """

    def __init__(self, run_inquiry: RunInquiry, interrupts: CallInterrupts) -> None:
        self._run_inquiry = run_inquiry
        self._interrupts = interrupts
        self._tasks: set[asyncio.Task[ToolAnswer | MissingAnswer]] = set()
        self._block_task: asyncio.Task[Any] | None = None

    async def ask(self, question: Question) -> Answer | Declined:
        """Ask a question; return the typed answer, or the reason why there is none."""
        interrupts = CallInterrupts(self._interrupts)
        task = asyncio.ensure_future(self._run_inquiry(question, interrupts))
        self._tasks.add(task)
        try:
            answer = await asyncio.shield(task)
        except asyncio.CancelledError:
            if not self._is_cancelled_or_failing():
                interrupts.end_waits()
            raise
        return Answer(answer.value) if isinstance(answer, ToolAnswer) else Declined(answer.reason)

    def _is_cancelled_or_failing(self) -> bool:
        """Tell whether the block is being cancelled, or will raise the error of a question."""
        is_cancelled = self._block_task is not None and self._block_task.cancelling() > 0
        return is_cancelled or any(
            task.done() and not task.cancelled() and task.exception() is not None
            for task in self._tasks
        )

    async def __aenter__(self) -> Self:
        self._block_task = asyncio.current_task()
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if error_type is None:
            self._interrupts.end_waits()
        else:
            for task in self._tasks:
                task.cancel()
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        errors = [result for result in results if isinstance(result, BaseException)]
        if error_type is None and errors:
            raise errors[0]


class EarlierAnswers:
    """The answers of a call from before its process ended, each for the question that got it.

    A tool that runs again may give the id of an answered question to another one: an MCP server
    may skip the questions about work that is done, and jpweb numbers its questions.
    """

    def __init__(self, answers: Iterable[AnsweredQuestion]) -> None:
        self._answers_by_id: dict[str, list[AnsweredQuestion]] = {}
        for answer in answers:
            self._answers_by_id.setdefault(answer.key.question_id, []).append(answer)

    def take_answer(self, question: Question, source: InquirySource) -> ToolAnswer | None:
        """Return the last answer to the question; earlier ones of its id are discarded.

        Where none of its id was to the same question, all are.
        """
        answers = self._answers_by_id.pop(question.id, [])
        for index in reversed(range(len(answers))):
            if is_request_of(answers[index].request, question, source):
                self._answers_by_id[question.id] = answers[index + 1 :]
                return ToolAnswer(answers[index].value)
        return None
