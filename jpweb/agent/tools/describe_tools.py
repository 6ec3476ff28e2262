"""The assistant reads the documentation of tools that it was told of only in short."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from jpweb.agent.config import AllowToggle, Enable, QuestionConfig, ToolConfig
from jpweb.agent.outcome import Failed, Outcome, Success
from jpweb.stream.inquiry import InquirySource


class DescribeTools:
    """Returns what is known of the tools that were offered when the turn began, as Markdown."""

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
    #: It is there as long as there are tools to describe, and costs nothing.
    ENABLE: ClassVar[Enable] = Enable(state=True, allow_toggle=AllowToggle.NEVER)

    def __init__(self, tools: Iterable[ToolConfig]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    async def execute(self, arguments: Mapping[str, Any], answers: Mapping[str, Any]) -> Outcome:
        """Describe the tools in the order asked for; those unknown are named at the end."""
        names = arguments.get("tools")
        if not isinstance(names, list) or not names:
            return Failed("“tools” is required: give a list of at least one tool's name.")
        if not all(isinstance(name, str) for name in names):
            return Failed("Each of the “tools” must be the name of a tool.")
        wanted = list(dict.fromkeys(names))
        sections = [described(self._tools[name]) for name in wanted if name in self._tools]
        unknown = [f"`{name}`" for name in wanted if name not in self._tools]
        if unknown:
            sections.append(f"There is no additional documentation for: {', '.join(unknown)}.")
        return Success("\n\n---\n\n".join(sections))

    def inquiry_source(self, name: str) -> InquirySource:
        """Return the tool; it never asks."""
        return InquirySource.tool(name)


def described(tool: ToolConfig) -> str:
    """Return a tool's documentation: name, summary, description, examples, parameters."""
    parts = [f"## {tool.name}", tool.summary, tool.description]
    if tool.examples:
        parts += ["### Examples", tool.examples]
    parameters = list(_parameters(tool.parameters))
    if parameters:
        parts += ["### Parameters", *parameters]
    return "\n\n".join(part.strip() for part in parts if part and part.strip())


def _parameters(schema: object, head: str = "") -> Iterator[str]:
    """Yield a paragraph for each parameter, those of nested objects included.

    Schemas of MCP servers come from outside: what is not as it should be is left out.
    """
    table = _table(schema)
    required = table.get("required")
    names = required if isinstance(required, list | tuple) else ()
    for name, part in _table(table.get("properties")).items():
        told, description = _table(part), _table(part).get("description")
        lines = [f"#### `{head}{name}`", _facts(told, required=name in names)]
        yield "\n\n".join([*lines, *([description] if isinstance(description, str) else [])])
        yield from _parameters(told, f"{head}{name}.")
        yield from _parameters(told.get("items"), f"{head}{name}[].")


def _facts(schema: Mapping[str, Any], *, required: bool) -> str:
    facts = [_kind(schema), "required" if required else "optional"]
    if isinstance(schema.get("enum"), list | tuple):
        facts.append(f"one of {', '.join(_json(value) for value in schema['enum'])}")
    if "default" in schema:
        facts.append(f"default {_json(schema['default'])}")
    return "; ".join(facts)


def _kind(schema: Mapping[str, Any]) -> str:
    kind, items = schema.get("type"), _table(schema.get("items"))
    if kind == "array" and items:
        return f"array of {_kind(items)}"
    match kind:
        case str():
            return kind
        case [*kinds]:
            return " or ".join(map(str, kinds))
        case _:
            return "any"


def _table(value: object) -> Mapping[str, Any]:
    """Return an object of the schema; of ``true``, ``false`` and the like an empty one."""
    return value if isinstance(value, Mapping) else {}


def _json(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"
