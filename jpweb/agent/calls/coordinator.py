"""Runs the tool calls of one cycle: permission, execution, questions, delivery (RFD 028, 082, 083).

An interrupt closes what is open, and no question outlives its call. What is raised in here, and a
cancellation from outside, leaves questions open: who runs the turn knows whether it will go on.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from jpweb.agent.calls import texts
from jpweb.agent.calls.arguments import prepared
from jpweb.agent.calls.asking import Inquirer
from jpweb.agent.calls.executor import Asking, Execution, Executor, asking
from jpweb.agent.calls.inquire import NoBackend
from jpweb.agent.calls.midcall import MidCall
from jpweb.agent.calls.prompting import Prompting
from jpweb.agent.calls.result import Given, Left, Result, Unanswered
from jpweb.agent.calls.state import Grant, TurnState
from jpweb.agent.config import Mode
from jpweb.agent.outcome import Failed, Kept, Question, Success
from jpweb.agent.ports import InquiryBackend, Prompter
from jpweb.agent.redaction import SecretAnswer
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
        self._resting = state.resting
        self._definitions = setup.definitions
        self._inquirer = Inquirer(
            prompter,
            backend or NoBackend(),
            scribe,
            state,
            interrupts,
            setup.detached,
            definitions=setup.definitions,
        )
        self._prompting = Prompting(prompter, state, interrupts, setup)
        self._cut_off: frozenset[str] = frozenset()  # were running when their process ended
        self._again: set[str] = set()  # those of them that were run again
        self._twins: frozenset[str] = frozenset()  # ids that several calls of the batch have

    async def run(self, calls: Sequence[ToolCallRequest], left: Left | None = None) -> None:
        """Run the calls of a cycle; when all have ended, record their responses in their order.

        After a stop or a response from the person, calls without a result are told so, their
        questions are closed, and calls with a result keep it. A restart throws all results away.
        The response is taken then; what nobody was told of stays said. ``left`` is what an earlier
        process left of these calls; beside the response of one that it was running stands
        ``again``.
        """
        self._twins = frozenset(name for name, n in Counter(c.id for c in calls).items() if n > 1)
        with ExitStack() as held:
            if self._twins:
                held.enter_context(self._resting.holding())
            results, said = await self._until_ended(calls, await self._taken_over(calls, left))
        told = any(isinstance(result, Stopped) for result in results) and isinstance(said, Respond)
        if told:  # what is said from here on is something else
            self._interrupts.take()
        await self._close_left(calls, results)
        ended = [
            self._given_up(call, said) if isinstance(result, Stopped) else result
            for call, result in zip(calls, results, strict=True)
        ]
        await self._scribe.record_each(
            (
                ToolCallResponse(call.id, result.content, result.is_error),
                _beside(result, call.id in self._again),
            )
            for call, result in zip(calls, ended, strict=True)
        )
        self._again.clear()
        self._state.grants.clear()

    async def _close_left(
        self, calls: Sequence[ToolCallRequest], results: Sequence[Result | Stopped]
    ) -> None:
        """Close what an earlier process had asked and these calls ended without."""
        for call, result in zip(calls, results, strict=True):
            stopped = isinstance(result, Stopped)
            reason = CancellationReason.USER if stopped else CancellationReason.LOST
            for waiting in self._state.take_left(call.id):
                await self._inquirer.close(waiting, call, reason)

    async def _taken_over(self, calls: Sequence[ToolCallRequest], left: Left | None) -> Left:
        """Find out which calls were running when their process ended, and keep that of each."""
        if left is None:
            self._cut_off = frozenset()
            return Left()
        kept = {name: each for name, each in left.kept.items() if name not in self._twins}
        left = replace(left, kept=kept)
        told = {name for name, each in kept.items() if each.again}
        found = self._running(calls, left)
        self._cut_off = frozenset(told | found)
        await self._mark(found)
        return left

    async def _mark(self, cut_off: Set[str]) -> None:
        """Keep that calls were running: a later process that goes on with them is to know."""
        for name in sorted(cut_off - self._twins):
            await self._scribe.recorder.keep(name, Kept(None, again=True))

    def _running(self, calls: Sequence[ToolCallRequest], left: Left) -> set[str]:
        """Return the calls of which nothing says that they had ended, or asked, or not begun.

        Permissions are asked for in calling order: behind one that waits, the next wait too.
        """
        running: set[str] = set()
        queue = False
        for call in calls:
            kept, config = left.kept.get(call.id), self._configs.get(call.name)
            gated = config is not None and config.run in (Mode.ASK, Mode.EDIT)
            if call.id in left.waiting and (kept is None or kept.content is None):
                queue = True
            elif kept is None and not self._state.paused(call.id) and not (queue and gated):
                running.add(call.id)
        return running

    async def _until_ended(
        self, calls: Sequence[ToolCallRequest], left: Left
    ) -> tuple[list[Result | Stopped], Interrupt | None]:
        """See the calls through, again after each restart; return with what was said at last."""
        while True:
            self._resting.calls(len(calls))
            results = await together(self._see_through(call, left) for call in calls)
            said = self._interrupts.pending
            if not isinstance(said, Restart):
                return results, said
            self._interrupts.take()
            left = Left()
            await self._scribe.recorder.forget()
            await self._mark(self._cut_off)

    async def _see_through(self, call: ToolCallRequest, left: Left) -> Result | Stopped:
        """See a call through, and keep its result while others still go on."""
        kept = left.kept.get(call.id)
        if kept is None or kept.content is None:
            ended = await self._complete(call, asked=call.id in left.waiting)
        else:
            ended = await self._taken_up(call, kept, kept.content)
        final = kept is not None and kept.delivered
        if isinstance(ended, Result) and not final and self._resting.others_live:
            await self._keep(call, ended, delivered=True)
        self._resting.ended()
        return ended

    async def _taken_up(self, call: ToolCallRequest, kept: Kept, content: str) -> Result | Stopped:
        """Go on with a call whose tool has run: a person may have to be asked still."""
        if kept.again:
            self._again.add(call.id)
        result = Result(content, kept.is_error, kept.edited)
        if kept.delivered:
            return result
        tool = self._configs.get(call.name)
        return await self._prompting.offer(
            call, result, edit=tool is not None and tool.result is Mode.EDIT
        )

    async def _keep(self, call: ToolCallRequest, result: Result, *, delivered: bool) -> None:
        if call.id in self._twins:
            return
        again = call.id in self._again
        kept = Kept(result.content, result.is_error, result.edited, delivered, again)
        await self._scribe.recorder.keep(call.id, kept)

    async def _complete(self, call: ToolCallRequest, *, asked: bool) -> Result | Stopped:
        """See a call through: may it run, what does it give, may the model see that."""
        permitted = await self._permitted(call, asked=asked)
        if isinstance(permitted, Result | Stopped):
            return permitted
        arguments, edited = permitted
        execution = await self._run(replace(call, arguments=arguments))
        if isinstance(execution, Stopped):
            return execution
        if isinstance(execution, Result):
            return replace(execution, edited=edited)

        async def hold(result: Result) -> None:
            await self._keep(call, result, delivered=False)

        own = replace(_result(execution), edited=edited)
        return await self._prompting.deliver(call, self._configs[call.name], own, hold)

    async def _permitted(
        self, call: ToolCallRequest, *, asked: bool
    ) -> tuple[dict[str, Any], dict[str, Any] | None] | Result | Stopped:
        """Return the arguments to run with, and once more where a person edited them."""
        missing = self._executor.missing(call.name)
        if missing is not None:
            return Result(missing, is_error=True)
        config = self._configs[call.name]
        gated = config.run is not Mode.UNATTENDED
        definition = self._definitions.get(call.name, "")
        grant = self._state.take_grant(call.id, definition)
        wanted = prepared(config, call.arguments)
        if isinstance(wanted, Failed):
            return _result(wanted)
        if grant is not None and (grant.asked or not gated):
            runs = call.arguments if grant.arguments is None else dict(grant.arguments)
        else:
            complete = replace(call, arguments=wanted)
            decided = await self._prompting.permit(complete, config, asked=asked)
            if isinstance(decided, Result | Stopped):
                return decided
            made = prepared(config, decided)
            if isinstance(made, Failed):
                return _result(made)
            runs = made
        if call.id not in self._twins:
            own = runs == call.arguments
            self._state.grants[call.id] = Grant(None if own else runs, definition, gated)
        return runs, runs if runs != wanted else None

    async def _run(self, call: ToolCallRequest) -> Success | Failed | Result | Stopped:
        """Run the tool from its start, again after each answer, until it has a result.

        Only what the tool itself gives is a result that a person may want to see first; a Result
        stands in its place.
        """
        config = self._configs[call.name]
        answers = self._state.take_answers(call.id)
        if call.id in self._cut_off:
            self._again.add(call.id)
        asked = 0
        with ExitStack() as held:
            while True:
                execution = await self._execute(call, answers)
                if not isinstance(execution, Asking):
                    return execution
                if asked == QUESTION_LIMIT:
                    return Result(texts.too_many_questions(call.name, asked), is_error=True)
                asked += 1
                question = execution.question
                settled = await self._inquirer.inquire(call, config, question, execution.source)
                if isinstance(settled, Unanswered):
                    return Stopped() if self._interrupts.is_set() else settled.result
                if not question.answer_type.KEEP:  # nobody is to be asked for a secret twice
                    held.enter_context(self._resting.holding())
                answers[question.id] = _kept(question, execution.value_for_tool(settled.value))

    async def _execute(
        self, call: ToolCallRequest, answers: Mapping[str, Any]
    ) -> Execution | Stopped:
        interrupts = CallInterrupts(self._interrupts)
        inquirer = replace(self._inquirer, interrupts=interrupts, in_call=True)
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
        tool = self._configs.get(call.name)
        return Result((tool.cancellation_response if tool else None) or texts.STOPPED)


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
