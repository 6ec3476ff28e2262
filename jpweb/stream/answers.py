"""The answer types a question may have (RFD 005, 082 *Secret questions*)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias, get_args

from jpweb.stream.errors import BrokenElement, Unfit
from jpweb.stream.kinds import Fields, optional_text


@dataclass(frozen=True, slots=True)
class _Type(ABC):
    """What every answer type says of itself."""

    TAG: ClassVar[str]
    #: False where the recorded response must not carry the answer.
    KEEP: ClassVar[bool] = True
    #: True where only a person may answer, whatever the question says.
    HUMAN_ONLY: ClassVar[bool] = False

    @classmethod
    def from_fields(cls, _fields: Fields) -> Self:
        """Read the type from its wire object. Raises BrokenElement."""
        return cls()

    def to_fields(self) -> dict[str, Any]:
        """Return the wire object, the tag first."""
        return {"type": self.TAG}

    @abstractmethod
    def fits(self, value: Any) -> bool:
        """Tell whether a JSON value is an answer of this type."""

    @abstractmethod
    def read(self, typed: str) -> Any:
        """Turn what a person typed or picked into the answer. Raises Unfit."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of an answer, for structured output."""


@dataclass(frozen=True, slots=True)
class Boolean(_Type):
    """Yes or no; the answer is a JSON boolean."""

    TAG: ClassVar[str] = "boolean"

    def fits(self, value: Any) -> bool:
        """Accept JSON booleans alone."""
        return isinstance(value, bool)

    def read(self, typed: str) -> bool:
        """Read ``true`` or ``false``. Raises Unfit."""
        if typed not in ("true", "false"):
            raise Unfit("Choose yes or no.")
        return typed == "true"

    def schema(self) -> dict[str, Any]:
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
        return self.value if isinstance(self.value, str) else _json(self.value)


@dataclass(frozen=True, slots=True)
class Select(_Type):
    """One of several options; the answer is the option's value."""

    TAG: ClassVar[str] = "select"
    options: tuple[Option, ...] = ()

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read ``options``: objects with ``value``, or bare values. Raises BrokenElement."""
        options = fields.get("options")
        if not isinstance(options, list):
            raise BrokenElement("“options” must be a list")
        return cls(tuple(_option(option) for option in options))

    def to_fields(self) -> dict[str, Any]:
        """Return tag and options; a description only where there is one."""
        options = [
            {"value": o.value} | ({} if o.description is None else {"description": o.description})
            for o in self.options
        ]
        return {"type": self.TAG, "options": options}

    def fits(self, value: Any) -> bool:
        """Accept the value of an option, true never passing for 1."""
        return any(_same(option.value, value) for option in self.options)

    def read(self, typed: str) -> Any:
        """Return the value of the option with this label. Raises Unfit."""
        for option in self.options:
            if option.label == typed:
                return option.value
        raise Unfit("Choose one of the options.")

    def schema(self) -> dict[str, Any]:
        """Return the schema: an enumeration of the values, typed where all are strings."""
        values = [option.value for option in self.options]
        typed = {"type": "string"} if all(isinstance(value, str) for value in values) else {}
        return {**typed, "enum": values}


@dataclass(frozen=True, slots=True)
class Text(_Type):
    """Free text; the answer is a JSON string, the empty one included."""

    TAG: ClassVar[str] = "text"

    def fits(self, value: Any) -> bool:
        """Accept JSON strings."""
        return isinstance(value, str)

    def read(self, typed: str) -> str:
        """Return the text with the browser's line ends made plain. Raises Unfit."""
        if "\x00" in typed:
            raise Unfit("The text contains a NUL character, which can't be stored.")
        return typed.replace("\r\n", "\n")

    def schema(self) -> dict[str, Any]:
        """Return the schema of a string."""
        return {"type": "string"}


@dataclass(frozen=True, slots=True)
class Secret(Text):
    """Free text that is delivered to the asker and recorded nowhere."""

    TAG: ClassVar[str] = "secret"
    KEEP: ClassVar[bool] = False
    HUMAN_ONLY: ClassVar[bool] = True

    def read(self, typed: str) -> str:
        """Return the secret as typed. Raises Unfit for an empty one."""
        if not typed:
            raise Unfit("Enter the secret, or decline.")
        return typed


AnswerType: TypeAlias = Boolean | Select | Text | Secret
ANSWER_TYPES: dict[str, type[AnswerType]] = {kind.TAG: kind for kind in get_args(AnswerType)}


#: How JP's Rust type spells itself where it has no tag (jp-storage-format, section 12).
_UNTAGGED: dict[str, type[AnswerType]] = {kind.__name__: kind for kind in get_args(AnswerType)}


def answer_type(value: Any) -> AnswerType:
    """Read a persisted ``answer_type``. Raises BrokenElement for a tag nobody knows.

    Both spellings are read: ``{"type": "select", "options": …}`` and the old ``"Boolean"``,
    ``{"Select": {"options": …}}``.
    """
    match value:
        case {"type": str(tag)} if tag in ANSWER_TYPES:
            return ANSWER_TYPES[tag].from_fields(value)
        case str(name) if name in _UNTAGGED:
            return _UNTAGGED[name].from_fields({})
        case dict() if len(value) == 1:
            ((name, fields),) = value.items()
            if name in _UNTAGGED and isinstance(fields, dict):
                return _UNTAGGED[name].from_fields(fields)
        case _:
            pass
    raise BrokenElement(f"unknown answer type {_json(value)[:80]}")


def _option(option: Any) -> Option:
    if not isinstance(option, dict):
        return Option(option)  # before March 2026 an option was its bare value
    if "value" not in option:
        raise BrokenElement("an option must be an object with “value”")
    return Option(option["value"], optional_text(option, "description"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _same(a: Any, b: Any) -> bool:
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)
