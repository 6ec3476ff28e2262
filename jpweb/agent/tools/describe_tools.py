"""Built-in tool: returns the documentation of tools that the model has only summaries of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from jpweb.agent.config import AllowToggle, Enable, QuestionConfig, ToolConfig
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
    ENABLE: ClassVar[Enable] = Enable(state=True, allow_toggle=AllowToggle.NEVER)

    def __init__(self, tools: Iterable[ToolConfig]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any]
    ) -> ToolOutcome:
        """Describe the tools in the order asked for; unknown ones are named at the end."""
        names = arguments.get("tools")
        if not isinstance(names, list) or not names:
            return Failed("“tools” is required: give a list of at least one tool's name.")
        if not all(isinstance(name, str) for name in names):
            return Failed("Each of the “tools” must be the name of a tool.")
        unique_names = list(dict.fromkeys(names))
        sections = [
            describe_tool(self._tools[name]) for name in unique_names if name in self._tools
        ]
        unknown = [f"`{name}`" for name in unique_names if name not in self._tools]
        if unknown:
            sections.append(f"There is no additional documentation for: {', '.join(unknown)}.")
        return Success("\n\n---\n\n".join(sections))

    def inquiry_source(self, name: str) -> InquirySource:
        """Return the tool; it never asks."""
        return InquirySource.for_tool(name)


def describe_tool(tool: ToolConfig) -> str:
    """Return a tool's documentation: name, summary, description, examples, parameters."""
    parts = [f"## {tool.name}", tool.summary, tool.description]
    if tool.examples:
        parts += ["### Examples", tool.examples]
    parameters = list(_describe_parameters(tool.parameters))
    if parameters:
        parts += ["### Parameters", *parameters]
    return "\n\n".join(part.strip() for part in parts if part and part.strip())


def _describe_parameters(schema: object, prefix: str = "") -> Iterator[str]:
    """Yield a paragraph for each parameter, those of nested objects included.

    Schemas of MCP servers come from outside: values of another type are left out.
    """
    table = _as_mapping(schema)
    required = table.get("required")
    names = required if isinstance(required, list | tuple) else ()
    for name, part in _as_mapping(table.get("properties")).items():
        parameter, description = _as_mapping(part), _as_mapping(part).get("description")
        lines = [f"#### `{prefix}{name}`", _parameter_facts(parameter, required=name in names)]
        yield "\n\n".join([*lines, *([description] if isinstance(description, str) else [])])
        yield from _describe_parameters(parameter, f"{prefix}{name}.")
        yield from _describe_parameters(parameter.get("items"), f"{prefix}{name}[].")


def _parameter_facts(schema: Mapping[str, Any], *, required: bool) -> str:
    facts = [_describe_type(schema), "required" if required else "optional"]
    if isinstance(schema.get("enum"), list | tuple):
        facts.append(f"one of {', '.join(_format_json(value) for value in schema['enum'])}")
    if "default" in schema:
        facts.append(f"default {_format_json(schema['default'])}")
    return "; ".join(facts)


def _describe_type(schema: Mapping[str, Any]) -> str:
    kind, items = schema.get("type"), _as_mapping(schema.get("items"))
    if kind == "array" and items:
        return f"array of {_describe_type(items)}"
    match kind:
        case str():
            return kind
        case [*kinds]:
            return " or ".join(map(str, kinds))
        case _:
            return "any"


def _as_mapping(value: object) -> Mapping[str, Any]:
    """Return an object of the schema; of ``true``, ``false`` and the like an empty one."""
    return value if isinstance(value, Mapping) else {}


def _format_json(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"
