"""Configuration of tools and their questions, as values (RFD 034, 083)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class QuestionTarget(StrEnum):
    """Who answers a question when nothing answers it by itself (RFD 034)."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class StaticAnswer:
    """A configured answer; a value of its own so that JSON null can be one."""

    value: Any = field(repr=False)  # may be a secret, and reprs end up in logs


@dataclass(frozen=True, slots=True)
class QuestionConfig:
    """``conversation.tools.<tool>.questions.<id>``; ``prompt_label`` is display only."""

    target: QuestionTarget = QuestionTarget.USER
    answer: StaticAnswer | None = None
    prompt_label: str | None = None


@dataclass(frozen=True, slots=True)
class ToolConfig:
    """``conversation.tools.<name>``: what the model is told, and how questions are routed."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    questions: Mapping[str, QuestionConfig] = field(default_factory=dict)

    def question(self, question_id: str) -> QuestionConfig:
        """Return the configuration of a question, the default one where there is none."""
        return self.questions.get(question_id, QuestionConfig())
