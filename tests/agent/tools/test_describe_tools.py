from __future__ import annotations

from typing import Any

import pytest

from jpweb.agent.config import AllowToggle, ParameterText, ToolConfig
from jpweb.agent.tool_outcome import Failed, Success
from jpweb.agent.tools.describe_tools import DescribeTools
from jpweb.agent.turn_setup import make_default_config
from jpweb.stream.inquiry import InquirySource

SCHEMA = {"type": "object", "properties": {}}
BARE = ToolConfig("bare", "", SCHEMA)
CUT = ToolConfig(
    "cut",
    "",
    SCHEMA,
    summary="Cut.",
    parameter_texts={
        "at": ParameterText("Where.", "Byte offset.", "12"),
        "n": ParameterText("How many."),
    },
)
JOIN = ToolConfig(
    "join",
    "",
    SCHEMA,
    parameter_texts={
        "sep": ParameterText(description="Glue."),
        "z": ParameterText(examples='"-"'),
    },
)
FIND = ToolConfig(
    "find", "Walks the tree.\n", SCHEMA, summary="Find files.", examples='find("*.py")'
)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["bare"], "## bare\n"),
        (
            ["cut"],
            "## cut\n\nCut.\n\n### Parameters\n\n#### `at`\n\nWhere.\n\nByte offset.\n\n12\n",
        ),
        (
            ["join"],
            '## join\n\n### Parameters\n\n#### `sep`\n\nGlue.\n\nGlue.\n\n#### `z`\n\n"-"\n',
        ),
        (
            ["find", "bare", "find"],
            "## find\n\nFind files.\n\nWalks the tree.\n\n### Examples\n\n"
            'find("*.py")\n\n---\n\n## bare\n',
        ),
        (["nope"], "No additional documentation available for: nope"),
        (
            ["bare", "no", "never"],
            "## bare\n\n---\n\nNo additional documentation available for: no, never",
        ),
        ([7, "bare"], "## bare\n"),
    ],
)
async def test_tools_are_described_as_by_jp(names: list[Any], text: str):
    tool = DescribeTools([BARE, CUT, JOIN, FIND])
    assert await tool.execute({"tools": names}, {}) == Success(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Missing or invalid `tools` parameter."),
        ({"tools": "grep"}, "Missing or invalid `tools` parameter."),
        ({"tools": []}, "The `tools` array must not be empty."),
        ({"tools": [7]}, "The `tools` array must not be empty."),
    ],
)
async def test_describe_tools_without_names_fails(arguments: dict[str, Any], message: str):
    assert await DescribeTools([BARE]).execute(arguments, {}) == Failed(message)


def test_describe_tools_cannot_be_switched_off():
    tool = DescribeTools([])
    assert make_default_config(tool).enable.allow_toggle is AllowToggle.NEVER
    assert tool.make_inquiry_source("describe_tools") == InquirySource.for_tool("describe_tools")
