"""What a tool gives back when it runs once (RFD 028, 083 *Generic enrichments*)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from jpweb.stream.answers import AnswerType
from jpweb.stream.inquiry import AnswerReusePolicy, InquiryQuestion


@dataclass(frozen=True, slots=True)
class Question:
    """A question in flight. ``id`` is the tool's own; it may not be empty or hold a dot."""

    id: str
    text: str
    answer_type: AnswerType
    default: Any = None
    context: str | None = None
    exclusive: bool = False
    persistence: AnswerReusePolicy = AnswerReusePolicy.TURN

    def persisted(self) -> InquiryQuestion:
        """Return the question as the stream records it."""
        return InquiryQuestion(
            self.text,
            self.answer_type,
            self.default,
            self.context,
            self.exclusive,
            self.persistence,
        )

    @property
    def human_only(self) -> bool:
        """Whether nothing but a person may answer (secret, or ``exclusive``)."""
        return self.exclusive or self.answer_type.HUMAN_ONLY


@dataclass(frozen=True, slots=True)
class Success:
    """The tool is done; ``content`` is what the model reads."""

    content: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The tool is done and says what went wrong; ``message`` is what the model reads."""

    message: str


@dataclass(frozen=True, slots=True)
class NeedsInput:
    """The tool asks. It is run again from the start once there is an answer."""

    question: Question


Outcome: TypeAlias = Success | Failed | NeedsInput


@dataclass(frozen=True, slots=True)
class Kept:
    """What a call has come to before its response can be recorded.

    ``content`` is None where there is nothing yet. ``delivered``: it is the call's final result;
    else a person has to let the model see it first. ``edited``: the arguments that a person gave
    the call instead. ``again``: the call had been running when an earlier process ended.
    """

    content: str | None
    is_error: bool = False
    edited: Mapping[str, Any] | None = None
    delivered: bool = False
    again: bool = False
