"""What one turn keeps in memory (RFD 082 *Inquiry ID format*, *Splitting the turn-cache state*)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from jpweb.stream.events import ConversationEvent, Element
from jpweb.stream.inquiry import Answered, InquiryRequest, InquiryResponse


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


@dataclass(slots=True)
class TurnState:
    """Attempt counters, remembered answers and permissions; each turn makes one of its own."""

    remembered_tool_answers: dict[AnswerKey, Remembered] = field(default_factory=dict)
    remembered_permission_decisions: dict[PermissionKey, bool] = field(default_factory=dict)
    _attempts: Counter[tuple[str, str]] = field(default_factory=Counter)

    @classmethod
    def resumed(cls, elements: Iterable[Element]) -> Self:
        """Return the state of a turn that goes on; ``elements`` are those of this turn alone.

        Attempts go on counting from what jpweb noted beside each request, and answers that a
        person wanted remembered still are. Ids are never parsed. Permissions are asked for anew.
        """
        state = cls()
        asked: dict[str, AnswerKey] = {}
        for element in elements:
            body = element.body
            if not isinstance(body, ConversationEvent):
                continue
            note = body.metadata.get("jpweb")
            if isinstance(body.kind, InquiryRequest):
                state._count(note)
                asked |= _key(body.kind.id, note)
            elif isinstance(body.kind, InquiryResponse):
                state._remember(asked.get(body.kind.id), body.kind, note)
        return state

    def next_attempt(self, tool_call_id: str, question_id: str) -> int:
        """Count one more recording of the question by the call, and return the number, from 1."""
        self._attempts[tool_call_id, question_id] += 1
        return self._attempts[tool_call_id, question_id]

    def _count(self, noted: Any) -> None:
        match noted:
            case {"tool_call_id": str(tool_call_id), "question_id": str(question_id)}:
                self.next_attempt(tool_call_id, question_id)
            case _:  # another program's request, which our ids cannot meet
                pass

    def _remember(self, key: AnswerKey | None, response: InquiryResponse, noted: Any) -> None:
        wanted = isinstance(noted, Mapping) and noted.get("remember") is True
        if wanted and key is not None and isinstance(response.outcome, Answered):
            self.remembered_tool_answers[key] = Remembered(response.outcome.answer)


def _key(inquiry_id: str, noted: Any) -> dict[str, AnswerKey]:
    match noted:
        case {"tool": str(tool), "question_id": str(question_id)}:
            return {inquiry_id: AnswerKey(tool, question_id)}
        case _:
            return {}
