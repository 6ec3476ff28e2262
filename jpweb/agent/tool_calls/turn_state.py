"""State of one turn in memory (RFD 082 *Inquiry ID format*, *Splitting the turn-cache state*)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Self

from jpweb.agent.idle_tracker import IdleTracker
from jpweb.agent.ports import AnswerSource, Declined
from jpweb.agent.tool_calls import inquiry_records
from jpweb.agent.tool_outcome import CallBoundaries, Question
from jpweb.stream.events import ConversationEvent, Element, ToolCallResponse
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryOutcome,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
)

#: Whether a restarted call keeps a cancelled question closed; otherwise it asks again.
_IS_FINAL_BY_REASON: Mapping[CancellationReason, bool] = {
    CancellationReason.USER: True,
    CancellationReason.BACKEND_ERROR: False,
    CancellationReason.NO_PROMPT_BACKEND: False,
    CancellationReason.ASSISTANT_ROUTING_DENIED: False,
    CancellationReason.INVALID_STATIC_ANSWER: False,
    CancellationReason.EXPIRED: True,
    CancellationReason.LOST: False,
}

#: Of calls that have never begun again.
NO_BOUNDARIES = CallBoundaries()


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """The key of a remembered answer; holds for every later call of the tool in the turn.

    ``definition`` is that of the tool then: an answer does not hold for a tool that has changed.
    """

    tool_name: str
    question_id: str
    definition: str = ""


@dataclass(frozen=True, slots=True)
class PermissionKey:
    """The key of a remembered permission: the tool's definition, with any arguments."""

    tool_name: str
    definition: str = ""


@dataclass(frozen=True, slots=True)
class CallGrant:
    """The arguments that a call runs with, and the definition of its tool then.

    ``arguments`` is None where they are those of the recorded call. ``is_gated``: a person was to
    permit the call, so that without the grant a person has to be asked. ``policies``: the policy
    that permitted it in place of a person, as in CallResult.
    """

    arguments: Mapping[str, Any] | None = None
    definition: str = ""
    is_gated: bool = True
    policies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def to_note(self) -> dict[str, Any]:
        """Return the note beside each question of the call."""
        note: dict[str, Any] = {"permitted": True} if self.is_gated else {}
        if self.definition:
            note["definition"] = self.definition
        note |= {name: dict(policy) for name, policy in self.policies.items()}
        return note if self.arguments is None else note | {"arguments": dict(self.arguments)}

    @classmethod
    def from_note(cls, note: Mapping[str, Any]) -> Self:
        """Read a note; values of another type count as absent."""
        arguments, definition = note.get("arguments"), note.get("definition")
        permission = note.get("permission")
        return cls(
            arguments if isinstance(arguments, Mapping) else None,
            definition if isinstance(definition, str) else "",
            note.get("permitted") is True,
            {"permission": permission} if isinstance(permission, Mapping) else {},
        )


@dataclass(frozen=True, slots=True)
class RememberedAnswer:
    """An answer given earlier in the turn; a value of its own so that JSON null can be one.

    ``source``: the person who gave it; None where the record names none.
    """

    value: Any
    source: AnswerSource | None = None


@dataclass(frozen=True, slots=True)
class QuestionKey:
    """A question of one call, at any attempt."""

    tool_call_id: str
    question_id: str


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A request on record without a response, from before the process ended.

    ``is_with_person``: it was put before people. ``definition``: of the tool that asked.
    ``is_gated``: a person was to permit its call.
    """

    key: QuestionKey
    request: InquiryRequest
    is_with_person: bool
    definition: str = ""
    is_gated: bool = False


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A request on record with its answer, from before the process ended."""

    key: QuestionKey
    request: InquiryRequest
    value: Any


@dataclass(frozen=True, slots=True)
class DeclinedQuestion:
    """A request on record with its final decline, from before the process ended."""

    request: InquiryRequest
    decline: Declined


@dataclass(slots=True)
class TurnState:
    """The memory of one turn.

    For a resumed turn it also holds the progress of unfinished calls: questions that are open,
    were answered, were declined by a person or expired. ``grants`` holds the arguments of the
    batch's calls that passed the gate. ``is_patient``: open questions are with a person, and stay
    with one; where it is false, those whose note says so still do.
    """

    remembered_tool_answers: dict[AnswerKey, RememberedAnswer] = field(default_factory=dict)
    remembered_permission_decisions: dict[PermissionKey, bool] = field(default_factory=dict)
    _attempts: Counter[QuestionKey] = field(default_factory=Counter)
    _inquiry_ids: set[str] = field(default_factory=set, compare=False)
    _waiting: dict[str, OpenQuestion] = field(default_factory=dict)
    _answered: list[AnsweredQuestion] = field(default_factory=list)
    _closed: dict[QuestionKey, DeclinedQuestion] = field(default_factory=dict)
    #: Whether a person has answered, by paused call.
    _paused: dict[str, bool] = field(default_factory=dict)
    _granted: dict[str, CallGrant] = field(default_factory=dict)
    grants: dict[str, CallGrant] = field(default_factory=dict)
    is_patient: bool = True
    idle_tracker: IdleTracker = field(default_factory=IdleTracker, compare=False)

    @classmethod
    def from_elements(
        cls,
        elements: Sequence[Element],
        boundaries: CallBoundaries = NO_BOUNDARIES,
        start: int = 0,
        *,
        has_crashed: bool = False,
    ) -> Self:
        """Return the state of a resumed turn; ``elements`` are those of this turn alone.

        It is built from jpweb's notes beside the requests. Ids are never parsed. Permissions are
        asked for again, but for calls that wait at a question. ``start`` is the turn's position in
        the stream. ``has_crashed``: the turn was not parked, so that its calls may have been
        running with the answers before the boundary ``takeover``.
        """
        state = cls(is_patient=not has_crashed)
        questions_by_inquiry: dict[str, tuple[OpenQuestion, AnswerKey]] = {}
        for position, element in enumerate((*elements, None), start):
            if position == boundaries.restart:
                state.restart_calls()
            if position == boundaries.takeover:
                state._end_answered_pauses()
            if element is not None:
                state._add_element(element, questions_by_inquiry)
        return state

    def restart_calls(self) -> None:
        """Discard the progress of the open calls, which run from their start.

        Remembered answers and permissions hold, numbers go on, and open questions stay open: the
        calls that were paused at one will ask it again.
        """
        open_ids = {question.key.tool_call_id for question in self._waiting.values()}
        self._paused = {name: False for name in self._paused if name in open_ids}
        self._answered.clear()
        self._closed.clear()
        self._granted.clear()
        self.grants.clear()

    def count_attempt(self, tool_call_id: str, question_id: str) -> tuple[int, str]:
        """Count one more recording of the question by the call; return its number and inquiry id.

        Numbers begin at 1. Numbers whose ids any program has used in the turn are skipped.
        """
        key = QuestionKey(tool_call_id, question_id)
        while True:
            self._attempts[key] += 1
            inquiry_id = f"{tool_call_id}.{question_id}.{self._attempts[key]}"
            if inquiry_id not in self._inquiry_ids:
                self._inquiry_ids.add(inquiry_id)
                return self._attempts[key], inquiry_id

    def take_answers(self, tool_call_id: str) -> list[AnsweredQuestion]:
        """Return, once, the call's answers from before its process ended, in their order."""
        answers = [item for item in self._answered if item.key.tool_call_id == tool_call_id]
        self._answered = [item for item in self._answered if item.key.tool_call_id != tool_call_id]
        return answers

    def discard_settled(self, call_ids: Set[str]) -> None:
        """Discard the answers and declines of these calls: another call may have the same id."""
        self._answered = [item for item in self._answered if item.key.tool_call_id not in call_ids]
        self._closed = {k: v for k, v in self._closed.items() if k.tool_call_id not in call_ids}

    def take_waiting(self, tool_call_id: str, question_id: str) -> OpenQuestion | None:
        """Return, once, the question on record without a response."""
        key = QuestionKey(tool_call_id, question_id)
        inquiry_ids = [name for name, question in self._waiting.items() if question.key == key]
        return self._waiting.pop(inquiry_ids[0]) if inquiry_ids else None

    def take_unanswered(self, tool_call_id: str, *, gated: bool = False) -> list[OpenQuestion]:
        """Return, once, the open questions of a call; with ``gated`` only if it needed permission.

        It has ended, or has to be permitted again before it asks.
        """
        questions = [
            question
            for question in self._waiting.values()
            if question.key.tool_call_id == tool_call_id and (question.is_gated or not gated)
        ]
        return [self._waiting.pop(question.request.id) for question in questions]

    def take_closed(
        self, tool_call_id: str, question: Question, source: InquirySource
    ) -> Declined | None:
        """Return, once, the final decline of the question from before the process ended.

        That of another question of its id is discarded.
        """
        closed_question = self._closed.pop(QuestionKey(tool_call_id, question.id), None)
        if closed_question is None or not is_request_of(closed_question.request, question, source):
            return None
        return closed_question.decline

    def is_paused(self, tool_call_id: str) -> bool:
        """Tell whether the call was paused at a question when its process ended.

        A tool that asks is run again from its start by its protocol, so its run was not cut off.
        """
        return tool_call_id in self._paused

    def take_grant(self, tool_call_id: str, definition: str) -> CallGrant | None:
        """Return, once, the grant of a paused call; None where there is none.

        Where the tool has changed since, there is none, and the answers that the call had are
        discarded: they were given to another tool.
        """
        grant = self._granted.pop(tool_call_id, None)
        if grant is None:
            return None
        if grant.definition != definition:
            self.take_answers(tool_call_id)
            return None
        return grant if self.is_paused(tool_call_id) else None

    def _end_answered_pauses(self) -> None:
        """End the pause of calls that had an answer: they continued until their process ended."""
        self._paused = {name: False for name, has_answer in self._paused.items() if not has_answer}

    def _add_element(
        self, element: Element, questions_by_inquiry: dict[str, tuple[OpenQuestion, AnswerKey]]
    ) -> None:
        """Add an element to the state, and its request to the questions that may get an outcome."""
        body = element.body
        if element.tag == InquiryRequest.TAG:
            self._inquiry_ids.add(inquiry_records.read_inquiry_id(element))
        if not isinstance(body, ConversationEvent):
            return
        note = body.metadata.get("jpweb")
        match body.kind:
            case InquiryRequest() as request:
                questions_by_inquiry |= self._add_request(request, note)
            case InquiryResponse(inquiry_id, outcome) if inquiry_id in questions_by_inquiry:
                self._waiting.pop(inquiry_id, None)
                self._add_response(*questions_by_inquiry[inquiry_id], outcome, note)
            case ToolCallResponse(tool_call_id):
                self._end_call(tool_call_id)
            case _:
                pass

    def _add_request(
        self, request: InquiryRequest, note: Any
    ) -> dict[str, tuple[OpenQuestion, AnswerKey]]:
        match note:
            case {"tool_call_id": str(tool_call_id), "question_id": str(question_id)}:
                key = QuestionKey(tool_call_id, question_id)
            case _:  # another program's request: only its id is known
                return {}
        self._attempts[key] += 1
        grant = CallGrant.from_note(note)
        is_with_person = note.get("person") is True
        open_question = OpenQuestion(key, request, is_with_person, grant.definition, grant.is_gated)
        self._waiting[request.id] = open_question
        self._closed.pop(key, None)  # the call was restarted and asks again
        if note.get("in_call") is not True:
            self._paused[tool_call_id] = False
        self._granted[tool_call_id] = grant
        tool = note.get("tool")
        tool_name = tool if isinstance(tool, str) else ""
        answer_key = AnswerKey(tool_name, question_id, grant.definition)
        return {request.id: (open_question, answer_key)}

    def _add_response(
        self,
        question: OpenQuestion,
        answer_key: AnswerKey,
        outcome: InquiryOutcome,
        raw_note: Any,
    ) -> None:
        note = raw_note if isinstance(raw_note, Mapping) else {}
        key, request = question.key, question.request
        if isinstance(outcome, Answered):
            if inquiry_records.is_self_answered(note):
                self._paused.pop(key.tool_call_id, None)  # the call continued at once
            elif key.tool_call_id in self._paused:
                self._paused[key.tool_call_id] = True
            self._answered.append(AnsweredQuestion(key, request, outcome.answer))
            if answer_key.tool_name and note.get("remember") is True:
                source = inquiry_records.read_source(note)
                self.remembered_tool_answers[answer_key] = RememberedAnswer(outcome.answer, source)
            return
        decline = _read_decline(outcome, note)
        if decline is None:
            self._paused.pop(key.tool_call_id, None)
        else:
            self._closed[key] = DeclinedQuestion(request, decline)

    def _end_call(self, tool_call_id: str) -> None:
        """Discard the progress of a call: another may have its id."""
        self.discard_settled({tool_call_id})
        self.take_unanswered(tool_call_id)
        self._paused.pop(tool_call_id, None)
        self._granted.pop(tool_call_id, None)


def is_request_of(request: InquiryRequest, question: Question, source: InquirySource) -> bool:
    """Tell whether the request on record is that of this question: people saw the same."""
    return request.question == question.to_inquiry_question() and request.source == source


def _read_decline(outcome: InquiryOutcome, note: Mapping[str, Any]) -> Declined | None:
    """Return the final decline of a question; one that an interrupt withdrew is asked again."""
    match outcome:
        case Cancelled(CancellationReason() as reason) if _IS_FINAL_BY_REASON[reason]:
            if note.get("withdrawn") is True:
                return None
            text = note.get("note")
            return Declined(reason, text if isinstance(text, str) else "")
        case _:
            return None
