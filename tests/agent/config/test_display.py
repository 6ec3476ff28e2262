from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.config import display


@given(st.text(alphabet=st.characters()))
def test_escape_invisible_returns_one_printable_line(text: str):
    assert display.escape_invisible(text).isprintable()


@given(st.text(), st.text())
def test_escape_invisible_of_different_texts_differs(first: str, second: str):
    assert (display.escape_invisible(first) == display.escape_invisible(second)) is (
        first == second
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\u202eb", r"a\u202eb"),
        ("a\nb\t", r"a\nb\t"),
        ("\x1b[0m", r"\x1b[0m"),
        ("a\\nb", r"a\\nb"),
        ("\ud800", r"\ud800"),
        ("\u00a0\u200b", r"\xa0\u200b"),
        ("Bäume 木", "Bäume 木"),
    ],
)
def test_escape_invisible_spells_out_hidden_characters(text: str, expected: str):
    assert display.escape_invisible(text) == expected


def test_keys_are_written_as_toml_writes_them():
    path = ("conversation", "tools", "*", "a b", "x\ny", "k" * 200)
    assert display.format_key(path) == (
        r'conversation.tools.*."a b"."x\ny".' + "k" * 200  # bare keys stay whole
    )


def test_values_are_cut_where_they_are_long():
    assert display.format_value("x" * 500) == '"' + "x" * 79 + '…"'
    assert len(display.format_value(["x" * 500])) == 80
    assert display.format_value({"a": [1, None, "é"]}) == '{"a": [1, null, "é"]}'


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://x.example", "https://x.example"),
        ("http://x:1/a/@b", "http://x:1/a/@b"),
        ("https://me:s3cret@x/mcp", "https://…@x/mcp"),
        ("https://me:s3c@ret@x/mcp", "https://…@x/mcp"),
        ("https://x/mcp?key=s3cret", "https://x/mcp?…"),
        ("https://x?key=s3cret#a", "https://x?…"),
        ("https://x/#s3cret?", "https://x/#…"),
        ("", ""),
    ],
)
def test_mask_url_hides_possible_keys(address: str, expected: str):
    assert display.mask_url(address) == expected
