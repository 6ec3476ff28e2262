"""Built-in tool: returns the documentation of tools that the model has only summaries of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from jpweb.agent.config import AllowToggle, EnableConfig, ParameterText, QuestionConfig, ToolConfig
from jpweb.agent.tool_outcome import Failed, Success, ToolOutcome
from jpweb.stream.inquiry import InquirySource


class DescribeTools:
    """Returns the documentation of the turn's offered tools as Markdown."""

    NAME = "describe_tools"
    DESCRIPTION = (
        "Read the full documentation of one or more of your tools: what they do, examples, and "
        "every parameter. Call it before you use a tool that you have only a summary of."
    )
    PARAMETERS: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "tools": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The names of the tools to describe.",
            },
        },
        "required": ["tools"],
        "additionalProperties": False,
    }
    QUESTIONS: Mapping[str, QuestionConfig] = {}
    #: Not switchable: it is offered only with tools to describe, and costs nothing.
    ENABLE: ClassVar[EnableConfig] = EnableConfig(state=True, allow_toggle=AllowToggle.NEVER)

    def __init__(self, tools: Iterable[ToolConfig]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any]
    ) -> ToolOutcome:
        """Describe the tools in the order asked for; unknown ones are named at the end."""
        names = arguments.get("tools")
        if not isinstance(names, list):
            return Failed("Missing or invalid `tools` parameter.")
        unique_names = list(dict.fromkeys(name for name in names if isinstance(name, str)))
        if not unique_names:
            return Failed("The `tools` array must not be empty.")
        sections = [
            describe_tool(self._tools[name]) for name in unique_names if name in self._tools
        ]
        unknown_names = [name for name in unique_names if name not in self._tools]
        if unknown_names:
            sections.append(
                f"No additional documentation available for: {', '.join(unknown_names)}"
            )
        return Success("\n---\n\n".join(sections))

    def make_inquiry_source(self, name: str) -> InquirySource:
        """Return the tool; it never asks."""
        return InquirySource.for_tool(name)


def describe_tool(tool: ToolConfig) -> str:
    """Return a tool's documentation as JP writes it (docs/jp-format.md, Tool texts)."""
    parts = [f"## {tool.name}", tool.summary, tool.description]
    if tool.examples:
        parts += ["### Examples", tool.examples]
    parameters = [
        "\n\n".join([f"#### `{name}`", *texts])
        for name, text in tool.parameter_texts.items()
        if (texts := _list_parameter_texts(text))
    ]
    if parameters:
        parts += ["### Parameters", *parameters]
    return "\n\n".join(part.strip() for part in parts if part and part.strip()) + "\n"


def _list_parameter_texts(text: ParameterText) -> list[str]:
    """Return a parameter's summary, description and examples; none where the schema says it all.

    As in JP a parameter without a summary has its description twice.
    """
    if not (text.description or text.examples):
        return []
    texts = (text.summary or text.description, text.description, text.examples)
    return [part.strip() for part in texts if part and part.strip()]
