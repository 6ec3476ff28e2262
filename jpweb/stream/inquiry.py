"""Inquiries: a question asked during a tool call, and how it ended (RFD 005, 082, 083)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self, TypeAlias

from jpweb.stream.answer_type import AnswerType, Select, read_answer_type
from jpweb.stream.errors import MalformedElement
from jpweb.stream.event_kind import (
    EventKindBase,
    Fields,
    check_storable,
    read_flag,
    read_optional_text,
    read_required_mapping,
    read_text,
)


class CancellationReason(StrEnum):
    """Reasons that jpweb writes: those of RFD 082 and 083, ``expired`` and ``lost``."""

    USER = "user"
    BACKEND_ERROR = "backend_error"
    NO_PROMPT_BACKEND = "no_prompt_backend"
    ASSISTANT_ROUTING_DENIED = "assistant_routing_denied"
    INVALID_STATIC_ANSWER = "invalid_static_answer"
    EXPIRED = "expired"
    LOST = "lost"

    @property
    def tag(self) -> str:
        """The wire tag."""
        return self.value


#: Whether inquiries cancelled for this reason were open to people and ended undecided.
IS_UNDECIDED_BY_REASON: Mapping[CancellationReason, bool] = {
    CancellationReason.USER: False,
    CancellationReason.BACKEND_ERROR: False,
    CancellationReason.NO_PROMPT_BACKEND: False,
    CancellationReason.ASSISTANT_ROUTING_DENIED: False,
    CancellationReason.INVALID_STATIC_ANSWER: False,
    CancellationReason.EXPIRED: True,
    CancellationReason.LOST: True,
}
UNDECIDED_REASONS = tuple(
    reason for reason, is_undecided in IS_UNDECIDED_BY_REASON.items() if is_undecided
)


@dataclass(frozen=True, slots=True)
class UnknownReason:
    """A reason of another version, kept verbatim; readers show it and never branch on it."""

    tag: str


#: Options of a question that is asked here, and characters of all of them: its card offers each.
#: Streams of JP may have more.
MAX_OPTIONS, MAX_OPTION_CHARS = 500, 50_000


class SourceTag(StrEnum):
    """Kinds of sources that may ask a question (RFD 082 *Source attribution*)."""

    TOOL = "tool"
    ASSISTANT = "assistant"
    USER = "user"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class InquirySource:
    """Source of a question, fixed at the executor boundary (RFD 082 *Source attribution*)."""

    tag: SourceTag
    name: str | None = None

    @classmethod
    def for_tool(cls, name: str) -> Self:
        """Return the source of a question that the named tool asks."""
        return cls(SourceTag.TOOL, name)

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read ``{"source": tag, "name"?: …}``. Raises MalformedElement."""
        tag = fields.get("source")
        if tag not in list(SourceTag):
            raise MalformedElement(f"unknown inquiry source {str(tag)[:80]!r}")
        has_name = tag in (SourceTag.TOOL, SourceTag.OTHER)
        return cls(SourceTag(tag), read_text(fields, "name") if has_name else None)

    def to_fields(self) -> dict[str, Any]:
        """Return the wire object."""
        return {"source": self.tag.value} | ({"name": self.name} if self.name is not None else {})


class AnswerReusePolicy(StrEnum):
    """How long an answer may be remembered (RFD 083)."""

    NONE = "none"
    TURN = "turn"


@dataclass(frozen=True, slots=True)
class InquiryQuestion:
    """The question as recorded (RFD 083 *Propagating to the persisted shape*)."""

    text: str
    answer_type: AnswerType
    default: Any = None
    context: str | None = None
    exclusive: bool = False
    persistence: AnswerReusePolicy = AnswerReusePolicy.TURN

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read a question; keys of RFD 083 may be absent. Raises MalformedElement."""
        persistence = fields.get("persistence", "turn")
        if persistence not in list(AnswerReusePolicy):
            raise MalformedElement("“persistence” must be none or turn")
        return cls(
            text=read_text(fields, "text"),
            answer_type=read_answer_type(fields.get("answer_type")),
            default=fields.get("default"),
            context=read_optional_text(fields, "context"),
            exclusive=read_flag(fields, "exclusive", default=False),
            persistence=AnswerReusePolicy(persistence),
        )

    def to_fields(self) -> dict[str, Any]:
        """Return the wire object; keys with their default value are left out."""
        optional_fields = {
            "default": self.default,
            "context": self.context,
            "exclusive": self.exclusive or None,
            "persistence": None if self.persistence == "turn" else self.persistence.value,
        }
        return {"text": self.text, "answer_type": self.answer_type.to_fields()} | {
            key: value for key, value in optional_fields.items() if value is not None
        }


@dataclass(frozen=True, slots=True)
class InquiryRequest(EventKindBase):
    """A question that was asked. ``id`` is opaque to readers and unique within its turn."""

    TAG: ClassVar[str] = "inquiry_request"
    CATEGORY: ClassVar[str] = "question"
    id: str
    source: InquirySource
    question: InquiryQuestion

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the fields. Raises MalformedElement."""
        return cls(
            read_text(fields, "id"),
            InquirySource.from_fields(read_required_mapping(fields, "source")),
            InquiryQuestion.from_fields(read_required_mapping(fields, "question")),
        )

    def to_fields(self) -> dict[str, Any]:
        """Return the fields in JP's order."""
        return {
            "id": self.id,
            "source": self.source.to_fields(),
            "question": self.question.to_fields(),
        }


@dataclass(frozen=True, slots=True)
class Answered:
    """The question was answered; the answer is on record."""

    TAG: ClassVar[Literal["answered"]] = "answered"
    answer: Any


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The question was closed without an answer."""

    TAG: ClassVar[Literal["cancelled"]] = "cancelled"
    reason: CancellationReason | UnknownReason


@dataclass(frozen=True, slots=True)
class Redacted:
    """A secret was delivered. It has no field for an answer."""

    TAG: ClassVar[Literal["redacted"]] = "redacted"


InquiryOutcome: TypeAlias = Answered | Cancelled | Redacted


@dataclass(frozen=True, slots=True)
class InquiryResponse(EventKindBase):
    """How the inquiry of the same ``id`` ended (RFD 082 *InquiryResponse serialization*)."""

    TAG: ClassVar[str] = "inquiry_response"
    id: str
    outcome: InquiryOutcome

    @property
    def category(self) -> str:
        """Outcomes apart from questions that were dropped: cancelled, and not by a person."""
        is_dropped = (
            isinstance(self.outcome, Cancelled)
            and self.outcome.reason.tag != CancellationReason.USER.tag
        )
        return "dropped" if is_dropped else "outcome"

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the tagged and the legacy flat form. Raises MalformedElement."""
        return cls(read_text(fields, "id"), _read_outcome(fields))

    def to_fields(self) -> dict[str, Any]:
        """Return the tagged form: outcome, id, payload."""
        head: dict[str, Any] = {"outcome": self.outcome.TAG, "id": self.id}
        match self.outcome:
            case Answered(answer):
                return head | {"answer": answer}
            case Cancelled(read_reason):
                return head | {"reason": read_reason.tag}
            case Redacted():
                return head


def check_answer_type(answer_type: AnswerType) -> None:
    """Raise MalformedElement for options that no card can offer or no record can hold.

    A row holds another value for one with NUL, so a person would choose what was not offered.
    """
    options = answer_type.options if isinstance(answer_type, Select) else ()
    if len(options) > MAX_OPTIONS:
        raise MalformedElement(
            f"a question can have up to {MAX_OPTIONS} options; this one has {len(options):,}"
        )
    char_count = sum(len(option.label) + len(option.description or "") for option in options)
    if char_count > MAX_OPTION_CHARS:
        raise MalformedElement(
            f"the options of a question can have up to {MAX_OPTION_CHARS:,} characters together; "
            f"these have {char_count:,}"
        )
    check_storable({"question": {"answer_type": answer_type.to_fields()}})
    if any(_has_nul(option.value) for option in options):
        raise MalformedElement("an option has the character NUL")


def _has_nul(value: Any) -> bool:
    """Tell whether a storable JSON value has NUL in one of its texts."""
    match value:
        case str():
            return "\0" in value
        case list():
            return any(map(_has_nul, value))
        case dict():
            return any(map(_has_nul, (*value, *value.values())))
        case _:
            return False


def read_reason(tag: Any) -> CancellationReason | UnknownReason:
    """Read a reason. A missing or non-text one is ``user`` (RFD 082), others are kept."""
    if not isinstance(tag, str):
        return CancellationReason.USER
    return CancellationReason(tag) if tag in list(CancellationReason) else UnknownReason(tag)


def _read_outcome(fields: Fields) -> InquiryOutcome:
    match fields.get("outcome", "answered"):
        case "answered":
            if "answer" not in fields:
                raise MalformedElement("an answered inquiry needs “answer”")
            return Answered(fields["answer"])
        case "cancelled":
            return Cancelled(read_reason(fields.get("reason")))
        case "redacted":
            return Redacted()
        case unknown_tag:
            raise MalformedElement(f"unknown outcome {str(unknown_tag)[:80]!r}")
