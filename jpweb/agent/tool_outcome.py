"""The outcomes of one execution of a tool (RFD 028, 083 *Generic enrichments*)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from jpweb.stream.answer_type import AnswerType
from jpweb.stream.inquiry import AnswerReusePolicy, InquiryQuestion

#: Limit of the questions of a call: a tool that repeats an answered one would never end.
MAX_CALL_QUESTIONS = 25


@dataclass(frozen=True, slots=True)
class Question:
    """A question in flight. ``id`` is the tool's own; it may not be empty or hold a dot or NUL."""

    id: str
    text: str
    answer_type: AnswerType
    default: Any = None
    context: str | None = None
    exclusive: bool = False
    persistence: AnswerReusePolicy = AnswerReusePolicy.TURN

    def to_inquiry_question(self) -> InquiryQuestion:
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
    def is_human_only(self) -> bool:
        """Whether only a person may answer (secret, or ``exclusive``)."""
        return self.exclusive or self.answer_type.HUMAN_ONLY


@dataclass(frozen=True, slots=True)
class Success:
    """The tool succeeded; the model reads ``content``."""

    content: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The tool failed; the model reads ``message``."""

    message: str


@dataclass(frozen=True, slots=True)
class NeedsInput:
    """The tool asks a question. It is executed again from the start with the answer."""

    question: Question


ToolOutcome: TypeAlias = Success | Failed | NeedsInput


@dataclass(frozen=True, slots=True)
class CallProgress:
    """The progress of a call before its response can be recorded.

    ``content`` is None before there is a result. ``is_final``: it is the call's final result; else
    a person has to let the model see it first. ``edited``: the arguments that a person substituted.
    ``was_cut_off``: the call was running when an earlier process ended. ``policies``: the notes of
    the policies that decided about the call or its result.
    """

    content: str | None
    is_error: bool = False
    edited: Mapping[str, Any] | None = None
    is_final: bool = False
    was_cut_off: bool = False
    policies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallBoundaries:
    """The lengths that the stream had when open calls last began again; 0 where they never did.

    ``restart``: a person restarted them. ``takeover``: a process acquired the turn from one that
    ended while they may have been running; no answer after it has reached them there.
    """

    restart: int = 0
    takeover: int = 0
