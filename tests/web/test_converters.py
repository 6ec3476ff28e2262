"""What addresses and forms write is a number, an anchor or nothing, whatever was typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.web import converters


@given(st.integers(0, converters.MAX_KEY))
def test_a_number_is_read_up_to_the_largest(number: int):
    assert converters.parse_number(str(number), converters.MAX_KEY) == number
    assert converters.parse_number(str(number), number) == number
    if number:
        assert converters.parse_number(str(number), number - 1) is None


@pytest.mark.parametrize(
    "text",
    [None, "", " 1", "-1", "+1", "1.0", "1_0", "0x1", "٣", "²", "9" * 5_000, str(2**31)],
)
def test_parse_number_of_other_text_is_none(text: str | None):
    assert converters.parse_number(text) is None


@given(st.text())
def test_parse_number_accepts_any_text(text: str):
    number = converters.parse_number(text)
    assert number is None or 0 <= number <= converters.MAX_POSITION


@pytest.mark.parametrize(
    ("text", "key"),
    [("7", 7), (str(2**63 - 1), 2**63 - 1), (str(2**63), 0), (None, 0), ("", 0), ("x", 0)],
)
def test_key_of_any_other_text_is_zero(text: str | None, key: int):
    assert converters.parse_key(text) == key


@pytest.mark.parametrize(
    ("text", "anchor"),
    [(None, ""), ("", ""), ("e-1-x2", "e-1-x2"), ("e-\x00", "e-\ufffd"), ("e" * 99, "e" * 80)],
    ids=["absent", "empty", "anchor", "nul", "too long"],
)
def test_anchor_is_cut_and_has_no_nul(text: str | None, anchor: str):
    assert converters.parse_anchor(text) == anchor
