from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.tools.mcp.overlay import ListedTool, overlay_tool
from tests.agent.tools.mcp.serving import declared

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


def laid(theirs="Theirs.", **ours) -> Any:
    return overlay_tool(ListedTool("t", theirs, THEIRS), declared("t", **ours))


@pytest.mark.parametrize(
    ("ours", "description"),
    [
        ("", "Theirs."),
        ("Ours.", "Ours."),
        ("{{description}} And {{ description }}", "Theirs. And Theirs."),
    ],
)
def test_a_description_may_hold_the_servers(ours, description):
    assert laid(description=ours).description == description


def test_a_backslash_in_the_servers_description_is_no_command():
    assert laid("a\\1b", description="{{description}}").description == "a\\1b"


@pytest.mark.parametrize(
    ("theirs", "summary", "description"),
    [
        (LONG, "Does this.", LONG.removeprefix("Does this. ").strip()),
        ("Short. Very.", None, "Short. Very."),
        ("x" * 500, None, "x" * 500),
        ("Title\n\n" + "x" * 500, "Title", "x" * 500),
    ],
)
def test_of_a_long_description_the_first_sentence_is_told(theirs, summary, description):
    made = laid(theirs)
    assert (made.summary, made.description) == (summary, description)


def test_a_configured_summary_stays():
    made = laid(LONG, summary="Ours, not {{description}}")
    assert made.summary == f"Ours, not {LONG.strip()}"
    assert made.description == LONG.strip()


def test_parameters_are_laid_over_and_required_only_grows():
    ours = {
        "properties": {
            "a": {"description": "{{description}} Ours.", "enum": ["x"]},
            "b": {"type": "number", "default": 7},
            "c": {"type": "string"},
        },
        "required": ["b", "c"],
    }
    assert laid(parameters=ours).parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "Their a. Ours.", "enum": ["x"]},
            "b": {"type": "number", "default": 7, "minimum": 0},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
        "$defs": {"x": {}},
    }


@given(theirs=NAMES, required=NAMES, ours=NAMES)
def test_what_the_server_requires_stays_required(theirs, required, ours):
    schema = {"properties": {n: {} for n in theirs}, "required": sorted(required & theirs)}
    config = declared("t", parameters={"required": sorted(ours)})
    made = overlay_tool(ListedTool("t", "", schema), config).parameters["required"]
    assert set(made) == (required | ours) & theirs


@pytest.mark.parametrize(
    ("theirs", "properties", "required"),
    [
        ({"properties": None}, {}, []),
        ({"properties": ["a"], "required": "a"}, {}, []),
        ({"properties": {"a": True}, "required": None}, {"a": {"description": " Ours."}}, []),
        ({"properties": {"a": False, "b": True}}, {"a": {"description": " Ours."}, "b": True}, []),
        ({"properties": {"a": {"description": 7}}}, {"a": {"description": " Ours."}}, []),
        ({"properties": {"b": {}}, "required": ["b", 7, {}]}, {"b": {}}, ["b"]),
    ],
)
def test_what_is_not_as_a_schema_should_be_counts_as_not_said(theirs, properties, required):
    ours = {"properties": {"a": {"description": "{{description}} Ours."}}}
    made = overlay_tool(ListedTool("t", "", theirs), declared("t", parameters=ours)).parameters
    stripped = {
        name: {"description": f" {said['description']}"} if name == "a" else said
        for name, said in made["properties"].items()
    }
    assert (stripped, made["required"]) == (properties, required)
