"""What one turn keeps in memory (RFD 082 *Inquiry ID format*, *Splitting the turn-cache state*)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from jpweb.stream.events import ConversationEvent, Element, ToolCallResponse
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
    Outcome,
)


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """What an answer is remembered under; holds for every later call of the tool in the turn."""

    tool_name: str
    question_id: str


@dataclass(frozen=True, slots=True)
class PermissionKey:
    """What a permission is remembered under: the tool, whatever its arguments."""

    tool_name: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """An answer given earlier in the turn; a value of its own so that JSON null can be one."""

    value: Any


@dataclass(frozen=True, slots=True)
class QuestionKey:
    """A question of one call, whatever the attempt."""

    tool_call_id: str
    question_id: str


@dataclass(slots=True)
class TurnState:
    """What a turn remembers; each makes one of its own.

    Of a turn that goes on after its process ended also what its unfinished calls had come to:
    questions that still wait, that were answered, that a person declined.
    """

    remembered_tool_answers: dict[AnswerKey, Remembered] = field(default_factory=dict)
    remembered_permission_decisions: dict[PermissionKey, bool] = field(default_factory=dict)
    _attempts: Counter[QuestionKey] = field(default_factory=Counter)
    _waiting: dict[QuestionKey, InquiryRequest] = field(default_factory=dict)
    _answered: dict[QuestionKey, Remembered] = field(default_factory=dict)
    _declined: set[QuestionKey] = field(default_factory=set)

    @classmethod
    def resumed(cls, elements: Iterable[Element]) -> Self:
        """Return the state of a turn that goes on; ``elements`` are those of this turn alone.

        It is built from what jpweb noted beside each request. Ids are never parsed. Permissions
        are asked for anew.
        """
        state = cls()
        asked: dict[str, tuple[QuestionKey, str]] = {}
        for element in elements:
            body = element.body
            if not isinstance(body, ConversationEvent):
                continue
            note = body.metadata.get("jpweb")
            match body.kind:
                case InquiryRequest() as request:
                    asked |= state._request(request, note)
                case InquiryResponse(inquiry_id, outcome) if inquiry_id in asked:
                    state._response(*asked[inquiry_id], outcome, note)
                case ToolCallResponse(tool_call_id):
                    state._call_ended(tool_call_id)
                case _:
                    pass
        return state

    def next_attempt(self, tool_call_id: str, question_id: str) -> int:
        """Count one more recording of the question by the call, and return the number, from 1."""
        key = QuestionKey(tool_call_id, question_id)
        self._attempts[key] += 1
        return self._attempts[key]

    def take_answers(self, tool_call_id: str) -> dict[str, Any]:
        """Return, once, the answers on record that the call had before its process ended."""
        keys = [key for key in self._answered if key.tool_call_id == tool_call_id]
        return {key.question_id: self._answered.pop(key).value for key in keys}

    def take_waiting(self, tool_call_id: str, question_id: str) -> InquiryRequest | None:
        """Return, once, the request on record that still waits for its response."""
        return self._waiting.pop(QuestionKey(tool_call_id, question_id), None)

    def take_declined(self, tool_call_id: str, question_id: str) -> bool:
        """Tell, once, whether a person declined the question before the process ended."""
        key = QuestionKey(tool_call_id, question_id)
        declined = key in self._declined
        self._declined.discard(key)
        return declined

    def _request(self, request: InquiryRequest, noted: Any) -> dict[str, tuple[QuestionKey, str]]:
        match noted:
            case {"tool_call_id": str(tool_call_id), "question_id": str(question_id)}:
                key = QuestionKey(tool_call_id, question_id)
            case _:  # another program's request, which our ids cannot meet
                return {}
        self._attempts[key] += 1
        self._waiting[key] = request
        tool = noted.get("tool")
        return {request.id: (key, tool if isinstance(tool, str) else "")}

    def _response(self, key: QuestionKey, tool: str, outcome: Outcome, noted: Any) -> None:
        self._waiting.pop(key, None)
        note = noted if isinstance(noted, Mapping) else {}
        if isinstance(outcome, Answered):
            self._answered[key] = Remembered(outcome.answer)
            if tool and note.get("remember") is True:
                kept = AnswerKey(tool, key.question_id)
                self.remembered_tool_answers[kept] = Remembered(outcome.answer)
        elif outcome == Cancelled(CancellationReason.USER) and note.get("withdrawn") is not True:
            self._declined.add(key)

    def _call_ended(self, tool_call_id: str) -> None:
        """Forget what a call had come to: another may have its id."""
        for key in [key for key in self._answered if key.tool_call_id == tool_call_id]:
            del self._answered[key]
        for key in [key for key in self._waiting if key.tool_call_id == tool_call_id]:
            del self._waiting[key]
        self._declined = {key for key in self._declined if key.tool_call_id != tool_call_id}
