"""Where the answer to a question comes from, or why it cannot come (RFD 082, 083).

``tests/agent/test_routing.py`` holds the complete table of the 192 cases.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from jpweb.agent.config import QuestionConfig, QuestionTarget
from jpweb.agent.outcome import Question
from jpweb.agent.state import Remembered
from jpweb.stream.inquiry import AnswerReusePolicy, CancellationReason

RefusalReason: TypeAlias = Literal[
    CancellationReason.INVALID_STATIC_ANSWER,
    CancellationReason.ASSISTANT_ROUTING_DENIED,
    CancellationReason.NO_PROMPT_BACKEND,
]


@dataclass(frozen=True, slots=True)
class UseRemembered:
    """The person answered this earlier in the turn and said to remember it."""

    value: Any


@dataclass(frozen=True, slots=True)
class UseStatic:
    """The configuration answers."""

    value: Any = field(repr=False)  # may be a secret, and reprs end up in logs


@dataclass(frozen=True, slots=True)
class Refuse:
    """Nothing may answer; the tool call fails with this reason."""

    reason: RefusalReason


@dataclass(frozen=True, slots=True)
class AskBackend:
    """A secondary assistant answers."""


@dataclass(frozen=True, slots=True)
class AskPerson:
    """A person answers."""


Route: TypeAlias = UseRemembered | UseStatic | Refuse | AskBackend | AskPerson


def route(
    question: Question, config: QuestionConfig, remembered: Remembered | None, *, reachable: bool
) -> Route:
    """Decide, without side effects. ``reachable`` says whether a person can answer.

    A remembered answer that does not fit this question's type was given to another question.
    """
    fits = question.answer_type.fits
    if remembered is not None and reusable(question) and fits(remembered.value):
        return UseRemembered(remembered.value)
    if config.answer is not None:
        if not fits(config.answer.value):
            return Refuse(CancellationReason.INVALID_STATIC_ANSWER)
        return UseStatic(config.answer.value)
    return _whom_to_ask(question, config.target, reachable=reachable)


def _whom_to_ask(question: Question, target: QuestionTarget, *, reachable: bool) -> Route:
    if target is QuestionTarget.USER and reachable:
        return AskPerson()
    if not question.human_only:
        return AskBackend()
    if target is QuestionTarget.ASSISTANT:
        return Refuse(CancellationReason.ASSISTANT_ROUTING_DENIED)
    return Refuse(CancellationReason.NO_PROMPT_BACKEND)


def reusable(question: Question) -> bool:
    """Tell whether an answer may be remembered: the gate for reading and for writing."""
    return question.persistence is AnswerReusePolicy.TURN and question.answer_type.KEEP
