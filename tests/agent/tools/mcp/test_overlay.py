from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.config import ParameterText
from jpweb.agent.tools.mcp.overlay import ListedTool, overlay_tool, split_first_sentence
from tests.agent.tools.mcp.serving import make_tool_config
from tests.machine.suite.growth import MAX_LINEAR_GROWTH, measure_growth

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
    ("own_text", "summary", "description"),
    [
        ("", "Theirs.", ""),
        ("Ours.", "Ours.", ""),
        ("{{description}} And {{ description }}", "Theirs.", "And Theirs."),
    ],
)
def test_a_description_may_hold_the_servers(own_text, summary, description):
    tool = overlay_description(description=own_text)
    assert (tool.summary, tool.description) == (summary, description)


def test_a_backslash_in_the_servers_description_is_no_command():
    assert overlay_description("a\\1b", description="{{description}}").summary == "a\\1b"


@pytest.mark.parametrize(
    ("text", "summary", "rest"),
    [
        ("List files. Hidden ones too.", "List files.", "Hidden ones too."),
        ("List files.", "List files.", ""),
        ("List files", "List files", ""),
        ("List files.\n\nhidden ones too", "List files.", "hidden ones too"),
        ("no dot here\nsecond line.", "no dot here", "second line."),
        ("Use e.g. a glob.", "Use e.g. a glob.", ""),
        ("Use e.g. A glob.", "Use e.g.", "A glob."),
        ("One. two. Three.", "One. two.", "Three."),
        ("Version 1.2 is out. Read on.", "Version 1.2 is out.", "Read on."),
        ("First.\tSecond.", "First.\tSecond.", ""),
        ("First. . Second.", "First. .", "Second."),
        ("First. \t\n Ähnlich.", "First.", "Ähnlich."),
        ("First. \n3.", "First.", "3."),
        ("  padded  ", "padded", ""),
        ("", "", ""),
        ("x" * 500, "x" * 500, ""),
    ],
)
def test_split_first_sentence_returns_summary_and_rest(text: str, summary: str, rest: str):
    assert split_first_sentence(text) == (summary, rest)


@pytest.mark.parametrize("piece", [". a", ".  ", ". \n", ".\ta"], ids=ascii)
def test_split_first_sentence_takes_linear_time(piece: str):
    small, large = (piece * count + "z" for count in (10_000, 40_000))
    growth = measure_growth(split_first_sentence, small, large)
    assert growth < MAX_LINEAR_GROWTH


def test_overlay_description_with_a_summary_drops_the_servers_text():
    tool = overlay_description(LONG, summary="Ours, not {{description}}")
    assert (tool.summary, tool.description) == ("Ours, not {{description}}", "")


def test_parameters_are_laid_over_and_required_only_grows():
    own_parameters = {
        "properties": {
            "a": {"description": "In short.", "enum": ["x"]},
            "b": {"type": "number", "default": 7},
            "c": {"type": "string"},
        },
        "required": ["b", "c"],
    }
    texts = {"a": ParameterText("In short.", "{{description}} Ours.")}
    tool = overlay_description(parameters=own_parameters, parameter_texts=texts)
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "Their a. Ours.", "enum": ["x"]},
            "b": {"type": "number", "default": 7, "minimum": 0},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
        "$defs": {"x": {}},
    }
    assert tool.parameter_texts == {
        "a": ParameterText("In short.", "{{description}} Ours."),
        "b": ParameterText(),
    }


def test_parameter_description_is_sent_whole_and_split_for_listing():
    schema = {"properties": {"a": {"type": "string", "description": "One. Two."}}}
    tool = overlay_tool(ListedTool("t", "", schema), make_tool_config("t"))
    assert tool.parameters["properties"]["a"]["description"] == "One. Two."
    assert tool.parameter_texts["a"] == ParameterText("One.", "Two.")


@given(server_names=NAMES, required=NAMES, own_names=NAMES)
def test_overlay_tool_keeps_parameters_required_by_the_server(server_names, required, own_names):
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
        ({"properties": {"a": True}, "required": None}, {"a": {"description": "Ours."}}, []),
        ({"properties": {"a": False, "b": True}}, {"a": {"description": "Ours."}, "b": True}, []),
        ({"properties": {"a": {"description": 7}}}, {"a": {"description": "Ours."}}, []),
        ({"properties": {"b": {}}, "required": ["b", 7, {}]}, {"b": {}}, ["b"]),
    ],
)
def test_overlay_tool_ignores_invalid_parts_of_a_server_schema(server_schema, properties, required):
    tool = overlay_tool(
        ListedTool("t", "", server_schema),
        make_tool_config(
            "t",
            parameters={"properties": {"a": {"description": "{{description}} Ours."}}},
            parameter_texts={"a": ParameterText(description="{{description}} Ours.")},
        ),
    )
    assert (tool.parameters["properties"], tool.parameters["required"]) == (properties, required)
