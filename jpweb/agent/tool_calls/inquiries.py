"""Runs a question of a tool call, from its request to its response (RFD 082, 083).

Only an interrupt, or the end of its call, closes an open question. An error in here, and a
cancellation from outside, leaves it open: the runtime knows whether the turn continues.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from jpweb.agent.config import DetachedPolicy, QuestionConfig, ToolConfig
from jpweb.agent.errors import InquiryFailed, SettlementConflict
from jpweb.agent.event_writer import EventWriter
from jpweb.agent.idle_tracker import IdleTracker
from jpweb.agent.interrupts import InterruptedResult, Interrupts, run_interruptible
from jpweb.agent.ports import (
    Answer,
    AnswerSource,
    Declined,
    InquiryBackend,
    Prompter,
    QuestionPrompt,
)
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.result import CallResult, MissingAnswer, ToolAnswer
from jpweb.agent.tool_calls.routing import (
    AskBackend,
    AskPerson,
    RefusalReason,
    Refuse,
    Route,
    UseRemembered,
    UseStatic,
    is_reusable,
    route,
)
from jpweb.agent.tool_calls.turn_state import (
    AnswerKey,
    OpenQuestion,
    RememberedAnswer,
    TurnState,
    is_request_of,
)
from jpweb.agent.tool_outcome import Question
from jpweb.stream.events import ToolCallRequest
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryOutcome,
    InquiryQuestion,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    Redacted,
)

_Decider: TypeAlias = Literal["configuration", "memory", "assistant", "system"]


@dataclass(frozen=True, slots=True)
class InquiryRunner:
    """Records questions, routes them, and records their outcomes.

    ``in_call``: the tool continues to run while its question is open, so the turn is not idle.
    ``definitions`` are those of the tools, by name.
    """

    prompter: Prompter
    backend: InquiryBackend
    event_writer: EventWriter
    state: TurnState
    interrupts: Interrupts
    detached: DetachedPolicy
    in_call: bool = False
    definitions: Mapping[str, str] = field(default_factory=dict)

    async def run_inquiry(
        self, call: ToolCallRequest, tool: ToolConfig, question: Question, source: InquirySource
    ) -> ToolAnswer | MissingAnswer:
        """Return the answer to the question, or why there is none; the response is on record."""
        config = tool.get_question(question.id)
        question = configure_question(question, tool)
        earlier_decline = self.state.take_closed(call.id, question, source)
        if earlier_decline is not None:
            return MissingAnswer(
                earlier_decline.reason,
                _make_declined_result(call.name, question.id, earlier_decline),
            )
        open_question = await self._find_waiting(call, question, source)
        is_still_waiting = open_question is not None and (
            open_question.is_with_person or self.state.is_patient
        )
        chosen_route = route(
            question,
            config,
            self.state.remembered_tool_answers.get(self._answer_key(call.name, question.id)),
            is_person_reachable=is_still_waiting or await self.prompter.has_reachable_person(),
            detached_policy=tool.detached.get("tool", self.detached),
        )
        if open_question is None:
            inquiry_id = await self._record_request(call, question, source, config, chosen_route)
        else:
            inquiry_id = open_question.request.id
        label, expires_after = config.prompt_label, config.expires_after
        prompt = QuestionPrompt(inquiry_id, question, source, call.name, label, expires_after)
        return await self._follow_route(call, prompt, config, chosen_route)

    async def close_question(
        self, open_question: OpenQuestion, call: ToolCallRequest, reason: CancellationReason
    ) -> None:
        """Close a question that its call no longer waits for, if it is still open."""
        request = open_question.request
        question = _restore_question(open_question.key.question_id, request.question)
        prompt = QuestionPrompt(request.id, question, request.source, call.name, label=None)
        await self.prompter.withdraw(prompt, reason)

    async def _find_waiting(
        self, call: ToolCallRequest, question: Question, source: InquirySource
    ) -> OpenQuestion | None:
        """Return the same question open since before the process ended, if there is one.

        Another question of that id is closed: its call no longer waits for it.
        """
        open_question = self.state.take_waiting(call.id, question.id)
        if open_question is None:
            return None
        is_same = is_request_of(open_question.request, question, source)
        if is_same and open_question.definition == self.definitions.get(call.name, ""):
            return open_question
        await self.close_question(open_question, call, CancellationReason.LOST)
        return None

    async def _record_request(
        self,
        call: ToolCallRequest,
        question: Question,
        source: InquirySource,
        config: QuestionConfig,
        chosen_route: Route,
    ) -> str:
        """Record the request, with the note for a later process; return its id."""
        attempt, inquiry_id = self.state.count_attempt(call.id, question.id)
        note: dict[str, Any] = {
            "tool_call_id": call.id,
            "tool": call.name,
            "question_id": question.id,
            "attempt": attempt,
        }
        if config.prompt_label is not None:
            note["label"] = config.prompt_label
        if config.expires_after is not None:
            note["expires_after"] = config.expires_after
        if self.in_call:
            note["in_call"] = True
        if isinstance(chosen_route, AskPerson):
            note["person"] = True
        if call.id in self.state.grants:
            note |= self.state.grants[call.id].to_note()
        await self.event_writer.write_events(
            InquiryRequest(inquiry_id, source, question.to_inquiry_question()), note=note
        )
        return inquiry_id

    async def _follow_route(
        self,
        call: ToolCallRequest,
        prompt: QuestionPrompt,
        config: QuestionConfig,
        chosen_route: Route,
    ) -> ToolAnswer | MissingAnswer:
        match chosen_route:
            case AskBackend():
                return await self._ask_backend(call, prompt, config)
            case AskPerson():
                return await self._ask_person(prompt)
            case UseRemembered() | UseStatic() | Refuse():
                try:
                    return await self._settle_at_once(prompt, chosen_route)
                except SettlementConflict:
                    # The question was open before; a person answered first, or it expired.
                    return await self._ask_person(prompt)

    async def _settle_at_once(
        self, prompt: QuestionPrompt, chosen_route: UseRemembered | UseStatic | Refuse
    ) -> ToolAnswer | MissingAnswer:
        """Record the outcome that memory or configuration decides. Raises SettlementConflict."""
        match chosen_route:
            case UseRemembered(value, source):
                await self._record_response(prompt, Answered(value), "memory", source)
                return ToolAnswer(value)
            case UseStatic(value):
                await self._record_response(
                    prompt, _make_recordable_outcome(prompt.question, value), "configuration"
                )
                return ToolAnswer(value)
            case Refuse(reason):
                return await self._refuse_question(prompt, reason)

    async def _refuse_question(
        self, prompt: QuestionPrompt, reason: RefusalReason
    ) -> MissingAnswer:
        is_misconfigured = reason is CancellationReason.INVALID_STATIC_ANSWER
        decider: _Decider = "configuration" if is_misconfigured else "system"
        await self._record_response(prompt, Cancelled(reason), decider)
        text = model_messages.describe_refusal(prompt.tool_name, prompt.question.id, reason)
        return MissingAnswer(reason, CallResult(text, is_error=True))

    async def _ask_backend(
        self, call: ToolCallRequest, prompt: QuestionPrompt, config: QuestionConfig
    ) -> ToolAnswer | MissingAnswer:
        """Let a secondary assistant answer (RFD 028; its errors per RFD 082)."""
        elements = await self.event_writer.recorder.load_elements()
        work = self.backend.inquire(elements, call, prompt.question, config)
        try:
            answer = await run_interruptible(work, self.interrupts)
            if isinstance(answer, InterruptedResult):
                return await self._withdraw_question(prompt)
            await self._record_response(prompt, Answered(answer), "assistant")
        except InquiryFailed as failure:
            return await self._fail_backend(prompt, failure)
        except SettlementConflict:
            # A person answered first, or the question expired: return that outcome.
            return await self._ask_person(prompt)
        return ToolAnswer(answer)

    async def _fail_backend(
        self, prompt: QuestionPrompt, failure: InquiryFailed
    ) -> ToolAnswer | MissingAnswer:
        reason = CancellationReason.BACKEND_ERROR
        try:
            await self._record_response(prompt, Cancelled(reason), "system")
        except SettlementConflict:
            return await self._ask_person(prompt)
        text = model_messages.describe_backend_failure(
            prompt.tool_name, prompt.question.id, str(failure)
        )
        return MissingAnswer(reason, CallResult(text, is_error=True))

    async def _ask_person(self, prompt: QuestionPrompt) -> ToolAnswer | MissingAnswer:
        """Let a person answer. The response is on record once the prompter returns."""
        idle_tracker = IdleTracker() if self.in_call else self.state.idle_tracker
        decision = idle_tracker.wait_for_decision(lambda: self.prompter.ask(prompt))
        match await run_interruptible(decision, self.interrupts):
            case Answer(value, remember, source):
                if remember and is_reusable(prompt.question):
                    key = self._answer_key(prompt.tool_name, prompt.question.id)
                    self.state.remembered_tool_answers[key] = RememberedAnswer(value, source)
                return ToolAnswer(value)
            case Declined() as decline:
                call_result = _make_declined_result(prompt.tool_name, prompt.question.id, decline)
                return MissingAnswer(decline.reason, call_result)
            case InterruptedResult():
                return await self._withdraw_question(prompt)

    def _answer_key(self, tool: str, question_id: str) -> AnswerKey:
        return AnswerKey(tool, question_id, self.definitions.get(tool, ""))

    async def _withdraw_question(self, prompt: QuestionPrompt) -> MissingAnswer:
        """Close the question: a person interrupted the turn, or the tool did not wait for it."""
        is_interrupted = self.interrupts.pending is not None
        reason = CancellationReason.USER if is_interrupted else CancellationReason.LOST
        await self.prompter.withdraw(prompt, reason)
        return MissingAnswer(reason, CallResult(model_messages.STOPPED))

    async def _record_response(
        self,
        prompt: QuestionPrompt,
        outcome: InquiryOutcome,
        decider: _Decider,
        source: AnswerSource | None = None,
    ) -> None:
        """Record the outcome; ``source``: the person whose remembered answer decides."""
        by: dict[str, Any] = {"kind": decider}
        if source is not None:
            by |= {"name": source.person_name, "id": source.person_id}
        note: Mapping[str, Any] = {"by": by}
        await self.event_writer.write_events(InquiryResponse(prompt.inquiry_id, outcome), note=note)


def configure_question(question: Question, tool: ToolConfig) -> Question:
    """Return the question as it is recorded: configuration may decide whether it is exclusive."""
    is_exclusive = tool.get_question(question.id).exclusive
    return question if is_exclusive is None else replace(question, exclusive=is_exclusive)


def _make_recordable_outcome(question: Question, value: Any) -> InquiryOutcome:
    return Answered(value) if question.answer_type.RECORDS_ANSWER else Redacted()


def _restore_question(question_id: str, recorded_question: InquiryQuestion) -> Question:
    return Question(
        question_id,
        recorded_question.text,
        recorded_question.answer_type,
        recorded_question.default,
        recorded_question.context,
        recorded_question.exclusive,
        recorded_question.persistence,
    )


def _make_declined_result(tool: str, question_id: str, decline: Declined) -> CallResult:
    if decline.reason is CancellationReason.USER:
        return CallResult(model_messages.describe_cancelled_input(decline.note))
    return CallResult(
        model_messages.describe_unanswered(tool, question_id, decline.reason), is_error=True
    )
