"""Runs the tool calls of one cycle: permission, execution, questions, delivery (RFD 028, 082, 083).

Only an interrupt closes what is open. What is raised in here, and a cancellation from outside,
leaves questions open: who runs the turn knows whether it will go on.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jpweb.agent.calls import texts
from jpweb.agent.calls.arguments import prepared
from jpweb.agent.calls.asking import Inquirer
from jpweb.agent.calls.executor import Asking, Execution, Executor, asking
from jpweb.agent.calls.inquire import NoBackend
from jpweb.agent.calls.midcall import MidCall
from jpweb.agent.calls.prompting import Prompting
from jpweb.agent.calls.result import Given, Result, Unanswered
from jpweb.agent.calls.state import TurnState
from jpweb.agent.outcome import Failed, Question, SecretAnswer, Success
from jpweb.agent.ports import InquiryBackend, Prompter
from jpweb.agent.scribe import Scribe
from jpweb.agent.setup import Setup
from jpweb.agent.stopping import (
    CallInterrupts,
    Interrupt,
    Interrupts,
    Respond,
    Restart,
    Stopped,
    together,
    unless_stopped,
)
from jpweb.stream.events import ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import CancellationReason, InquirySource

#: A tool that asks again although it was answered would never end.
QUESTION_LIMIT = 25


class ToolCoordinator:
    """Runs tool calls concurrently, a batch at a time; one coordinator serves a whole turn."""

    def __init__(
        self,
        prompter: Prompter,
        scribe: Scribe,
        setup: Setup,
        state: TurnState,
        interrupts: Interrupts,
        backend: InquiryBackend | None = None,
    ) -> None:
        self._scribe = scribe
        self._state = state
        self._configs = {tool.name: tool for tool in setup.tools}
        self._executor = Executor(setup)
        self._interrupts = interrupts
        self._inquirer = Inquirer(
            prompter, backend or NoBackend(), scribe, state, interrupts, setup.detached
        )
        self._prompting = Prompting(prompter, state, interrupts, setup.detached, setup.formatters)

    async def run(self, calls: Sequence[ToolCallRequest], *, again: bool = False) -> None:
        """Run the calls of a cycle; when all have ended, record their responses in their order.

        After a stop or a response from the person, calls without a result are told so, their
        questions are closed, and calls with a result keep it. A restart throws all results away.
        The response is taken then; what nobody was told of stays said. ``again`` is noted beside
        the responses: the calls may have run before, in a process that ended.
        """
        while True:
            results = await together(self._complete(call) for call in calls)
            said = self._interrupts.pending
            if not isinstance(said, Restart):
                break
            self._interrupts.take()
        told = any(isinstance(result, Stopped) for result in results) and isinstance(said, Respond)
        if told:  # what is said from here on is something else
            self._interrupts.take()
        ended = [
            self._given_up(call, said) if isinstance(result, Stopped) else result
            for call, result in zip(calls, results, strict=True)
        ]
        await self._scribe.record_each(
            (ToolCallResponse(call.id, result.content, result.is_error), _beside(result, again))
            for call, result in zip(calls, ended, strict=True)
        )

    async def _complete(self, call: ToolCallRequest) -> Result | Stopped:
        """See a call through: may it run, what does it give, may the model see that."""
        missing = self._executor.missing(call.name)
        if missing is not None:
            return Result(missing, is_error=True)
        config = self._configs[call.name]
        wanted = prepared(config, call.arguments)
        if isinstance(wanted, Failed):
            return _result(wanted)
        permitted = await self._prompting.permit(replace(call, arguments=wanted), config)
        if isinstance(permitted, Result | Stopped):
            return permitted
        edited = prepared(config, permitted)
        if isinstance(edited, Failed):
            return _result(edited)
        ended = await self._run(replace(call, arguments=edited))
        if isinstance(ended, Result) and edited != wanted:
            return replace(ended, edited=edited)
        return ended

    async def _run(self, call: ToolCallRequest) -> Result | Stopped:
        """Run the tool from its start, again after each answer, until it has a result.

        Only what the tool itself gives is a result that a person may want to see first.
        """
        config = self._configs[call.name]
        answers = self._state.take_answers(call.id)
        asked = 0
        while True:
            execution = await self._execute(call, answers)
            if isinstance(execution, Stopped):
                return execution
            if not isinstance(execution, Asking):
                return await self._prompting.deliver(call, config, _result(execution))
            if asked == QUESTION_LIMIT:
                return Result(texts.too_many_questions(call.name, QUESTION_LIMIT), is_error=True)
            asked += 1
            settled = await self._inquirer.inquire(
                call, config, execution.question, execution.source
            )
            if isinstance(settled, Unanswered):
                return Stopped() if self._interrupts.is_set() else settled.result
            answers[execution.question.id] = _kept(execution.question, settled.value)

    async def _execute(
        self, call: ToolCallRequest, answers: Mapping[str, Any]
    ) -> Execution | Stopped:
        interrupts = CallInterrupts(self._interrupts)
        inquirer = replace(self._inquirer, interrupts=interrupts)
        tool = self._configs[call.name]
        numbers = itertools.count()
        left = dict(answers)  # what it asked in the middle before its process ended

        async def inquire(question: Question) -> Given | Unanswered:
            asked = asking(call.name, question, InquirySource.tool(call.name))
            if isinstance(asked, Failed):
                return Unanswered(CancellationReason.BACKEND_ERROR, Result(asked.message))
            if question.id in left:
                return Given(left.pop(question.id))
            if next(numbers) >= QUESTION_LIMIT:
                text = texts.too_many_questions(call.name, QUESTION_LIMIT)
                return Unanswered(CancellationReason.BACKEND_ERROR, Result(text))
            return await inquirer.inquire(call, tool, asked.question, asked.source)

        async with MidCall(inquire, interrupts) as midcall:
            run = self._executor.execute(call.name, call.arguments, dict(answers), midcall.ask)
            return await unless_stopped(run, self._interrupts)

    def _given_up(self, call: ToolCallRequest, said: Interrupt | None) -> Result:
        """Return what the model reads of a call that was interrupted before it had a result."""
        if isinstance(said, Respond) and said.text:
            return Result(texts.responded(said.text))
        tool = self._configs[call.name]
        return Result(tool.cancellation_response or texts.STOPPED)


def _beside(result: Result, again: bool) -> dict[str, Any]:
    """Return what jpweb says beside a response: the call itself does not tell."""
    note: dict[str, Any] = {"again": True} if again else {}
    if result.edited is not None:
        note["arguments"] = dict(result.edited)
    return {"jpweb": note} if note else {}


def _kept(question: Question, value: Any) -> Any:
    """Return an answer as tools are handed it, a secret marked as one."""
    return value if question.answer_type.KEEP else SecretAnswer(value)


def _result(execution: Success | Failed) -> Result:
    match execution:
        case Success(content):
            return Result(content)
        case Failed(message):
            return Result(message, is_error=True)
