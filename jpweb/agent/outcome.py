"""What a tool gives back when it runs once (RFD 028, 083 *Generic enrichments*)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
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

#: Shorter ones would take ordinary words and numbers out of what a tool says.
_SHORTEST_HIDDEN = 4
HIDDEN = "[redacted]"
_BOTH = (True, False)


@dataclass(frozen=True, slots=True)
class SecretAnswer:
    """A secret on its way to a tool, marked so that nobody takes it for an ordinary answer."""

    value: str = field(repr=False)


def without(secrets: Iterable[SecretAnswer], text: str) -> str:
    """Return the text with each secret in it replaced: what a tool says is put on record."""
    plain = {secret.value for secret in secrets if len(secret.value) >= _SHORTEST_HIDDEN}
    # Tools repeat what they were given inside JSON, too.
    escaped = {
        json.dumps(value, ensure_ascii=only_ascii)[1:-1] for value in plain for only_ascii in _BOTH
    }
    values = plain | escaped
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text
