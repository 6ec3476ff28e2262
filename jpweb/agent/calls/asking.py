"""Sees a question of a tool call through, from its request to its response (RFD 082, 083).

Only an interrupt, or the end of its call, closes an open question. What is raised in here, and a
cancellation from outside, leaves it open: who runs the turn knows whether it will go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from jpweb.agent.calls import texts
from jpweb.agent.calls.result import Given, Result, Unanswered
from jpweb.agent.calls.routing import (
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
from jpweb.agent.calls.state import AnswerKey, OpenQuestion, Remembered, TurnState
from jpweb.agent.config import Detached, QuestionConfig, ToolConfig
from jpweb.agent.errors import InquiryFailed, Settled
from jpweb.agent.outcome import Question
from jpweb.agent.ports import Answer, Asked, Declined, InquiryBackend, Prompter
from jpweb.agent.resting import Resting
from jpweb.agent.scribe import Scribe
from jpweb.agent.stopping import Interrupts, Stopped, unless_stopped
from jpweb.stream.events import ToolCallRequest
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryQuestion,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    Outcome,
    Redacted,
)

_Decider: TypeAlias = Literal["configuration", "memory", "assistant", "system"]


@dataclass(frozen=True, slots=True)
class Inquirer:
    """Puts questions on record, finds out who answers, and puts the outcome on record.

    ``in_call``: the tool goes on running while its question is open, so that waiting is no rest.
    ``definitions`` are those of the tools, by name.
    """

    prompter: Prompter
    backend: InquiryBackend
    scribe: Scribe
    state: TurnState
    interrupts: Interrupts
    detached: Detached
    in_call: bool = False
    definitions: Mapping[str, str] = field(default_factory=dict)

    async def inquire(
        self, call: ToolCallRequest, tool: ToolConfig, question: Question, source: InquirySource
    ) -> Given | Unanswered:
        """Return what came of the question; its response is on record then."""
        config = tool.question(question.id)
        if config.exclusive is not None:
            question = replace(question, exclusive=config.exclusive)
        closed = self.state.take_closed(call.id, question.id)
        if closed is not None:
            return Unanswered(closed.reason, _declined(call.name, question.id, closed))
        waiting = await self._still_waiting(call, question, source)
        waits_on = waiting is not None and (waiting.with_person or self.state.patient)
        way = route(
            question,
            config,
            self.state.remembered_tool_answers.get(self._key(call.name, question.id)),
            reachable=waits_on or await self.prompter.reachable(),
            detached=tool.detached.get("tool", self.detached),
        )
        if waiting is None:
            inquiry_id = await self._record_request(call, question, source, config, way)
        else:
            inquiry_id = waiting.request.id
        label, expires_after = config.prompt_label, config.expires_after
        asked = Asked(inquiry_id, question, source, call.name, label, expires_after)
        return await self._follow(call, asked, config, way)

    async def close(
        self, waiting: OpenQuestion, call: ToolCallRequest, reason: CancellationReason
    ) -> None:
        """Close a question that its call does not wait for any more, if it is open still."""
        request = waiting.request
        question = _in_flight(waiting.key.question_id, request.question)
        asked = Asked(request.id, question, request.source, call.name, label=None)
        await self.prompter.withdraw(asked, reason)

    async def _still_waiting(
        self, call: ToolCallRequest, question: Question, source: InquirySource
    ) -> OpenQuestion | None:
        """Return the question that waits since before the process ended, where it is this one.

        Another question of that id is closed: its call does not wait for it any more.
        """
        waiting = self.state.take_waiting(call.id, question.id)
        if waiting is None:
            return None
        request = waiting.request
        same = request.question == question.persisted() and request.source == source
        if same and waiting.definition == self.definitions.get(call.name, ""):
            return waiting
        await self.close(waiting, call, CancellationReason.LOST)
        return None

    async def _record_request(
        self,
        call: ToolCallRequest,
        question: Question,
        source: InquirySource,
        config: QuestionConfig,
        way: Route,
    ) -> str:
        """Put the request on record, with what a later process is to know; return its id."""
        attempt, inquiry_id = self.state.next_attempt(call.id, question.id)
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
        if isinstance(way, AskPerson):
            note["person"] = True
        if call.id in self.state.grants:
            note |= self.state.grants[call.id].note()
        await self.scribe.record(
            InquiryRequest(inquiry_id, source, question.persisted()), note=note
        )
        return inquiry_id

    async def _follow(
        self, call: ToolCallRequest, asked: Asked, config: QuestionConfig, way: Route
    ) -> Given | Unanswered:
        match way:
            case UseRemembered(value):
                await self._respond(asked, Answered(value), "memory")
                return Given(value)
            case UseStatic(value):
                await self._respond(asked, _recordable(asked.question, value), "configuration")
                return Given(value)
            case Refuse(reason):
                return await self._refuse(asked, reason)
            case AskBackend():
                return await self._ask_backend(call, asked, config)
            case AskPerson():
                return await self._ask(asked)

    async def _refuse(self, asked: Asked, reason: RefusalReason) -> Unanswered:
        misconfigured = reason is CancellationReason.INVALID_STATIC_ANSWER
        decider: _Decider = "configuration" if misconfigured else "system"
        await self._respond(asked, Cancelled(reason), decider)
        text = texts.refused(asked.tool_name, asked.question.id, reason)
        return Unanswered(reason, Result(text, is_error=True))

    async def _ask_backend(
        self, call: ToolCallRequest, asked: Asked, config: QuestionConfig
    ) -> Given | Unanswered:
        """Let a secondary assistant answer (RFD 028; its errors per RFD 082)."""
        elements = await self.scribe.recorder.elements()
        work = self.backend.inquire(elements, call, asked.question, config)
        try:
            answer = await unless_stopped(work, self.interrupts)
            if isinstance(answer, Stopped):
                return await self._withdraw(asked)
            await self._respond(asked, Answered(answer), "assistant")
        except InquiryFailed as failure:
            return await self._backend_failed(asked, failure)
        except Settled:
            return await self._ask(asked)  # a person was first, or it expired: their outcome
        return Given(answer)

    async def _backend_failed(self, asked: Asked, failure: InquiryFailed) -> Given | Unanswered:
        reason = CancellationReason.BACKEND_ERROR
        try:
            await self._respond(asked, Cancelled(reason), "system")
        except Settled:
            return await self._ask(asked)
        text = texts.backend_failed(asked.tool_name, asked.question.id, str(failure))
        return Unanswered(reason, Result(text, is_error=True))

    async def _ask(self, asked: Asked) -> Given | Unanswered:
        """Let a person answer. The response is on record once the prompter returns."""
        resting = Resting() if self.in_call else self.state.resting
        waiting = resting.until_decided(lambda: self.prompter.ask(asked))
        match await unless_stopped(waiting, self.interrupts):
            case Answer(value, remember):
                if remember and reusable(asked.question):
                    key = self._key(asked.tool_name, asked.question.id)
                    self.state.remembered_tool_answers[key] = Remembered(value)
                return Given(value)
            case Declined() as declined:
                told = _declined(asked.tool_name, asked.question.id, declined)
                return Unanswered(declined.reason, told)
            case Stopped():
                return await self._withdraw(asked)

    def _key(self, tool: str, question_id: str) -> AnswerKey:
        return AnswerKey(tool, question_id, self.definitions.get(tool, ""))

    async def _withdraw(self, asked: Asked) -> Unanswered:
        """Close the question: a person interrupted the turn, or the tool did not wait for it."""
        interrupted = self.interrupts.pending is not None
        reason = CancellationReason.USER if interrupted else CancellationReason.LOST
        await self.prompter.withdraw(asked, reason)
        return Unanswered(reason, Result(texts.STOPPED))

    async def _respond(self, asked: Asked, outcome: Outcome, decider: _Decider) -> None:
        by: Mapping[str, Any] = {"by": {"kind": decider}}
        await self.scribe.record(InquiryResponse(asked.inquiry_id, outcome), note=by)


def _recordable(question: Question, value: Any) -> Outcome:
    return Answered(value) if question.answer_type.KEEP else Redacted()


def _in_flight(question_id: str, on_record: InquiryQuestion) -> Question:
    return Question(
        question_id,
        on_record.text,
        on_record.answer_type,
        on_record.default,
        on_record.context,
        on_record.exclusive,
        on_record.persistence,
    )


def _declined(tool: str, question_id: str, declined: Declined) -> Result:
    if declined.reason is CancellationReason.USER:
        return Result(texts.input_cancelled(declined.note))
    return Result(texts.unanswered(tool, question_id, declined.reason), is_error=True)
