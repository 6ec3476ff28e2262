"""What a tool gives back when it runs once (RFD 028, 083 *Generic enrichments*)."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import quote, quote_plus

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


#: Shorter ones would take ordinary words and numbers out of what a tool says.
_SHORTEST_HIDDEN = 4
HIDDEN = "[redacted]"


@dataclass(frozen=True, slots=True)
class SecretAnswer:
    """A secret on its way to a tool, marked so that nobody takes it for an ordinary answer."""

    value: str = field(repr=False)


def without(secrets: Iterable[SecretAnswer], text: str) -> str:
    """Return the text with each secret in it replaced: what a tool says is put on record.

    A secret is found as it is and as programs commonly repeat it: within JSON, quoted as Python
    does or for a URL, escaped for HTML, and the whole of it in base64. It is **not** found where
    it is shorter than four characters, in pieces, inside something longer that is encoded, or
    transformed in any other way (hashed, reversed, in hexadecimal). Do this before a text is cut:
    a cut may leave a piece.
    """
    for form in sorted(_forms(secrets), key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def after_cut(secrets: Iterable[SecretAnswer], text: str) -> str:
    """Return a text whose beginning is lost, without what may be the rest of a secret there."""
    forms = _forms(secrets)
    rest = max((_rest(form, text) for form in forms), default=0)
    return f"{HIDDEN}{text[rest:]}" if rest else text


def _rest(form: str, text: str) -> int:
    """Return how many characters at the text's beginning may be a piece of the form."""
    if text in form:
        return len(text)
    first = text[0]
    starts = (start for start in range(1, len(form)) if form[start] == first)
    return next((len(form) - start for start in starts if text.startswith(form[start:])), 0)


def _forms(secrets: Iterable[SecretAnswer]) -> set[str]:
    """Return what to look for."""
    plain = {secret.value for secret in secrets if len(secret.value) >= _SHORTEST_HIDDEN}
    return plain | {form for value in plain for form in _written(value)}


def _written(value: str) -> Iterator[str]:
    """Yield how programs repeat a value."""
    for only_ascii in (True, False):
        yield json.dumps(value, ensure_ascii=only_ascii)[1:-1]
    yield repr(value)[1:-1]
    yield html.escape(value)
    yield html.escape(value, quote=False)
    yield html.escape(value).replace("&#x27;", "&#39;")
    whole = value.encode("utf-8", "surrogatepass")
    for quoted in (quote(whole), quote(whole, safe=""), quote_plus(whole)):
        yield quoted
        yield re.sub("%..", lambda found: found[0].lower(), quoted)
    for data in (whole, whole + b"\n"):  # as echo and here-documents end it
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(data).decode().rstrip("=")
