"""Runs the tool calls of one cycle and sees every question through (RFD 028, 082, 083).

Only a stop closes open questions. What is raised in here, and a cancellation from outside, leaves
them open: who runs the turn knows whether it will go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from jpweb.agent import texts
from jpweb.agent.executor import Asking, Execution, Executor
from jpweb.agent.outcome import Failed, Question, Success
from jpweb.agent.ports import Answer, Asked, Declined, Prompter
from jpweb.agent.routing import (
    AskBackend,
    AskPerson,
    RefusalReason,
    Refuse,
    Route,
    UseRemembered,
    UseStatic,
    reusable,
    route,
)
from jpweb.agent.scribe import Scribe
from jpweb.agent.setup import Setup
from jpweb.agent.state import AnswerKey, Remembered, TurnState
from jpweb.agent.stopping import Stopped, together, unless_stopped
from jpweb.stream.events import ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
    Outcome,
    Redacted,
)

#: A tool that asks again although it was answered would never end.
QUESTION_LIMIT = 25

_NO_BACKEND = "no inquiry backend is set up here"


@dataclass(frozen=True, slots=True)
class _Result:
    """What the model gets for a call."""

    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class _Given:
    """An answer for the tool."""

    value: Any = field(repr=False)  # may be a secret, and reprs end up in logs


_Decider: TypeAlias = Literal["configuration", "memory", "system"]


class ToolCoordinator:
    """Runs tool calls concurrently, a batch at a time; one coordinator serves a whole turn."""

    def __init__(
        self,
        prompter: Prompter,
        scribe: Scribe,
        setup: Setup,
        state: TurnState,
        stop: asyncio.Event,
    ) -> None:
        self._prompter = prompter
        self._scribe = scribe
        self._configs = {tool.name: tool for tool in setup.tools}
        self._executor = Executor(setup.builtins, self._configs.keys())
        self._state = state
        self._stop = stop

    async def run(self, calls: Sequence[ToolCallRequest]) -> None:
        """Run the calls of a cycle; when all have ended, record their responses in their order.

        After a stop, calls without a result are told so, their questions are closed, and calls
        with a result keep it.
        """
        results = await together(self._complete(call) for call in calls)
        await self._scribe.record(
            *(
                ToolCallResponse(call.id, result.content, result.is_error)
                for call, result in zip(calls, results, strict=True)
            )
        )

    async def _complete(self, call: ToolCallRequest) -> _Result:
        """Run the tool from its start, again after each answer, until it has a result."""
        answers: dict[str, Any] = {}
        asked = 0
        while True:
            execution = await self._execute(call, answers)
            if not isinstance(execution, Asking):
                return _result(execution)
            if asked == QUESTION_LIMIT:
                return _Result(texts.too_many_questions(call.name, QUESTION_LIMIT), is_error=True)
            asked += 1
            settled = await self._inquire(call, execution)
            if isinstance(settled, _Result):
                return settled
            answers[execution.question.id] = settled.value

    async def _execute(self, call: ToolCallRequest, answers: dict[str, Any]) -> Execution | Stopped:
        run = self._executor.execute(call.name, call.arguments, dict(answers))
        return await unless_stopped(run, self._stop)

    async def _inquire(self, call: ToolCallRequest, asking: Asking) -> _Given | _Result:
        """Put the question on record, find out who answers, and put the outcome on record."""
        config = self._configs[call.name].question(asking.question.id)
        asked = await self._record_request(call, asking, config.prompt_label)
        remembered = self._state.remembered_tool_answers.get(_key(asked))
        reachable = await self._prompter.reachable()
        return await self._follow(
            asked, route(asking.question, config, remembered, reachable=reachable)
        )

    async def _record_request(
        self, call: ToolCallRequest, asking: Asking, label: str | None
    ) -> Asked:
        question = asking.question
        attempt = self._state.next_attempt(call.id, question.id)
        inquiry_id = f"{call.id}.{question.id}.{attempt}"
        note = {"tool_call_id": call.id, "question_id": question.id, "attempt": attempt}
        await self._scribe.record(
            InquiryRequest(inquiry_id, asking.source, question.persisted()),
            note=note if label is None else note | {"label": label},
        )
        return Asked(inquiry_id, question, asking.source, call.name, label)

    async def _follow(self, asked: Asked, way: Route) -> _Given | _Result:
        match way:
            case UseRemembered(value):
                await self._respond(asked, Answered(value), "memory")
                return _Given(value)
            case UseStatic(value):
                await self._respond(asked, _recordable(asked.question, value), "configuration")
                return _Given(value)
            case Refuse(reason):
                return await self._refuse(asked, reason)
            case AskBackend():
                await self._respond(asked, Cancelled(CancellationReason.BACKEND_ERROR), "system")
                text = texts.backend_failed(asked.tool_name, asked.question.id, _NO_BACKEND)
                return _Result(text, is_error=True)
            case AskPerson():
                return await self._ask(asked)

    async def _refuse(self, asked: Asked, reason: RefusalReason) -> _Result:
        misconfigured = reason is CancellationReason.INVALID_STATIC_ANSWER
        decider: _Decider = "configuration" if misconfigured else "system"
        await self._respond(asked, Cancelled(reason), decider)
        return _Result(texts.refused(asked.tool_name, asked.question.id, reason), is_error=True)

    async def _respond(self, asked: Asked, outcome: Outcome, decider: _Decider) -> None:
        response = InquiryResponse(asked.inquiry_id, outcome)
        await self._scribe.record(response, note={"by": {"kind": decider}})

    async def _ask(self, asked: Asked) -> _Given | _Result:
        """Let a person answer. The response is on record once the prompter returns."""
        match await unless_stopped(self._prompter.ask(asked), self._stop):
            case Answer(value, remember):
                if remember and reusable(asked.question):
                    self._state.remembered_tool_answers[_key(asked)] = Remembered(value)
                return _Given(value)
            case Declined(reason):
                return _declined(asked, reason)
            case Stopped():
                await self._prompter.withdraw(asked, CancellationReason.USER)
                return _Result(texts.STOPPED)


def _key(asked: Asked) -> AnswerKey:
    return AnswerKey(asked.tool_name, asked.question.id)


def _recordable(question: Question, value: Any) -> Outcome:
    return Answered(value) if question.answer_type.KEEP else Redacted()


def _result(execution: Success | Failed | Stopped) -> _Result:
    match execution:
        case Success(content):
            return _Result(content)
        case Failed(message):
            return _Result(message, is_error=True)
        case Stopped():
            return _Result(texts.STOPPED)


def _declined(asked: Asked, reason: CancellationReason) -> _Result:
    if reason is CancellationReason.USER:
        return _Result(texts.INPUT_CANCELLED)
    return _Result(texts.unanswered(asked.tool_name, asked.question.id, reason), is_error=True)
