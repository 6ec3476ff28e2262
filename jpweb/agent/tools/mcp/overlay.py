"""A workspace's overrides of an MCP tool, merged over its server's description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from jpweb.agent.config import ToolConfig

#: Placeholder in a configured description for the server's own.
_DESCRIPTION_PLACEHOLDER = re.compile(r"\{\{\s*description\s*\}\}")
#: The model gets the first sentence of a longer one; describe_tools returns the rest.
_MAX_DESCRIPTION_CHARS = 160
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n")


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server lists it."""

    name: str
    description: str
    schema: Mapping[str, Any]


def overlay_tool(listed: ListedTool, declared: ToolConfig) -> ToolConfig:
    """Return the tool as it is described to the model."""
    description = _overlay_description(declared.description, listed.description)
    summary = declared.summary and _insert_description(declared.summary, listed.description)
    if summary is None and len(description) > _MAX_DESCRIPTION_CHARS:
        first_sentence, *later_text = _SENTENCE_END.split(description, maxsplit=1)
        if later_text:
            summary, description = first_sentence.strip(), later_text[0].strip()
    return replace(
        declared,
        description=description,
        summary=summary,
        parameters=_overlay_schema(listed.schema, declared.parameters),
    )


def _overlay_schema(
    server_schema: Mapping[str, Any], own_schema: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the server's schema with the workspace's properties; ``required`` only grows.

    The server's schema comes from outside: values of another type count as absent.
    """
    properties = dict(_as_mapping(server_schema.get("properties")))
    for name, override in own_schema.get("properties", {}).items():
        if name in properties:
            properties[name] = _overlay_parameter(_as_mapping(properties[name]), override)
    required = dict.fromkeys(
        [*_string_items(server_schema.get("required")), *own_schema.get("required", ())]
    )
    return {
        "additionalProperties": False,
        **server_schema,
        "type": "object",
        "properties": properties,
        "required": [name for name in required if name in properties],
    }


def _overlay_parameter(
    server_schema: Mapping[str, Any], own_schema: Mapping[str, Any]
) -> dict[str, Any]:
    parameter = {**server_schema, **own_schema}
    if "description" in own_schema:
        server_description = server_schema.get("description")
        parameter["description"] = _insert_description(
            own_schema["description"],
            server_description if isinstance(server_description, str) else "",
        )
    return parameter


def _as_mapping(value: object) -> Mapping[str, Any]:
    """Return an object of the schema; of ``true``, ``false`` and the like an empty one."""
    return value if isinstance(value, Mapping) else {}


def _string_items(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _overlay_description(own_text: str, server_text: str) -> str:
    return _insert_description(own_text, server_text) if own_text else server_text.strip()


def _insert_description(own_text: str, server_text: str) -> str:
    return _DESCRIPTION_PLACEHOLDER.sub(lambda _match: server_text.strip(), own_text).strip()
