"""The base64 that JP wraps around some strings."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from jpweb.stream import base64_fields
from tests.stream import strategies


@given(strategies.texts)
@settings(deadline=None)
def test_encode_text_round_trips(text):
    assert base64_fields.decode_text(base64_fields.encode_text(text)) == text
    assert base64_fields.decode_content(base64_fields.encode_text(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "plain text",
        "true",  # valid base64, but of no UTF-8
        "test",
        "abcd",
        "aGk",  # no padding
        "aGl=",  # bits left over
        "aGk=\n",
        " aGk=",
        "a-_=",
        "café",
        "=",
    ],
)
def test_decode_text_of_invalid_base64_returns_the_text(text):
    assert base64_fields.decode_text(text) == text


def test_encode_text_of_an_empty_text_is_empty():
    assert (
        base64_fields.encode_text("")
        == base64_fields.decode_text("")
        == base64_fields.decode_content("")
        == ""
    )


def test_a_plain_string_that_looks_like_base64_is_decoded():
    assert base64_fields.decode_text("MTIz") == "123"


def test_a_text_that_is_base64_survives_when_wrapped():
    assert base64_fields.encode_text("aGk=") == "YUdrPQ=="
    assert base64_fields.decode_text("YUdrPQ==") == "aGk="


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pz8_", "???"),
        ("w6k-", "é>"),
        ("Pz8_Pw==", "????"),
        ("Pz8/", "???"),  # the standard alphabet wins
        ("_w==", "_w=="),  # no UTF-8
        ("Pz8_P", "Pz8_P"),  # no whole number of bytes
        ("so-so text", "so-so text"),
        ("Pz8_\n", "Pz8_\n"),
        ("aGk", "aGk"),
        ("aGl=", "aGl="),  # nothing in it is of the other alphabet
    ],
)
def test_old_content_is_shown_through_the_url_safe_alphabet(text, expected):
    assert base64_fields.decode_content(text) == expected


def test_a_change_reaches_every_string_value_and_no_key():
    value = {"k": ["a", {"k": "b"}], "n": 1, "t": True, "z": None, "f": 0.5}
    expected = {"k": ["A", {"k": "B"}], "n": 1, "t": True, "z": None, "f": 0.5}
    assert base64_fields.map_strings(str.upper, value) == expected
