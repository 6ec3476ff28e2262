from __future__ import annotations

from typing import Any

import pytest
from django import forms
from django.core.exceptions import ValidationError

from jpweb.web.converters import MAX_KEY
from jpweb.web.forms.fields import (
    TextField,
    TypedTextField,
    WholeNumberField,
    find_problem,
)
from jpweb.web.forms.filters.inquiry_filters import InquiryFilterForm


@pytest.mark.parametrize(
    ("input_text", "text"),
    [
        (None, ""),
        ("", ""),
        (" a b\n", "a b"),
        ("a\0b", "a\0b"),
        ("abcdef", "abcd"),
        ("a\r\nb\r\n", "a\nb"),
    ],
)
def test_text_field_strips_and_cuts_its_text_and_takes_nul(input_text: str | None, text: str):
    assert TextField(required=False, max_chars=4).clean(input_text) == text


def test_text_field_of_spaces_alone_is_empty_if_required():
    with pytest.raises(ValidationError) as error:
        TextField().clean(" \n ")
    assert error.value.code == "required"


@pytest.mark.parametrize(
    ("input_text", "number"),
    [(None, None), (" ", None), (" 20 ", 20), ("0", 0), (str(MAX_KEY), MAX_KEY)],
)
def test_whole_number_field_reads_digits(input_text: str | None, number: int | None):
    assert WholeNumberField(required=False).clean(input_text) == number


@pytest.mark.parametrize(
    ("input_text", "limits", "code"),
    [(text, {}, "invalid") for text in ("x", "-1", "1_0", "1.0", "٣", "²", str(2**63), "9" * 5_000)]
    + [("0", {"min_value": 1}, "min_value"), ("2", {"max_value": 1}, "max_value")],
)
def test_whole_number_field_refuses_other_text(input_text: str, limits: dict[str, Any], code: str):
    with pytest.raises(ValidationError) as error:
        WholeNumberField(**limits).clean(input_text)
    assert [problem.code for problem in error.value.error_list] == [code]


@pytest.mark.parametrize("typed_text", ["", " a\r\n", "a\0b"])
def test_typed_text_field_keeps_its_text(typed_text: str):
    assert TypedTextField().clean(typed_text) == typed_text


def test_typed_text_field_without_a_value_is_empty():
    assert TypedTextField().clean(None) == ""


def test_find_problem_names_the_first_error_of_a_form():
    class PairForm(forms.Form):
        first = TextField(error_messages={"required": "Enter the first."})
        second = TextField(error_messages={"required": "Enter the second."})

    assert find_problem(PairForm({})) == "Enter the first."
    assert find_problem(PairForm({"first": "a"})) == "Enter the second."
    assert find_problem(PairForm({"first": "a", "second": "b"})) == ""


def test_forms_with_shared_fields_have_dicts_of_their_own():
    first_form, second_form = InquiryFilterForm({}), InquiryFilterForm({})
    assert first_form.fields["tool"] is second_form.fields["tool"]
    del first_form.fields["tool"]
    assert "tool" in second_form.fields
    assert "tool" in InquiryFilterForm({}).fields
