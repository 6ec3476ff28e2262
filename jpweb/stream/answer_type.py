"""The answer types a question may have (RFD 005, 082 *Secret questions*)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias, get_args

from jpweb.stream.errors import InvalidAnswer, MalformedElement
from jpweb.stream.event_kind import Fields, read_optional_text


@dataclass(frozen=True, slots=True)
class _AnswerTypeBase(ABC):
    """Base class of the answer types."""

    TAG: ClassVar[str]
    #: False where the recorded response must not carry the answer.
    RECORDS_ANSWER: ClassVar[bool] = True
    #: True where only a person may answer, in any question.
    HUMAN_ONLY: ClassVar[bool] = False

    @classmethod
    def from_fields(cls, _fields: Fields) -> Self:
        """Read the type from its wire object. Raises MalformedElement."""
        return cls()

    def to_fields(self) -> dict[str, Any]:
        """Return the wire object, the tag first."""
        return {"type": self.TAG}

    @abstractmethod
    def is_valid(self, value: Any) -> bool:
        """Tell whether a JSON value is an answer of this type."""

    def is_valid_default(self, value: Any) -> bool:
        """Tell whether a value may be suggested; a default is recorded, so a secret may not."""
        return self.RECORDS_ANSWER and self.is_valid(value)

    @abstractmethod
    def parse_input(self, input_text: str) -> Any:
        """Parse the text that a person typed or picked into the answer. Raises InvalidAnswer."""

    @abstractmethod
    def make_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of an answer, for structured output."""


@dataclass(frozen=True, slots=True)
class Boolean(_AnswerTypeBase):
    """Yes or no; the answer is a JSON boolean."""

    TAG: ClassVar[str] = "boolean"

    def is_valid(self, value: Any) -> bool:
        """Accept only JSON booleans."""
        return isinstance(value, bool)

    def parse_input(self, input_text: str) -> bool:
        """Read ``true`` or ``false``. Raises InvalidAnswer."""
        if input_text not in ("true", "false"):
            raise InvalidAnswer("Choose yes or no.")
        return input_text == "true"

    def make_schema(self) -> dict[str, Any]:
        """Return the schema of a boolean."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a select: any JSON value, with an optional description."""

    value: Any
    description: str | None = None

    @property
    def label(self) -> str:
        """The value as people see it and as a form sends it."""
        return self.value if isinstance(self.value, str) else _to_json(self.value)


@dataclass(frozen=True, slots=True)
class Select(_AnswerTypeBase):
    """One of several options; the answer is the option's value."""

    TAG: ClassVar[str] = "select"
    options: tuple[Option, ...] = ()

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read ``options``: objects with ``value``, or bare values. Raises MalformedElement."""
        options = fields.get("options")
        if not isinstance(options, list):
            raise MalformedElement("“options” must be a list")
        return cls(tuple(_read_option(option) for option in options))

    def to_fields(self) -> dict[str, Any]:
        """Return tag and options; a description only where there is one."""
        options = [
            {"value": o.value} | ({} if o.description is None else {"description": o.description})
            for o in self.options
        ]
        return {"type": self.TAG, "options": options}

    def is_valid(self, value: Any) -> bool:
        """Accept the value of an option; ``true`` and 1 are different values."""
        return any(_is_same_json(option.value, value) for option in self.options)

    def parse_input(self, input_text: str) -> Any:
        """Return the value of the option with this label.

        HTML and forms change line ends, to CRLF: a label that differs in nothing else counts as
        equal. Raises InvalidAnswer where no value has the label, or several do.
        """
        values = [option.value for option in self.options if option.label == input_text]
        if not values or "\r\n" in input_text:
            lines = _normalize_line_ends(input_text)
            values = [
                option.value
                for option in self.options
                if _normalize_line_ends(option.label) == lines
            ]
        if values and all(_is_same_json(values[0], value) for value in values):
            return values[0]
        raise InvalidAnswer("Choose one of the options.")

    def find_ambiguous_label(self) -> str | None:
        """Return a label that options of different values share; None where each has its own.

        ``1`` and ``"1"`` look the same, and so do texts that differ in line ends alone.
        """
        values_by_label: dict[str, Any] = {}
        for option in self.options:
            value = values_by_label.setdefault(_normalize_line_ends(option.label), option.value)
            if value is not option.value and not _is_same_json(value, option.value):
                return option.label
        return None

    def make_schema(self) -> dict[str, Any]:
        """Return the schema: an enumeration of the values, typed where all are strings."""
        values = [option.value for option in self.options]
        type_schema = {"type": "string"} if all(isinstance(value, str) for value in values) else {}
        return {**type_schema, "enum": values}


@dataclass(frozen=True, slots=True)
class Text(_AnswerTypeBase):
    """Free text; the answer is a JSON string, the empty one included."""

    TAG: ClassVar[str] = "text"

    def is_valid(self, value: Any) -> bool:
        """Accept JSON strings."""
        return isinstance(value, str)

    def parse_input(self, input_text: str) -> str:
        """Return the text with the browser's CRLF line ends as LF. Raises InvalidAnswer."""
        if "\x00" in input_text:
            raise InvalidAnswer("The text contains a NUL character, which can't be stored.")
        return input_text.replace("\r\n", "\n")

    def make_schema(self) -> dict[str, Any]:
        """Return the schema of a string."""
        return {"type": "string"}


@dataclass(frozen=True, slots=True)
class Secret(Text):
    """Free text that is delivered to the asker and recorded nowhere."""

    TAG: ClassVar[str] = "secret"
    RECORDS_ANSWER: ClassVar[bool] = False
    HUMAN_ONLY: ClassVar[bool] = True

    def parse_input(self, input_text: str) -> str:
        """Return the secret as typed. Raises InvalidAnswer for an empty one."""
        if not input_text:
            raise InvalidAnswer("Enter the secret, or decline.")
        return input_text


AnswerType: TypeAlias = Boolean | Select | Text | Secret
ANSWER_TYPES: dict[str, type[AnswerType]] = {kind.TAG: kind for kind in get_args(AnswerType)}


#: By the variant's name in JP's Rust enum, for types without a tag (docs/jp-format.md,
#: Older layouts).
_TYPES_BY_RUST_NAME: dict[str, type[AnswerType]] = {
    kind.__name__: kind for kind in get_args(AnswerType)
}


def read_answer_type(value: Any) -> AnswerType:
    """Read a persisted ``answer_type``. Raises MalformedElement for an unknown tag.

    Both spellings are read: ``{"type": "select", "options": …}`` and the old ``"Boolean"``,
    ``{"Select": {"options": …}}``.
    """
    match value:
        case {"type": str(tag)} if tag in ANSWER_TYPES:
            return ANSWER_TYPES[tag].from_fields(value)
        case str(name) if name in _TYPES_BY_RUST_NAME:
            return _TYPES_BY_RUST_NAME[name].from_fields({})
        case dict() if len(value) == 1:
            ((name, fields),) = value.items()
            if name in _TYPES_BY_RUST_NAME and isinstance(fields, dict):
                return _TYPES_BY_RUST_NAME[name].from_fields(fields)
        case _:
            pass
    raise MalformedElement(f"unknown answer type {_to_json(value)[:80]}")


def format_answer(value: Any) -> str:
    """Return an answer as people read it: Yes or No, a text as it is, anything else as JSON."""
    match value:
        case bool():
            return "Yes" if value else "No"
        case str():
            return value
        case _:
            return _to_json(value)


def _read_option(option: Any) -> Option:
    if not isinstance(option, dict):
        return Option(option)  # before March 2026 an option was its bare value
    if "value" not in option:
        raise MalformedElement("an option must be an object with “value”")
    return Option(option["value"], read_optional_text(option, "description"))


def _normalize_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_same_json(a: Any, b: Any) -> bool:
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)
