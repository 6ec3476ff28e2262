"""Where the answer to a question comes from, or why it cannot come (RFD 082, 083).

``tests/agent/calls/test_routing.py`` holds the complete table of the 192 cases, which is the
policy ``auto``, and what the other detached policies make of those that nobody can answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from jpweb.agent.calls.state import Remembered
from jpweb.agent.config import Detached, QuestionConfig, QuestionTarget
from jpweb.agent.outcome import Question
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
    """The configuration answers; under the policy ``defaults``, with the question's default."""

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
    question: Question,
    config: QuestionConfig,
    remembered: Remembered | None,
    *,
    reachable: bool,
    detached: Detached = Detached.AUTO,
) -> Route:
    """Decide, without side effects.

    ``reachable`` says whether a person can answer now; where none can, ``detached`` decides about
    what is for a person (RFD 049). A remembered answer that does not fit this question's type was
    given to another question.
    """
    fits = question.answer_type.fits
    if remembered is not None and reusable(question) and fits(remembered.value):
        return UseRemembered(remembered.value)
    if config.answer is not None:
        if not fits(config.answer.value):
            return Refuse(CancellationReason.INVALID_STATIC_ANSWER)
        return UseStatic(config.answer.value)
    if config.target is QuestionTarget.USER and not reachable:
        return _without_a_person(question, detached)
    return _whom_to_ask(question, config.target)


def _without_a_person(question: Question, detached: Detached) -> Route:
    match detached:
        case Detached.WAIT:
            return AskPerson()
        case Detached.AUTO if not question.human_only:
            return AskBackend()
        case Detached.DEFAULTS if _has_default(question):
            return UseStatic(question.default)
        case _:
            return Refuse(CancellationReason.NO_PROMPT_BACKEND)


def _has_default(question: Question) -> bool:
    """Tell whether the question's own default can answer it; that of a secret never can."""
    kind = question.answer_type
    return kind.KEEP and question.default is not None and kind.fits(question.default)


def _whom_to_ask(question: Question, target: QuestionTarget) -> Route:
    if target is QuestionTarget.USER:
        return AskPerson()
    if not question.human_only:
        return AskBackend()
    return Refuse(CancellationReason.ASSISTANT_ROUTING_DENIED)


def reusable(question: Question) -> bool:
    """Tell whether an answer may be remembered: the gate for reading and for writing."""
    return question.persistence is AnswerReusePolicy.TURN and question.answer_type.KEEP
