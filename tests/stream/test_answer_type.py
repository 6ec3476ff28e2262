"""What fits a question."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from jpweb.stream.answer_type import (
    ANSWER_TYPES,
    Boolean,
    Option,
    Secret,
    Select,
    Text,
    read_answer_type,
)
from jpweb.stream.errors import InvalidAnswer, MalformedElement
from tests.stream import strategies

MIXED = Select(tuple(Option(value) for value in ("yes", 1, False, None, [True], {"a": 1, "b": 2})))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Boolean(), True),
        (Boolean(), False),
        (Text(), ""),
        (Text(), "true"),
        (Secret(), "hunter2"),
        (MIXED, "yes"),
        (MIXED, 1),
        (MIXED, False),
        (MIXED, None),
        (MIXED, [True]),
        (MIXED, {"b": 2, "a": 1}),
    ],
)
def test_a_value_of_the_type_fits(kind, value):
    assert kind.is_valid(value)


def test_default_fits_a_type_whose_answers_are_recorded():
    assert Text().is_valid_default("a")
    assert Boolean().is_valid_default(False)
    assert not Boolean().is_valid_default("a")
    assert not Secret().is_valid_default("a")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Boolean(), 1),
        (Boolean(), "true"),
        (Boolean(), None),
        (Text(), 1),
        (Text(), None),
        (Secret(), True),
        (MIXED, "no"),
        (MIXED, True),
        (MIXED, 1.0),
        (MIXED, 0),
        (MIXED, [1]),
        (Select(), None),
    ],
)
def test_is_valid_refuses_values_of_other_types(kind, value):
    assert not kind.is_valid(value)


@pytest.mark.parametrize(
    ("kind", "input_text", "answer"),
    [
        (Boolean(), "true", True),
        (Boolean(), "false", False),
        (Text(), "a\r\nb", "a\nb"),
        (Text(), "", ""),
        (Secret(), " pass\r\n", " pass\r\n"),
        (MIXED, "yes", "yes"),
        (MIXED, "1", 1),
        (MIXED, "false", False),
        (MIXED, "null", None),
        (MIXED, '{"a": 1, "b": 2}', {"a": 1, "b": 2}),
        (Select((Option("a\nb"),)), "a\r\nb", "a\nb"),
        (Select((Option("main\r"), Option("main"))), "main\n", "main\r"),
        (Select((Option("a\r\nb"),)), "a\nb", "a\r\nb"),
        (Select((Option("a\nb"), Option("a\rb"))), "a\rb", "a\rb"),
        (Select((Option("a\rb"), Option("a\rb"))), "a\r\nb", "a\rb"),
    ],
)
def test_parse_input_returns_the_typed_answer(kind, input_text, answer):
    value = kind.parse_input(input_text)
    assert value == answer
    assert type(value) is type(answer)
    assert kind.is_valid(value)


@pytest.mark.parametrize(
    ("kind", "input_text", "pattern"),
    [
        (Boolean(), "", "yes or no"),
        (Boolean(), "True", "yes or no"),
        (MIXED, "no", "one of the options"),
        (Select((Option("a\nb"), Option("a\rb"))), "a\r\nb", "one of the options"),
        (Select((Option("a\nb"), Option("a\r\nb"))), "a\r\nb", "one of the options"),
        (Select((Option("1"), Option(1))), "1", "one of the options"),
        (Select((Option(True), Option("true"))), "true", "one of the options"),
        (Secret(), "", "Enter the secret"),
        (Text(), "a\x00", "NUL"),
    ],
)
def test_parse_input_error_names_valid_answers(kind, input_text, pattern):
    with pytest.raises(InvalidAnswer, match=pattern):
        kind.parse_input(input_text)


def test_answer_type_has_a_json_schema():
    assert Boolean().make_schema() == {"type": "boolean"}
    assert Text().make_schema() == Secret().make_schema() == {"type": "string"}
    assert Select((Option("a", "A"), Option(1))).make_schema() == {"enum": ["a", 1]}


def test_a_secret_is_for_people_and_not_for_the_record():
    assert {tag: (kind.RECORDS_ANSWER, kind.HUMAN_ONLY) for tag, kind in ANSWER_TYPES.items()} == {
        "boolean": (True, False),
        "select": (True, False),
        "text": (True, False),
        "secret": (False, True),
    }


@pytest.mark.parametrize(
    ("values", "label"),
    [
        (("1", 1), "1"),
        ((1, 2, "2"), "2"),
        (("a\nb", "c", "a\r\nb"), "a\r\nb"),
        ((True, 1), None),
        (("a", "a"), None),
        ((), None),
    ],
)
def test_find_ambiguous_label_is_of_different_values_that_look_alike(values, label):
    assert Select(tuple(map(Option, values))).find_ambiguous_label() == label


@given(strategies.answer_types)
@settings(deadline=None)
def test_a_type_is_read_as_it_is_written(kind):
    assert read_answer_type(kind.to_fields()) == kind


@given(strategies.options)
@settings(deadline=None)
def test_select_option_can_be_chosen_by_its_label(option):
    assert Select((option,)).parse_input(option.label) == option.value


def test_an_empty_description_is_kept_and_an_absent_one_left_out():
    options = [{"value": "a", "description": ""}, {"value": "b"}]
    assert (
        read_answer_type({"type": "select", "options": options}).to_fields()["options"] == options
    )


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        (None, "unknown answer type null"),
        ("boolean", 'unknown answer type "boolean"'),
        ({"type": "colour"}, "unknown answer type"),
        ({"type": ["text"]}, "unknown answer type"),
        ({"type": "select"}, "“options” must be a list"),
        ({"Boolean": 1}, "unknown answer type"),
        ({"Select": []}, "unknown answer type"),
        ({"Select": {}}, "“options” must be a list"),
        ({"Colour": {}}, "unknown answer type"),
        ({"Text": {}, "Select": {}}, "unknown answer type"),
        ("Select", "“options” must be a list"),
        ({"type": "select", "options": [{"description": "a"}]}, "an object with “value”"),
        ({"type": "select", "options": [{"value": 1, "description": 2}]}, "“description”"),
    ],
)
def test_a_type_of_another_shape_is_broken(value, pattern):
    with pytest.raises(MalformedElement, match=pattern):
        read_answer_type(value)


@pytest.mark.parametrize(
    ("old", "kind"),
    [
        ("Boolean", Boolean()),
        ("Text", Text()),
        ({"Select": {"options": ["a", 1]}}, Select((Option("a"), Option(1)))),
        ({"type": "select", "options": ["a", None]}, Select((Option("a"), Option(None)))),
        ({"type": "select", "options": ["a", {"value": "b"}]}, Select((Option("a"), Option("b")))),
    ],
)
def test_the_spellings_before_march_2026_are_read(old, kind):
    assert read_answer_type(old) == kind
