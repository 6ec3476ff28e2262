from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.tools.mcp.overlay import ListedTool, overlay_tool
from tests.agent.tools.mcp.serving import make_tool_config

THEIRS = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "description": "Their a."},
        "b": {"type": "integer", "default": 1, "minimum": 0},
    },
    "required": ["a"],
    "$defs": {"x": {}},
}
LONG = "Does this. " + "And that, at length. " * 20
NAMES = st.sets(st.sampled_from("abcd"))


def overlay_description(server_text="Theirs.", **options) -> Any:
    return overlay_tool(ListedTool("t", server_text, THEIRS), make_tool_config("t", **options))


@pytest.mark.parametrize(
    ("own_text", "description"),
    [
        ("", "Theirs."),
        ("Ours.", "Ours."),
        ("{{description}} And {{ description }}", "Theirs. And Theirs."),
    ],
)
def test_a_description_may_hold_the_servers(own_text, description):
    assert overlay_description(description=own_text).description == description


def test_a_backslash_in_the_servers_description_is_no_command():
    assert overlay_description("a\\1b", description="{{description}}").description == "a\\1b"


@pytest.mark.parametrize(
    ("server_text", "summary", "description"),
    [
        (LONG, "Does this.", LONG.removeprefix("Does this. ").strip()),
        ("Short. Very.", None, "Short. Very."),
        ("x" * 500, None, "x" * 500),
        ("Title\n\n" + "x" * 500, "Title", "x" * 500),
    ],
)
def test_of_a_long_description_the_first_sentence_is_told(server_text, summary, description):
    tool = overlay_description(server_text)
    assert (tool.summary, tool.description) == (summary, description)


def test_a_configured_summary_stays():
    tool = overlay_description(LONG, summary="Ours, not {{description}}")
    assert tool.summary == f"Ours, not {LONG.strip()}"
    assert tool.description == LONG.strip()


def test_parameters_are_laid_over_and_required_only_grows():
    own_parameters = {
        "properties": {
            "a": {"description": "{{description}} Ours.", "enum": ["x"]},
            "b": {"type": "number", "default": 7},
            "c": {"type": "string"},
        },
        "required": ["b", "c"],
    }
    assert overlay_description(parameters=own_parameters).parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "Their a. Ours.", "enum": ["x"]},
            "b": {"type": "number", "default": 7, "minimum": 0},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
        "$defs": {"x": {}},
    }


@given(server_names=NAMES, required=NAMES, own_names=NAMES)
def test_what_the_server_requires_stays_required(server_names, required, own_names):
    schema = {
        "properties": {n: {} for n in server_names},
        "required": sorted(required & server_names),
    }
    config = make_tool_config("t", parameters={"required": sorted(own_names)})
    required_names = overlay_tool(ListedTool("t", "", schema), config).parameters["required"]
    assert set(required_names) == (required | own_names) & server_names


@pytest.mark.parametrize(
    ("server_schema", "properties", "required"),
    [
        ({"properties": None}, {}, []),
        ({"properties": ["a"], "required": "a"}, {}, []),
        ({"properties": {"a": True}, "required": None}, {"a": {"description": " Ours."}}, []),
        ({"properties": {"a": False, "b": True}}, {"a": {"description": " Ours."}, "b": True}, []),
        ({"properties": {"a": {"description": 7}}}, {"a": {"description": " Ours."}}, []),
        ({"properties": {"b": {}}, "required": ["b", 7, {}]}, {"b": {}}, ["b"]),
    ],
)
def test_what_is_not_as_a_schema_should_be_counts_as_not_said(server_schema, properties, required):
    own_schema = {"properties": {"a": {"description": "{{description}} Ours."}}}
    parameters = overlay_tool(
        ListedTool("t", "", server_schema), make_tool_config("t", parameters=own_schema)
    ).parameters
    stripped = {
        name: {"description": f" {schema['description']}"} if name == "a" else schema
        for name, schema in parameters["properties"].items()
    }
    assert (stripped, parameters["required"]) == (properties, required)
