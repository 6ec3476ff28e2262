"""Fields of an elicitation's form as questions, and their answers in the form's types."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jpweb.agent.tool_outcome import MAX_CALL_QUESTIONS
from jpweb.stream.answer_type import AnswerType, Boolean, Option, Secret, Select, Text
from jpweb.stream.errors import InvalidAnswer, MalformedElement
from jpweb.stream.inquiry import check_answer_type


@dataclass(frozen=True, slots=True)
class FormField:
    """One field: its question, and the parser of its answer."""

    name: str
    text: str
    answer_type: AnswerType
    default: Any
    parse_answer: Callable[[Any], Any]
    required: bool

    def read_value(self, answer: Any) -> Any:
        """Return the form's value; None for an empty optional field. Raises InvalidAnswer."""
        if not self.required and answer == "":
            return None
        return self.parse_answer(answer)


def read_fields(schema: Mapping[str, Any]) -> list[FormField]:
    """Return the fields of a flat schema.

    Raises InvalidAnswer for one that no person can fill, and for more fields than a call may ask.
    """
    properties, required_names = schema.get("properties") or {}, schema.get("required") or []
    if not isinstance(properties, Mapping):
        raise InvalidAnswer("“properties” of the form must be an object.")
    if len(properties) > MAX_CALL_QUESTIONS:
        raise InvalidAnswer(f"The form can have up to {MAX_CALL_QUESTIONS} fields.")
    if not isinstance(required_names, list):
        raise InvalidAnswer("“required” of the form must be a list.")
    required_set = {name for name in required_names if isinstance(name, str)}
    return [
        _read_field(name, part, is_required=name in required_set)
        for name, part in properties.items()
    ]


def _read_field(name: str, part: Any, *, is_required: bool) -> FormField:
    if not isinstance(part, Mapping):
        raise InvalidAnswer(f"The field “{name}” cannot be asked for.")
    kind, parse_answer = _choose_field_type(name, part)
    text = str(part.get("description") or part.get("title") or name)
    default = part.get("default")
    if default is not None and isinstance(kind, Text) and not isinstance(default, str):
        default = ", ".join(map(str, default)) if isinstance(default, list) else str(default)
    if not kind.is_valid_default(default):
        default = None
    return FormField(name, text, kind, default, parse_answer, is_required)


def _choose_field_type(
    name: str, part: Mapping[str, Any]
) -> tuple[AnswerType, Callable[[Any], Any]]:
    options = _read_options(name, part)
    if options:
        return Select(options), _keep_answer
    kind = _read_type(part)
    if kind == "boolean":
        return Boolean(), _keep_answer
    if kind in _CONVERTERS:
        is_secret = part.get("format") == "password" or part.get("writeOnly") is True
        return Secret() if is_secret else Text(), _make_reader(part, _CONVERTERS[kind])
    items = part.get("items")
    choices = _read_options(name, items) if kind == "array" and isinstance(items, Mapping) else ()
    if choices:
        return Text(), _make_list_reader(choices)
    raise InvalidAnswer(f"The field “{name}” cannot be asked for.")


def _read_type(part: Mapping[str, Any]) -> str | None:
    """Return the type of a field; of several types the one that is not null, if it is one."""
    kind = part.get("type")
    kinds = [name for name in kind if name != "null"] if isinstance(kind, list) else [kind]
    return kinds[0] if len(kinds) == 1 and isinstance(kinds[0], str) else None


def _read_options(name: str, part: Mapping[str, Any]) -> tuple[Option, ...]:
    """Return the choices. Raises InvalidAnswer for values that cannot be recorded."""
    options = _list_options(part)
    try:
        check_answer_type(Select(options))
    except MalformedElement as error:
        raise InvalidAnswer(f"The field “{name}” cannot be asked for: {error}.") from error
    return options


def _list_options(part: Mapping[str, Any]) -> tuple[Option, ...]:
    """Return the choices, in the present spelling (``oneOf``, ``anyOf``) and the older ``enum``."""
    titled_options = part.get("oneOf") or part.get("anyOf")
    if isinstance(titled_options, list) and all(
        isinstance(o, Mapping) and "const" in o for o in titled_options
    ):
        return tuple(
            Option(choice["const"], _read_optional_text(choice.get("title")))
            for choice in titled_options
        )
    values, names = part.get("enum"), part.get("enumNames")
    if not isinstance(values, list):
        return ()
    if not isinstance(names, list) or len(names) != len(values):
        names = [None] * len(values)
    return tuple(
        Option(value, _read_optional_text(name)) for value, name in zip(values, names, strict=True)
    )


def _read_optional_text(name: Any) -> str | None:
    return name if isinstance(name, str) else None


def _keep_answer(answer: Any) -> Any:
    return answer


def _make_reader(part: Mapping[str, Any], convert: Callable[[str], Any]) -> Callable[[Any], Any]:
    """Return a function that converts an answer and checks its limits.

    A pattern is left to the server: a hostile one could run for ever.
    """

    def read_answer(answer: Any) -> Any:
        value = convert(answer)
        text = isinstance(value, str)
        size, unit = (len(value), " characters") if text else (value, "")
        minimum = part.get("minLength" if text else "minimum")
        maximum = part.get("maxLength" if text else "maximum")
        if isinstance(minimum, int | float) and size < minimum:
            raise InvalidAnswer(f"Give at least {minimum}{unit}.")
        if isinstance(maximum, int | float) and size > maximum:
            raise InvalidAnswer(f"Give at most {maximum}{unit}.")
        return value

    return read_answer


def _parse_integer(answer: str) -> int:
    try:
        return int(answer.strip())
    except ValueError as error:
        raise InvalidAnswer("Give a whole number.") from error


def _parse_number(answer: str) -> float:
    try:
        value = float(answer.strip())
    except ValueError as error:
        raise InvalidAnswer("Give a number.") from error
    if not math.isfinite(value):
        raise InvalidAnswer("Give a number.")
    return int(value) if value.is_integer() else value


def _make_list_reader(choices: tuple[Option, ...]) -> Callable[[Any], list[Any]]:
    values_by_label = {choice.label: choice.value for choice in choices}

    def read_answer(answer: Any) -> list[Any]:
        picked_labels = [label.strip() for label in str(answer).split(",") if label.strip()]
        if not all(label in values_by_label for label in picked_labels):
            raise InvalidAnswer(
                f"Give one or more of {', '.join(values_by_label)}, with commas between them."
            )
        return [values_by_label[label] for label in picked_labels]

    return read_answer


_CONVERTERS: dict[str, Callable[[str], Any]] = {
    "string": str,
    "integer": _parse_integer,
    "number": _parse_number,
}
