"""Runs the tool calls of one cycle: permission, execution, questions, delivery (RFD 028, 082, 083).

An interrupt closes open questions, and no question outlives its call. An error in here, and a
cancellation from outside, leaves questions open: the runtime knows whether the turn continues.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from jpweb.agent.config import ApprovalMode
from jpweb.agent.event_writer import EventWriter
from jpweb.agent.interrupts import (
    CallInterrupts,
    Interrupt,
    InterruptedResult,
    Interrupts,
    Respond,
    Restart,
    gather_or_cancel,
    run_interruptible,
)
from jpweb.agent.ports import InquiryBackend, Prompter
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.arguments import is_same_json, prepare_arguments
from jpweb.agent.tool_calls.executor import (
    Execution,
    SourcedQuestion,
    ToolExecutor,
    make_sourced_question,
    mark_secret,
)
from jpweb.agent.tool_calls.in_call_inquiries import EarlierAnswers, InCallInquiries
from jpweb.agent.tool_calls.inquiries import InquiryRunner, configure_question
from jpweb.agent.tool_calls.inquiry_backend import NoBackend
from jpweb.agent.tool_calls.prompting import PermissionPrompts
from jpweb.agent.tool_calls.result import (
    CallResult,
    MissingAnswer,
    Permission,
    ResumedCalls,
    ToolAnswer,
)
from jpweb.agent.tool_calls.turn_state import CallGrant, TurnState
from jpweb.agent.tool_outcome import MAX_CALL_QUESTIONS, CallProgress, Failed, Question, Success
from jpweb.agent.turn_setup import TurnSetup
from jpweb.stream.events import ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import CancellationReason, InquirySource


class ToolCoordinator:
    """Runs tool calls concurrently, a batch at a time; one coordinator serves a whole turn."""

    def __init__(
        self,
        prompter: Prompter,
        event_writer: EventWriter,
        setup: TurnSetup,
        state: TurnState,
        interrupts: Interrupts,
        backend: InquiryBackend | None = None,
    ) -> None:
        self._event_writer = event_writer
        self._state = state
        self._configs = {tool.name: tool for tool in setup.tools}
        self._executor = ToolExecutor(setup)
        self.format_call = self._executor.format_call
        self._interrupts = interrupts
        self._idle_tracker = state.idle_tracker
        self._definitions = setup.definitions
        self._inquiry_runner = InquiryRunner(
            prompter,
            backend or NoBackend(),
            event_writer,
            state,
            interrupts,
            setup.detached,
            definitions=setup.definitions,
        )
        self._permission_prompts = PermissionPrompts(
            prompter, state, interrupts, setup, self.format_call
        )
        self._cut_off_ids: frozenset[str] = frozenset()  # ran when their process ended
        self._rerun_ids: set[str] = set()  # cut-off calls that were run again
        self._duplicate_ids: frozenset[str] = frozenset()  # shared by several calls

    async def run_calls(
        self, calls: Sequence[ToolCallRequest], resumption: ResumedCalls | None = None
    ) -> None:
        """Run the calls of a cycle; when all have ended, record their responses in their order.

        After a stop or a person's response, calls without a result get it as their result, their
        questions are closed, and calls with a result keep it. A restart discards all results. A
        response that a call's result holds is taken; another one stays pending. ``resumption``
        describes the calls of an earlier process; the response of a call that it was running gets
        a note ``again``.
        """
        self._duplicate_ids = frozenset(
            name for name, count in Counter(c.id for c in calls).items() if count > 1
        )
        with ExitStack() as stack:
            if self._duplicate_ids:
                stack.enter_context(self._idle_tracker.prevent_idle())
            results, interrupt = await self._run_until_ended(
                calls, await self._take_over_calls(calls, resumption)
            )
        carried_interrupt_ids: tuple[int, ...] = ()
        if isinstance(interrupt, Respond) and any(
            isinstance(r, InterruptedResult) for r in results
        ):
            self._interrupts.take_pending()  # a response sent from here on is another interrupt
            carried_interrupt_ids = interrupt.interrupt_ids
        await self._close_resumed_questions(calls, results)
        final_results = [
            self._make_interrupted_result(call, interrupt, result)
            if isinstance(result, InterruptedResult)
            else result
            for call, result in zip(calls, results, strict=True)
        ]
        await self._event_writer.write_each(
            (
                (
                    ToolCallResponse(call.id, result.content, result.is_error),
                    result.to_metadata(is_rerun=call.id in self._rerun_ids),
                )
                for call, result in zip(calls, final_results, strict=True)
            ),
            interrupt_ids=carried_interrupt_ids,
        )
        self._rerun_ids.clear()
        self._state.grants.clear()

    async def _close_resumed_questions(
        self, calls: Sequence[ToolCallRequest], results: Sequence[CallResult | InterruptedResult]
    ) -> None:
        """Close the open questions of an earlier process whose calls have ended."""
        for call, result in zip(calls, results, strict=True):
            is_stopped = isinstance(result, InterruptedResult)
            reason = CancellationReason.USER if is_stopped else CancellationReason.LOST
            for question in self._state.take_unanswered(call.id):
                await self._inquiry_runner.close_question(question, call, reason)

    async def _take_over_calls(
        self, calls: Sequence[ToolCallRequest], resumption: ResumedCalls | None
    ) -> ResumedCalls:
        """Find the calls that were running when their process ended, and save that of each."""
        if resumption is None:
            self._cut_off_ids = frozenset()
            return ResumedCalls()
        # Of calls with one id, the record does not tell which of them asked: each asks again.
        self._state.discard_settled(self._duplicate_ids)
        progress_by_id = {
            name: progress
            for name, progress in resumption.progress.items()
            if name not in self._duplicate_ids
        }
        resumption = replace(resumption, progress=progress_by_id)
        saved_ids = {name for name, progress in progress_by_id.items() if progress.was_cut_off}
        running_ids = self._find_running_calls(calls, resumption)
        self._cut_off_ids = frozenset(saved_ids | running_ids)
        await self._save_cut_off(running_ids)
        return resumption

    async def _save_cut_off(self, cut_off_ids: Set[str]) -> None:
        """Save that calls were running, for a later process that resumes them."""
        for name in sorted(cut_off_ids - self._duplicate_ids):
            await self._event_writer.recorder.save_progress(
                name, CallProgress(None, was_cut_off=True)
            )

    def _find_running_calls(
        self, calls: Sequence[ToolCallRequest], resumption: ResumedCalls
    ) -> set[str]:
        """Return the calls that had neither ended, asked a question, nor waited to begin.

        Permissions are asked for in calling order: behind one that waits, the next wait too.
        """
        running_ids: set[str] = set()
        is_queued = False
        for call in calls:
            progress, config = resumption.progress.get(call.id), self._configs.get(call.name)
            is_gated = config is not None and config.run in (ApprovalMode.ASK, ApprovalMode.EDIT)
            if call.id in resumption.waiting_ids and (progress is None or progress.content is None):
                is_queued = True
            elif (
                progress is None
                and not self._state.is_paused(call.id)
                and not (is_queued and is_gated)
            ):
                running_ids.add(call.id)
        return running_ids

    async def _run_until_ended(
        self, calls: Sequence[ToolCallRequest], resumption: ResumedCalls
    ) -> tuple[list[CallResult | InterruptedResult], Interrupt | None]:
        """Run the calls, again after each restart; return the results and the interrupt."""
        while True:
            self._idle_tracker.start_batch(len(calls))
            results = await gather_or_cancel(self._run_call(call, resumption) for call in calls)
            interrupt = self._interrupts.pending
            if not isinstance(interrupt, Restart):
                return results, interrupt
            self._interrupts.take_pending()
            resumption = ResumedCalls()
            for call in calls:
                for question in self._state.take_unanswered(call.id, gated=True):
                    await self._inquiry_runner.close_question(
                        question, call, CancellationReason.USER
                    )
            self._state.restart_calls()
            await self._event_writer.recorder.restart_calls(interrupt.interrupt_ids)
            await self._save_cut_off(self._cut_off_ids)

    async def _run_call(
        self, call: ToolCallRequest, resumption: ResumedCalls
    ) -> CallResult | InterruptedResult:
        """Run a call to its result, and save that while other calls are live."""
        progress = resumption.progress.get(call.id)
        if progress is None or progress.content is None:
            result = await self._complete_call(call, is_asked=call.id in resumption.waiting_ids)
        else:
            result = await self._resume_call(call, progress, progress.content)
        is_final = progress is not None and progress.is_final
        if isinstance(result, CallResult) and not is_final and self._idle_tracker.has_other_calls:
            await self._save_progress(call, result, is_final=True)
        self._idle_tracker.end_call()
        return result

    async def _resume_call(
        self, call: ToolCallRequest, progress: CallProgress, content: str
    ) -> CallResult | InterruptedResult:
        """Resume a call whose tool has run: a person may have to approve its result."""
        if progress.was_cut_off:
            self._rerun_ids.add(call.id)
        result = CallResult(content, progress.is_error, progress.edited, progress.policies)
        if progress.is_final:
            return result
        tool = self._configs.get(call.name)
        return await self._permission_prompts.offer_result(
            call, result, edit=tool is not None and tool.result is ApprovalMode.EDIT
        )

    async def _save_progress(
        self, call: ToolCallRequest, result: CallResult, *, is_final: bool
    ) -> None:
        if call.id in self._duplicate_ids:
            return
        progress = CallProgress(
            result.content,
            result.is_error,
            result.edited,
            is_final,
            was_cut_off=call.id in self._rerun_ids,
            policies=result.policies,
        )
        await self._event_writer.recorder.save_progress(call.id, progress)

    async def _complete_call(
        self, call: ToolCallRequest, *, is_asked: bool
    ) -> CallResult | InterruptedResult:
        """Run a call: permission, execution, delivery of the result."""
        permission = await self._permit_call(call, is_asked=is_asked)
        if isinstance(permission, CallResult | InterruptedResult):
            return permission
        edited_arguments, policies = permission.edited, permission.policies
        execution = await self._run_tool(replace(call, arguments=dict(permission.arguments)))
        if isinstance(execution, CallResult | InterruptedResult):
            return replace(execution, edited=edited_arguments, policies=policies)

        async def save_result(result: CallResult) -> None:
            await self._save_progress(call, result, is_final=False)

        call_result = replace(
            CallResult.from_execution(execution), edited=edited_arguments, policies=policies
        )
        return await self._permission_prompts.deliver_result(
            call, self._configs[call.name], call_result, save_result
        )

    async def _permit_call(
        self, call: ToolCallRequest, *, is_asked: bool
    ) -> Permission | CallResult | InterruptedResult:
        problem = self._executor.explain_missing(call.name)
        if problem is not None:
            return CallResult(problem, is_error=True)
        config = self._configs[call.name]
        is_gated = config.run is not ApprovalMode.UNATTENDED
        definition = self._definitions.get(call.name, "")
        grant = self._state.take_grant(call.id, definition)
        arguments = prepare_arguments(config, call.arguments)
        if isinstance(arguments, Failed):
            return CallResult.from_execution(arguments)
        # An approval is marked as spent before its tool starts: one that is not beside a grant
        # was asked for since.
        if grant is not None and not is_asked and (grant.is_gated or not is_gated):
            run_arguments = call.arguments if grant.arguments is None else dict(grant.arguments)
            policies = grant.policies
        else:
            completed_call = replace(call, arguments=arguments)
            permission = await self._permission_prompts.permit_call(
                completed_call, config, is_asked=is_asked
            )
            if isinstance(permission, CallResult | InterruptedResult):
                return permission
            prepared_arguments = prepare_arguments(config, permission.arguments)
            if isinstance(prepared_arguments, Failed):
                return CallResult.from_execution(prepared_arguments)
            run_arguments, policies = prepared_arguments, permission.policies
        if call.id not in self._duplicate_ids:
            is_unchanged = is_same_json(run_arguments, call.arguments)
            self._state.grants[call.id] = CallGrant(
                None if is_unchanged else run_arguments, definition, is_gated, policies
            )
        edited_arguments = None if is_same_json(run_arguments, arguments) else run_arguments
        return Permission(run_arguments, edited_arguments, policies)

    async def _run_tool(
        self, call: ToolCallRequest
    ) -> Success | Failed | CallResult | InterruptedResult:
        """Execute the tool from its start, again after each answer, until it has a result.

        Only the tool's own result is one that a person may have to approve; a CallResult replaces
        it.
        """
        config = self._configs[call.name]
        earlier_answers = self._state.take_answers(call.id)
        # A tool that is run again after each answer identifies its questions by their ids.
        answers = {answer.key.question_id: answer.value for answer in earlier_answers}
        if call.id in self._cut_off_ids:
            self._rerun_ids.add(call.id)
        question_count = 0
        with ExitStack() as stack:
            while True:
                execution = await self._execute_tool(call, answers, EarlierAnswers(earlier_answers))
                if not isinstance(execution, SourcedQuestion):
                    return execution
                if question_count == MAX_CALL_QUESTIONS:
                    return CallResult(
                        model_messages.describe_too_many(call.name, question_count), is_error=True
                    )
                question_count += 1
                question = execution.question
                answer = await self._inquiry_runner.run_inquiry(
                    call, config, question, execution.source
                )
                if isinstance(answer, MissingAnswer):
                    return InterruptedResult() if self._interrupts.is_set() else answer.result
                # A rebuilt turn would have to ask again: the secret is recorded nowhere.
                if not question.answer_type.RECORDS_ANSWER:
                    stack.enter_context(self._idle_tracker.prevent_idle())
                answers[question.id] = mark_secret(
                    question, execution.convert_for_tool(answer.value)
                )

    async def _execute_tool(
        self, call: ToolCallRequest, answers: Mapping[str, Any], earlier_answers: EarlierAnswers
    ) -> Execution | InterruptedResult:
        """Execute the tool once; ``earlier_answers`` are for the questions that it asks in it."""
        call_interrupts = CallInterrupts(self._interrupts)
        tool = self._configs[call.name]
        source = InquirySource.for_tool(call.name)
        numbers = itertools.count()

        async def inquire(
            raw_question: Question, interrupts: CallInterrupts
        ) -> ToolAnswer | MissingAnswer:
            question = configure_question(raw_question, tool)
            sourced_question = make_sourced_question(call.name, question, source)
            if isinstance(sourced_question, Failed):
                failure = CallResult(sourced_question.message)
                return MissingAnswer(CancellationReason.BACKEND_ERROR, failure)
            if (earlier_answer := earlier_answers.take_answer(question, source)) is not None:
                return earlier_answer
            if next(numbers) >= MAX_CALL_QUESTIONS:
                text = model_messages.describe_too_many(call.name, MAX_CALL_QUESTIONS)
                return MissingAnswer(CancellationReason.BACKEND_ERROR, CallResult(text))
            inquiry_runner = replace(self._inquiry_runner, interrupts=interrupts, in_call=True)
            return await inquiry_runner.run_inquiry(call, tool, question, source)

        async with InCallInquiries(inquire, call_interrupts) as in_call:
            execution = self._executor.execute(
                call.name, call.arguments, dict(answers), in_call.ask
            )
            return await run_interruptible(execution, self._interrupts)

    def _make_interrupted_result(
        self, call: ToolCallRequest, interrupt: Interrupt | None, interruption: InterruptedResult
    ) -> CallResult:
        """Return the model's message for a call that was interrupted before it had a result."""
        if isinstance(interrupt, Respond) and interrupt.text:
            text = model_messages.describe_response(interrupt.text)
        else:
            tool = self._configs.get(call.name)
            text = (tool.cancellation_response if tool else None) or model_messages.STOPPED
        return CallResult(text, edited=interruption.edited, policies=interruption.policies)
