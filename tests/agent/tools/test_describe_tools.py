from __future__ import annotations

import pytest

from jpweb.agent.config import AllowToggle, ToolConfig
from jpweb.agent.tool_outcome import Failed, Success
from jpweb.agent.tools.describe_tools import DescribeTools
from jpweb.agent.turn_setup import default_config
from jpweb.stream.inquiry import InquirySource

GREP = ToolConfig(
    "grep",
    "Searches files.\n",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "What to find."},
            "mode": {"type": ["string", "null"], "enum": ["fast", None], "default": "fast"},
            "paths": {"type": "array", "items": {"type": "string"}},
            "sort": {
                "type": "array",
                "items": {"type": "object", "properties": {"by": {}}, "required": ["by"]},
            },
        },
        "required": ["pattern"],
    },
    summary="Search.",
    examples="grep it",
)
PLAIN = ToolConfig("plain", "Does it.", {})
GREP_TEXT = """## grep

Search.

Searches files.

### Examples

grep it

### Parameters

#### `pattern`

string; required

What to find.

#### `mode`

string or null; optional; one of `"fast"`, `null`; default `"fast"`

#### `paths`

array of string; optional

#### `sort`

array of object; optional

#### `sort[].by`

any; required"""
PLAIN_TEXT = "## plain\n\nDoes it."


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["plain"], PLAIN_TEXT),
        (["grep", "plain", "grep"], f"{GREP_TEXT}\n\n---\n\n{PLAIN_TEXT}"),
        (
            ["x", "plain", "y"],
            f"{PLAIN_TEXT}\n\n---\n\nThere is no additional documentation for: `x`, `y`.",
        ),
    ],
)
async def test_tools_are_described_in_the_order_asked_for(names, text):
    assert await DescribeTools([GREP, PLAIN]).execute({"tools": names}, {}) == Success(text)


@pytest.mark.parametrize("arguments", [{}, {"tools": []}, {"tools": "grep"}, {"tools": [7]}])
async def test_without_names_it_fails(arguments):
    outcome = await DescribeTools([GREP]).execute(arguments, {})
    assert isinstance(outcome, Failed)
    assert "“tools”" in outcome.message


def test_it_cannot_be_switched_off():
    tool = DescribeTools([])
    assert default_config(tool).enable.allow_toggle is AllowToggle.NEVER
    assert tool.inquiry_source("describe_tools") == InquirySource.for_tool("describe_tools")


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"properties": None}, None),
        ({"properties": []}, None),
        ({"properties": {"a": True}}, "any; optional"),
        ({"properties": {"a": {}}, "required": None}, "any; optional"),
        ({"properties": {"a": {"type": "array", "items": True}}}, "array; optional"),
        (
            {"properties": {"a": {"type": "array", "items": [{"type": "string"}]}}},
            "array; optional",
        ),
        ({"properties": {"a": {"properties": None, "description": 7}}}, "any; optional"),
        ({"properties": {"a": {"type": 7, "enum": "x"}}, "required": ("a",)}, "any; required"),
    ],
)
async def test_an_odd_schema_is_described_as_far_as_it_goes(schema, text):
    outcome = await DescribeTools([ToolConfig("odd", "D.", schema)]).execute({"tools": ["odd"]}, {})
    parameters = f"\n\n### Parameters\n\n#### `a`\n\n{text}" if text else ""
    assert outcome == Success(f"## odd\n\nD.{parameters}")
