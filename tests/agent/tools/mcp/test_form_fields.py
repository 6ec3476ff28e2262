from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.tool_outcome import MAX_CALL_QUESTIONS
from jpweb.agent.tools.mcp.form_fields import read_fields
from jpweb.stream.answer_type import Boolean, Option, Secret, Select, Text
from jpweb.stream.errors import InvalidAnswer


def field(part, required=("f",)) -> Any:
    (form_field,) = read_fields(
        {"type": "object", "properties": {"f": part}, "required": list(required)}
    )
    return form_field


class ComparedName(str):
    """A name that counts how often it is compared."""

    compare_count = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        ComparedName.compare_count += 1
        return super().__eq__(other)


AB = Select((Option("a", "A"), Option("b", "B")))
DEEP_LIST: Any = []
for _ in range(125):
    DEEP_LIST = [DEEP_LIST]


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"type": "boolean"}, Boolean()),
        ({"type": "string"}, Text()),
        ({"type": "string", "format": "email"}, Text()),
        ({"type": "string", "format": "password"}, Secret()),
        ({"type": "string", "writeOnly": True}, Secret()),
        ({"type": "integer"}, Text()),
        ({"type": "number"}, Text()),
        ({"type": "string", "enum": ["a", "b"]}, Select((Option("a"), Option("b")))),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}, AB),
        ({"type": "string", "enum": ["a"], "enumNames": ["A", "B"]}, Select((Option("a"),))),
        ({"enum": ["a"], "enumNames": [7]}, Select((Option("a"),))),
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}, AB),
        ({"type": "array", "items": {"enum": ["a"]}}, Text()),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, Text()),
        ({"type": ["string", "null"]}, Text()),
        ({"type": ["null", "boolean"]}, Boolean()),
        ({"type": ["array", "null"], "items": {"enum": ["a"]}}, Text()),
        ({"type": ["string", "null"], "enum": ["a", None]}, Select((Option("a"), Option(None)))),
    ],
)
def test_a_field_has_the_answer_type_of_its_schema(part, kind):
    assert field(part).answer_type == kind


@pytest.mark.parametrize(
    "part",
    [
        "string",
        {},
        {"type": "object"},
        {"type": "array"},
        {"type": "array", "items": {}},
        {"type": "array", "items": [{"enum": ["a"]}]},
        {"type": {"string": "null"}},
        {"type": ["string", "integer"]},
        {"type": ["null"]},
        {"type": [["string"]]},
        {"enum": ["a", math.inf]},
        {"oneOf": [{"const": math.nan}]},
        {"type": "array", "items": {"enum": [-math.inf]}},
        {"enum": [DEEP_LIST]},
    ],
)
def test_form_field_of_an_unsupported_type_is_refused(part):
    with pytest.raises(InvalidAnswer, match="“f” cannot be asked for"):
        field(part)


@pytest.mark.parametrize(
    ("key", "value"),
    [("properties", [1]), ("properties", "f"), ("required", 5), ("required", "f")],
)
def test_schema_with_a_key_of_another_shape_is_refused(key, value):
    schema = {"properties": {"f": {"type": "string"}}} | {key: value}
    with pytest.raises(InvalidAnswer, match=f"“{key}” of the form"):
        read_fields(schema)


def test_form_with_too_many_fields_is_refused_before_any_is_read():
    properties = {f"f{number}": 1 for number in range(MAX_CALL_QUESTIONS + 1)}
    with pytest.raises(InvalidAnswer, match="The form can have up to 25 fields"):
        read_fields({"properties": properties})


def test_fields_are_not_compared_with_each_required_name():
    properties = {f"f{number}": {"type": "string"} for number in range(MAX_CALL_QUESTIONS)}
    required_names = [*(ComparedName(f"x{number}") for number in range(1_000)), {}, ["f0"], "f1"]
    ComparedName.compare_count = 0
    form_fields = read_fields({"properties": properties, "required": required_names})
    assert [form_field.name for form_field in form_fields if form_field.required] == ["f1"]
    assert ComparedName.compare_count < len(required_names)


@pytest.mark.parametrize(
    ("part", "text"),
    [({}, "f"), ({"title": "T"}, "T"), ({"title": "T", "description": "D"}, "D")],
)
def test_a_field_is_asked_by_its_description(part, text):
    assert field({"type": "string"} | part).text == text


@pytest.mark.parametrize(
    ("part", "default"),
    [
        ({"type": "boolean", "default": True}, True),
        ({"type": "boolean", "default": "yes"}, None),
        ({"type": "integer", "default": 7}, "7"),
        ({"type": "string", "default": "s"}, "s"),
        ({"type": "string", "format": "password", "default": "s"}, None),
        ({"type": "integer", "writeOnly": True, "default": 7}, None),
        ({"enum": ["a"], "default": "b"}, None),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "default": ["a", "b"]}, "a, b"),
    ],
)
def test_a_default_is_kept_where_it_fits(part, default):
    assert field(part).default == default


@pytest.mark.parametrize(
    ("part", "answer", "value"),
    [
        ({"type": "boolean"}, False, False),
        ({"enum": ["a"]}, "a", "a"),
        ({"type": "integer", "minimum": 1, "maximum": 7}, " 7 ", 7),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "number"}, "2", 2),
        ({"type": "string", "minLength": 1, "maxLength": 3}, "abc", "abc"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "b, a,", ["b", "a"]),
    ],
)
def test_an_answer_is_read_as_the_form_wants_it(part, answer, value):
    assert field(part).read_value(answer) == value


@pytest.mark.parametrize(
    ("part", "answer", "pattern"),
    [
        ({"type": "integer"}, "1.5", "Give a whole number."),
        ({"type": "number"}, "much", "Give a number."),
        ({"type": "number"}, "inf", "Give a number."),
        ({"type": "integer", "minimum": 1}, "0", "Give at least 1."),
        ({"type": "integer", "maximum": 1}, "2", "Give at most 1."),
        ({"type": "string", "minLength": 2}, "a", "Give at least 2 characters."),
        ({"type": "string", "maxLength": 2}, "abc", "Give at most 2 characters."),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "a, c", "one or more of a, b"),
    ],
)
def test_form_field_error_names_valid_answers(part, answer, pattern):
    with pytest.raises(InvalidAnswer, match=pattern):
        field(part).read_value(answer)


def test_an_optional_field_may_be_left_empty():
    assert field({"type": "integer"}, required=()).read_value("") is None
    assert field({"type": ["integer", "null"]}, required=()).read_value("") is None
    assert field({"type": ["integer", "null"]}).read_value("7") == 7
    assert read_fields({"type": "object"}) == []


@given(number=st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_number_field_reads_any_number(number):
    value = field({"type": "number"}).read_value(repr(number))
    assert math.isclose(value, number) if isinstance(number, float) else value == float(number)
