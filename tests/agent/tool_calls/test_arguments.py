from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.config import LocalSource, McpSource, ToolCommand, ToolConfig
from jpweb.agent.tool_calls.arguments import (
    fill_defaults,
    find_problems,
    matches_type,
    parse_embedded_json,
    prepare_arguments,
)
from jpweb.agent.tool_outcome import Failed

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "lines": {"type": "integer", "default": 10},
        "deep": {
            "type": "object",
            "properties": {"on": {"type": "boolean", "default": True}, "n": {"type": "number"}},
            "required": ["n"],
        },
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"default": 1}}}},
        "free": {"type": "object", "properties": {}, "additionalProperties": True},
    },
    "required": ["path"],
    "additionalProperties": False,
}
LOCAL = ToolConfig("probe", "", SCHEMA, source=LocalSource("probe", ToolCommand("true")))

KINDS = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NO_STRING = st.none() | st.booleans() | st.integers() | st.lists(st.integers())


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    plain = st.builds(lambda kind: {"type": kind}, KINDS | st.lists(KINDS, min_size=1))
    return st.recursive(
        plain | st.just({}) | st.builds(lambda d: {"default": d}, JSON),
        lambda inner: st.builds(
            lambda p, i: {"type": ["object", "array"], "properties": p, "items": i},
            st.dictionaries(st.text(max_size=2), inner, max_size=3),
            inner,
        ),
        max_leaves=6,
    )


@pytest.mark.parametrize(
    ("schema", "given_", "expected"),
    [
        ({"type": "integer"}, "7", 7),
        ({"type": "integer"}, "7.0", 7.0),
        ({"type": "integer"}, "7.5", "7.5"),
        ({"type": "integer"}, "seven", "seven"),
        ({"type": "number"}, "NaN", "NaN"),
        ({"type": "number"}, "7.5", 7.5),
        ({"type": "boolean"}, "true", True),
        ({"type": "integer"}, "true", "true"),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": ["integer", "string"]}, "7", "7"),
        ({"type": "string"}, "7", "7"),
        ({}, "7", "7"),
        ({"type": "integer"}, '"7"', '"7"'),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", 7),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, "7", "7"),
        ({"type": "array", "items": {"type": "integer"}}, '["1", 2]', [1, 2]),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, '{"a": "1"}', {"a": 1}),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, {"a": "[1]"}, {"a": [1]}),
        ({"type": "array"}, "[" * 100_000, "[" * 100_000),
        ({"type": "number"}, "1e999", "1e999"),
        ({"type": "array"}, "[" * 400 + "]" * 400, "[" * 400 + "]" * 400),
        ({"type": "array"}, r'["\ud800"]', r'["\ud800"]'),
        ({"type": "object", "properties": 7}, {"a": "1"}, {"a": "1"}),
    ],
)
def test_json_in_a_string_is_parsed_where_no_string_is_wanted(schema, given_, expected):
    result = parse_embedded_json(schema, given_)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "a"}, {"path": "a", "lines": 10}),
        ({"path": "a", "lines": "3"}, {"path": "a", "lines": 3}),
        (
            {"path": "a", "deep": {"n": 1}, "list": [{}]},
            {"path": "a", "lines": 10, "deep": {"n": 1, "on": True}, "list": [{"a": 1}]},
        ),
        ({"path": "a", "free": {"x": 1}}, {"path": "a", "lines": 10, "free": {"x": 1}}),
    ],
)
def test_a_local_tools_arguments_are_completed(arguments, expected):
    assert prepare_arguments(LOCAL, arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "“path” is missing"),
        ({"path": "a", "pth": 1}, "“pth” is unknown"),
        ({"path": "a", "deep": {"m": 1}}, "“deep.n” is missing; “deep.m” is unknown"),
        ({"path": "a", "list": [{"a": 1}, {"b": 1}]}, "“list[1].b” is unknown"),
    ],
)
def test_wrong_arguments_of_a_local_tool_are_refused_with_a_hint(arguments, message):
    result = prepare_arguments(LOCAL, arguments)
    assert isinstance(result, Failed)
    assert result.message == (
        f'Invalid arguments: {message}. Call describe_tools with {{"tools": ["probe"]}} to read '
        "what probe takes."
    )


@pytest.mark.parametrize("source", [LOCAL.source, McpSource("s", "t")], ids=["local", "mcp"])
def test_arguments_that_no_event_can_hold_are_refused(source):
    tool = ToolConfig("probe", "", {"properties": {"list": {"type": "array"}}}, source=source)
    result = prepare_arguments(tool, {"list": "[" * 124 + "]" * 124})
    assert result == Failed("Invalid arguments: nested too deeply.")


def test_prepare_arguments_leaves_checks_to_mcp_servers():
    tool = ToolConfig("probe", "", SCHEMA, source=McpSource("s", "t"))
    assert prepare_arguments(tool, {"lines": "3", "pth": 1}) == {"lines": 3, "pth": 1}


@given(value=NO_STRING)
def test_parse_embedded_json_round_trips(value):
    kinds = ["null", "boolean", "integer", "number", "array", "object"]
    assert parse_embedded_json({"type": kinds}, json.dumps(value)) == value


@given(schema=schemas(), value=JSON)
def test_parsing_twice_changes_nothing_more(schema, value):
    result = parse_embedded_json(schema, value)
    assert parse_embedded_json(schema, result) == result


@given(schema=schemas(), value=JSON)
def test_completing_takes_nothing_away_and_is_done_once(schema, value):
    result = fill_defaults(schema, value)
    assert fill_defaults(schema, result) == result
    if isinstance(value, dict):
        assert value.keys() <= result.keys()


@given(value=JSON)
def test_arguments_without_a_schema_are_valid_and_unchanged(value):
    assert parse_embedded_json({}, value) == value
    assert fill_defaults({}, value) == value
    assert list(find_problems({}, value)) == []
    assert matches_type({}, value)
