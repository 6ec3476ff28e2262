from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils.html import escape
from hypothesis import given
from hypothesis import strategies as st

from jpweb.runtime.rendering import json_values
from tests.web.reading import Tag, parse_page

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(JSON)
def test_json_keeps_its_text(value: Any):
    json_text = json_values.format_json(value)
    assert parse_page(json_values.highlight_json(json_text)).text == json_text.replace(
        "\r", "\n"
    ).replace("\x00", "\ufffd")


@given(st.text(st.sampled_from('"\\{}[]:,1truefalsn \n')))
def test_highlight_json_of_invalid_json_keeps_its_text(text: str):
    assert parse_page(json_values.highlight_json(text)).text == text


@pytest.mark.parametrize(
    "text", ['"cut \\" off: 12, true', '"' + '\\"' * 1_000_000], ids=["short", "long"]
)
def test_highlight_json_leaves_a_string_that_is_cut_off_plain(text: str):
    """It is scanned once: from each of its quotes, the second would take hours."""
    assert json_values.highlight_json(text) == escape(text)


def test_the_parts_of_json_are_marked():
    page = parse_page(json_values.highlight_json('{"k": ["s", -1.5e3, true, null]}'))
    marks = [(tag["class"], tag.text) for tag in page]
    assert marks == [("v", '"k"'), ("s", '"s"'), ("n", "-1.5e3"), ("k", "true"), ("k", "null")]


@pytest.mark.parametrize(
    "text", ["", "x", "[1", "{x}", "1", '"a"', "[1] and more", "[" * 5000 + "]"]
)
def test_indent_json_of_invalid_json_returns_none(text: str):
    assert json_values.indent_json(text) is None


def test_indent_json_changes_only_whitespace():
    source = '{"a":1.00,"a":"\\u0041","b":12345678901234567890}'
    result = json_values.indent_json(source)
    assert result is not None
    assert result.replace("\n", "").replace(" ", "") == source


def fields(
    arguments: dict[str, Any], max_chars: int = 10_000, *, colors: bool = False
) -> list[Tag]:
    return [
        t
        for t in parse_page(json_values.render_fields(arguments, max_chars, colors=colors).html)
        if t.tag in ("dt", "dd")
    ]


def test_arguments_are_read_field_by_field():
    tags = fields({"path": "src/x.rs", "count": 3, "deep": {"a": [1]}})
    assert [tag.text for tag in tags] == [
        *("path", "src/x.rs"),
        *("count", "3"),
        *("deep", json.dumps({"a": [1]}, indent=2)),
    ]


@pytest.mark.parametrize("text", ["true", "null", "12", "-1e5", "", " "])
def test_a_text_that_looks_like_another_value_is_quoted(text: str):
    (_, tag) = fields({"value": text})
    assert tag.text == json.dumps(text)


def test_render_fields_keeps_texts_of_several_lines():
    (_, tag) = fields({"content": "one\n\ttwo"})
    assert tag.text == "one\n\ttwo"


@pytest.mark.parametrize(
    ("arguments", "mark"),
    [
        ({"path": "a/b.py", "content": "def f():\n  pass"}, ("k", "def")),
        ({"content": "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y"}, ("removed", "-x")),
        ({"content": "one\n\x1b[31mtwo"}, ("fg-1", "two")),
    ],
)
def test_render_fields_highlights_texts_by_their_format(
    arguments: dict[str, str], mark: tuple[str, str]
):
    page = parse_page(json_values.render_fields(arguments, 1000, colors=True).html)
    assert mark in [(tag.get("class"), tag.text) for tag in page]


def test_arguments_are_cut_and_say_so():
    excerpt = json_values.render_fields({"a": "x" * 50, "b": "y" * 100, "c": 1}, 100, colors=False)
    assert excerpt.is_cut
    assert "x" * 50 in excerpt.html
    assert "y" * 49 in excerpt.html
    assert "y" * 51 not in excerpt.html
    many = json_values.render_fields(dict.fromkeys(map(str, range(1000)), 1), 10_000, colors=False)
    assert many.is_cut
    assert many.html.count("<dt>") == json_values.MAX_EXCERPT_FIELDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("curl x|sh #\rls\necho", "curl x|sh #␍ls\necho"),
        ("\x1b]0;curl x|sh\x07ls\necho", "␛]0;curl x|sh␇ls\necho"),
        ("a\x1b;b\n\x1b[31mred", "a␛;b\n␛[31mred"),
        ("\x1b[$(id)mls\n", "␛[$(id)mls\n"),
        ("\x1b[\x1b[0m31mls\n", "␛[␛[0m31mls\n"),
        ("\x1b[1mls\x1b[m\x1b[K\r\necho\x1b(B", "ls\necho"),
    ],
)
def test_render_fields_reveals_codes_that_hide_text(text: str, expected: str):
    (_, tag) = fields({"command": text})
    assert tag.text == expected


def test_render_fields_has_names_in_full():
    name = "x" * 300
    assert [tag.text for tag in fields({name: "one\ntwo"})] == [name, "one\ntwo"]


@pytest.mark.parametrize("raw", ['{"a": 1, "a": 2}', '{"b": {"a": 1, "a": 2}, "c": "one\\ntwo"}'])
def test_parse_json_object_with_a_duplicate_key_is_none(raw: str):
    assert json_values.parse_json_object(raw) is None
