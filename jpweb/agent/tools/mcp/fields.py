"""The fields of an elicitation's form as questions, and their answers as the form wants them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jpweb.stream.answers import AnswerType, Boolean, Option, Secret, Select, Text
from jpweb.stream.errors import Unfit


@dataclass(frozen=True, slots=True)
class Field:
    """One field: what is asked, and how its answer is read."""

    name: str
    text: str
    answer_type: AnswerType
    default: Any
    read: Callable[[Any], Any]
    required: bool

    def value(self, answer: Any) -> Any:
        """Return what the form gets; None where an optional field is left empty. Raises Unfit."""
        if not self.required and answer == "":
            return None
        return self.read(answer)


def fields(schema: Mapping[str, Any]) -> list[Field]:
    """Return the fields of a flat schema. Raises Unfit for what no person can be asked."""
    required = schema.get("required") or ()
    return [
        _field(name, part, required=name in required)
        for name, part in (schema.get("properties") or {}).items()
    ]


def _field(name: str, part: Any, *, required: bool) -> Field:
    if not isinstance(part, Mapping):
        raise Unfit(f"The field “{name}” cannot be asked for.")
    kind, read = _kind(name, part)
    text = str(part.get("description") or part.get("title") or name)
    default = part.get("default")
    if default is not None and isinstance(kind, Text) and not isinstance(default, str):
        default = ", ".join(map(str, default)) if isinstance(default, list) else str(default)
    return Field(name, text, kind, default if kind.fits(default) else None, read, required)


def _kind(name: str, part: Mapping[str, Any]) -> tuple[AnswerType, Callable[[Any], Any]]:
    options = _options(part)
    if options:
        return Select(options), _as_is
    kind = part.get("type")
    if kind == "boolean":
        return Boolean(), _as_is
    if kind in _CONVERT:
        hidden = part.get("format") == "password" or part.get("writeOnly") is True
        return Secret() if hidden else Text(), _reader(part, _CONVERT[kind])
    choices = _options(part.get("items") or {}) if kind == "array" else ()
    if choices:
        return Text(), _several(choices)
    raise Unfit(f"The field “{name}” cannot be asked for.")


def _options(part: Mapping[str, Any]) -> tuple[Option, ...]:
    """Return the choices, in the present spelling (``oneOf``, ``anyOf``) and the older ``enum``."""
    titled = part.get("oneOf") or part.get("anyOf")
    if isinstance(titled, list) and all(isinstance(o, Mapping) and "const" in o for o in titled):
        return tuple(Option(choice["const"], _title(choice.get("title"))) for choice in titled)
    values, names = part.get("enum"), part.get("enumNames")
    if not isinstance(values, list):
        return ()
    if not isinstance(names, list) or len(names) != len(values):
        names = [None] * len(values)
    return tuple(Option(value, _title(name)) for value, name in zip(values, names, strict=True))


def _title(name: Any) -> str | None:
    return name if isinstance(name, str) else None


def _as_is(answer: Any) -> Any:
    return answer


def _reader(part: Mapping[str, Any], convert: Callable[[str], Any]) -> Callable[[Any], Any]:
    """Return what converts an answer and holds it to the limits; a pattern is left to the server.

    A pattern of theirs could keep us busy for ever.
    """

    def read(answer: Any) -> Any:
        value = convert(answer)
        text = isinstance(value, str)
        size, unit = (len(value), " characters") if text else (value, "")
        least = part.get("minLength" if text else "minimum")
        most = part.get("maxLength" if text else "maximum")
        if isinstance(least, int | float) and size < least:
            raise Unfit(f"Give at least {least}{unit}.")
        if isinstance(most, int | float) and size > most:
            raise Unfit(f"Give at most {most}{unit}.")
        return value

    return read


def _integer(answer: str) -> int:
    try:
        return int(answer.strip())
    except ValueError as error:
        raise Unfit("Give a whole number.") from error


def _number(answer: str) -> float:
    try:
        value = float(answer.strip())
    except ValueError as error:
        raise Unfit("Give a number.") from error
    if not math.isfinite(value):
        raise Unfit("Give a number.")
    return int(value) if value.is_integer() else value


def _several(choices: tuple[Option, ...]) -> Callable[[Any], list[Any]]:
    known = {choice.label: choice.value for choice in choices}

    def read(answer: Any) -> list[Any]:
        picked = [word.strip() for word in str(answer).split(",") if word.strip()]
        if not all(word in known for word in picked):
            raise Unfit(f"Give one or more of {', '.join(known)}, with commas between them.")
        return [known[word] for word in picked]

    return read


_CONVERT: dict[str, Callable[[str], Any]] = {"string": str, "integer": _integer, "number": _number}
