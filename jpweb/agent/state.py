"""What one turn keeps in memory (RFD 082 *Inquiry ID format*, *Splitting the turn-cache state*)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from jpweb.stream.events import ConversationEvent, Element
from jpweb.stream.inquiry import InquiryRequest


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """What an answer is remembered under; holds for every later call of the tool in the turn."""

    tool_name: str
    question_id: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """An answer given earlier in the turn; a value of its own so that JSON null can be one."""

    value: Any


@dataclass(slots=True)
class TurnState:
    """Attempt counters and remembered answers; a turn has exactly one, made when it begins."""

    remembered_tool_answers: dict[AnswerKey, Remembered] = field(default_factory=dict)
    _attempts: Counter[tuple[str, str]] = field(default_factory=Counter)

    @classmethod
    def resumed(cls, elements: Iterable[Element]) -> Self:
        """Return the state of a turn that goes on; ``elements`` are those of this turn alone.

        Attempts go on counting from what jpweb noted beside each request. Ids are never parsed.
        """
        state = cls()
        for element in elements:
            body = element.body
            if isinstance(body, ConversationEvent) and isinstance(body.kind, InquiryRequest):
                state._count(body.metadata.get("jpweb"))
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
