from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.redaction import (
    REDACTED_TEXT,
    SecretAnswer,
    redact_cut_start,
    redact_text,
    redact_value,
)
from tests.agent.redaction.encodings import ENCODINGS

#: None of its letters are in what takes a secret's place.
letters = st.text("xyz0 ", max_size=8)


@given(st.lists(letters.map(SecretAnswer)), st.lists(letters).map("".join))
def test_redact_text_removes_all_secrets(secrets, text):
    result = redact_text(secrets, text)
    assert not any(secret.value in result for secret in secrets if len(secret.value) >= 4)


@given(st.text())
def test_redact_text_without_secrets_returns_the_text(text):
    assert redact_text([], text) == text


def test_redact_text_replaces_the_longer_secret_first():
    secrets = [SecretAnswer("pass"), SecretAnswer("password")]
    assert redact_text(secrets, "password, pass") == f"{REDACTED_TEXT}, {REDACTED_TEXT}"


def test_redact_text_keeps_short_secrets():
    assert redact_text([SecretAnswer("the"), SecretAnswer("")], "the end") == "the end"
    assert redact_text([SecretAnswer("over")], "the over") == f"the {REDACTED_TEXT}"


@pytest.mark.parametrize("way", ENCODINGS)
@pytest.mark.parametrize("secret", ["p&ss <w\"ö'r\\d>/%", "correct horse battery staple", "ÿþ>?~"])
def test_redact_text_removes_encoded_secrets(secret, way):
    spelling = ENCODINGS[way](secret)
    result = redact_text([SecretAnswer(secret)], f"it is {spelling}!")
    assert REDACTED_TEXT in result
    assert spelling.strip("\"'=") not in result


@given(st.text(min_size=5, alphabet="abcde"), st.integers(1, 10), st.text("xyz"))
def test_redact_cut_start_removes_the_rest_of_a_cut_secret(secret, cut, after):
    tail = secret[cut:]
    result = redact_cut_start([SecretAnswer(secret)], f"{tail}{after}")
    assert result == (f"{REDACTED_TEXT}{after}" if tail else after)


def test_a_text_that_lies_within_a_secret_is_hidden_as_a_whole():
    assert redact_cut_start([SecretAnswer("correct horse")], "rect hor") == REDACTED_TEXT
    assert redact_cut_start([SecretAnswer("correct horse")], "") == ""


def test_a_secret_answer_does_not_show_its_value():
    assert "hunter2" not in repr(SecretAnswer("hunter2"))


SPLIT = [SecretAnswer("correct horse")]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["it is correct ", "horse, see"], [f"it is {REDACTED_TEXT}", f"{REDACTED_TEXT}, see"]),
        (
            ["corr", {"k": "ect"}, [" ho"], "rse"],
            [REDACTED_TEXT, {"k": REDACTED_TEXT}, [REDACTED_TEXT], REDACTED_TEXT],
        ),
        (["esroh ", "tcerroc"], [REDACTED_TEXT, REDACTED_TEXT]),
        (["correct", "x", " horse"], ["correct", "x", " horse"]),
    ],
    ids=["two", "several", "backwards", "apart"],
)
def test_redacted_secret_split_over_neighbors_is_taken_out(value, expected):
    assert redact_value(SPLIT, value) == expected


def test_redact_value_of_overlapping_split_secrets_leaves_no_part():
    secrets = [SecretAnswer("one two three"), SecretAnswer("two three four")]
    assert redact_value(secrets, ["one two", " three four"]) == [REDACTED_TEXT, REDACTED_TEXT]


def test_redacted_short_secret_split_over_options_stays():
    assert redact_value([SecretAnswer("1234")], ["1", "2", "3", "4"]) == ["1", "2", "3", "4"]


def test_redacted_value_is_freed_in_keys_and_numbers():
    value = {"a 123456": [123456, 1.5, True, None, {"x": 99123456}], "b": "123456"}
    assert redact_value([SecretAnswer("123456")], value) == {
        f"a {REDACTED_TEXT}": [REDACTED_TEXT, 1.5, True, None, {"x": f"99{REDACTED_TEXT}"}],
        "b": REDACTED_TEXT,
    }


def test_redacted_value_without_secrets_is_the_same():
    value = {"a": [1, "x"]}
    assert redact_value([SecretAnswer("ab")], value) is value


def test_redact_cut_start_keeps_leading_digits_of_other_text():
    assert redact_cut_start([SecretAnswer("abcde")], "65 files") == "65 files"
    assert redact_cut_start([SecretAnswer("abcde")], "636465 files") == f"{REDACTED_TEXT} files"
