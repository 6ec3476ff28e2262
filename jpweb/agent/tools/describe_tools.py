"""The assistant reads the documentation of tools that it was told of only in short."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


def _parameters(schema: Mapping[str, Any], head: str = "") -> Iterator[str]:
    """Yield a paragraph for each parameter, those of nested objects included."""
    required: Sequence[str] = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        lines = [f"#### `{head}{name}`", _facts(part, required=name in required)]
        yield "\n\n".join([*lines, *([part["description"]] if part.get("description") else [])])
        yield from _parameters(part, f"{head}{name}.")
        yield from _parameters(part.get("items") or {}, f"{head}{name}[].")


def _facts(schema: Mapping[str, Any], *, required: bool) -> str:
    facts = [_kind(schema), "required" if required else "optional"]
    if "enum" in schema:
        facts.append(f"one of {', '.join(_json(value) for value in schema['enum'])}")
    if "default" in schema:
        facts.append(f"default {_json(schema['default'])}")
    return "; ".join(facts)


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "any")
    if kind == "array" and schema.get("items"):
        return f"array of {_kind(schema['items'])}"
    return kind if isinstance(kind, str) else " or ".join(kind)


def _json(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"
