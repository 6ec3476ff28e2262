"""Routes a question to its answerer, or refuses it (RFD 082, 083).

A detached policy applies while no person is reachable. ``tests/agent/tool_calls/test_routing.py``
holds all 192 cases of the policy ``auto``, and those of the other policies without a person.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from jpweb.agent.config import DetachedPolicy, QuestionConfig, QuestionTarget
from jpweb.agent.ports import AnswerSource
from jpweb.agent.tool_calls.turn_state import RememberedAnswer
from jpweb.agent.tool_outcome import Question
from jpweb.stream.inquiry import AnswerReusePolicy, CancellationReason

RefusalReason: TypeAlias = Literal[
    CancellationReason.INVALID_STATIC_ANSWER,
    CancellationReason.ASSISTANT_ROUTING_DENIED,
    CancellationReason.NO_PROMPT_BACKEND,
]


@dataclass(frozen=True, slots=True)
class UseRemembered:
    """A person gave this answer earlier in the turn, and chose that it be remembered."""

    value: Any
    source: AnswerSource | None = None


@dataclass(frozen=True, slots=True)
class UseStatic:
    """The configuration answers, or by the policy ``defaults`` the question's own default."""

    value: Any = field(repr=False)  # may be a secret, and reprs end up in logs


@dataclass(frozen=True, slots=True)
class Refuse:
    """The question is refused; the tool call fails with this reason."""

    reason: RefusalReason


@dataclass(frozen=True, slots=True)
class AskBackend:
    """A second model answers (the inquiry backend, RFD 028)."""


@dataclass(frozen=True, slots=True)
class AskPerson:
    """A person answers."""


Route: TypeAlias = UseRemembered | UseStatic | Refuse | AskBackend | AskPerson


def route(
    question: Question,
    config: QuestionConfig,
    remembered_answer: RememberedAnswer | None,
    *,
    is_person_reachable: bool,
    detached_policy: DetachedPolicy = DetachedPolicy.AUTO,
) -> Route:
    """Return the route of a question; no side effects.

    ``is_person_reachable`` says whether a person can answer now; where none can,
    ``detached_policy`` decides about questions for a person (RFD 049). A remembered answer that
    does not match this question's type was given to another question, and is ignored.
    """
    is_valid = question.answer_type.is_valid
    if (
        remembered_answer is not None
        and is_reusable(question)
        and is_valid(remembered_answer.value)
    ):
        return UseRemembered(remembered_answer.value, remembered_answer.source)
    if config.answer is not None:
        if not is_valid(config.answer.value):
            return Refuse(CancellationReason.INVALID_STATIC_ANSWER)
        return UseStatic(config.answer.value)
    if config.target is QuestionTarget.USER and not is_person_reachable:
        return _route_detached(question, detached_policy)
    return _route_by_target(question, config.target)


def _route_detached(question: Question, detached_policy: DetachedPolicy) -> Route:
    match detached_policy:
        case DetachedPolicy.WAIT:
            return AskPerson()
        case DetachedPolicy.AUTO if not question.is_human_only:
            return AskBackend()
        case DetachedPolicy.DEFAULTS if _has_default(question):
            return UseStatic(question.default)
        case _:
            return Refuse(CancellationReason.NO_PROMPT_BACKEND)


def _has_default(question: Question) -> bool:
    """Tell whether the question's own default can answer it; a secret's never can."""
    default = question.default
    return default is not None and question.answer_type.is_valid_default(default)


def _route_by_target(question: Question, target: QuestionTarget) -> Route:
    if target is QuestionTarget.USER:
        return AskPerson()
    if not question.is_human_only:
        return AskBackend()
    return Refuse(CancellationReason.ASSISTANT_ROUTING_DENIED)


def is_reusable(question: Question) -> bool:
    """Tell whether an answer may be remembered: the gate for reading and for writing."""
    return question.persistence is AnswerReusePolicy.TURN and question.answer_type.RECORDS_ANSWER
