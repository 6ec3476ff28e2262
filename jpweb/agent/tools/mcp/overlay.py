"""A workspace's overrides of an MCP tool, merged over its server's description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from jpweb.agent.config import ParameterText, ToolConfig

#: Placeholder in a configured description for the server's own.
_DESCRIPTION_PLACEHOLDER = re.compile(r"\{\{\s*description\s*\}\}")
#: A point that may end a sentence: at a line's end, or before a blank and the captured character,
#: which must be upper case. Slices at each point took 7 s for 750 kB of ``. a``.
_SENTENCE_END = re.compile(r"\.(?:(?=\n)|\x20\s*(?=(\S)))")
#: Limit of the tools of a turn together: splitting 3 million characters takes 0.25 s, in the event
#: loop. Models take no more tokens.
MAX_LISTED_CHARACTERS = 3_000_000


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server lists it; ``size`` are the characters of its texts and its schema."""

    name: str
    description: str
    schema: Mapping[str, Any]
    size: int = 0


def measure_tool(listed_tool: ListedTool, declared_tool: ToolConfig) -> int:
    """Return the characters of the merged tool; each placeholder repeats the server's text."""
    properties = _as_mapping(listed_tool.schema.get("properties"))
    merged_texts = [(declared_tool.description, listed_tool.description)]
    for name, parameter_text in declared_tool.parameter_texts.items():
        server_text = _get_description(properties.get(name))
        merged_texts.append((parameter_text.description or "", server_text))
    return listed_tool.size + sum(
        len(own_text) + len(_DESCRIPTION_PLACEHOLDER.findall(own_text)) * len(server_text)
        for own_text, server_text in merged_texts
    )


def overlay_tool(listed_tool: ListedTool, declared_tool: ToolConfig) -> ToolConfig:
    """Return the tool as it is described to the model (docs/jp-format.md, Tool texts).

    With a configured summary the texts are those of the configuration, and the server's is dropped.
    Otherwise the first sentence is the summary, and ``describe_tools`` returns the rest.
    """
    summary, description = declared_tool.summary, declared_tool.description
    if summary is None:
        merged_text = _overlay_description(declared_tool.description, listed_tool.description)
        summary, description = split_first_sentence(merged_text)
    return replace(
        declared_tool,
        description=description,
        summary=summary or None,
        parameters=_overlay_schema(listed_tool.schema, declared_tool),
        parameter_texts=_overlay_texts(listed_tool.schema, declared_tool),
    )


def split_first_sentence(text: str) -> tuple[str, str]:
    """Return the first sentence and the rest, "" where there is none; its length plays no role."""
    text = text.strip()
    for match in _SENTENCE_END.finditer(text):
        if match[1] is None or match[1].isupper():
            end = match.start() + 1
            return text[:end].strip(), text[end:].strip()
    first_line, _, remainder = text.partition("\n")
    return first_line.strip(), remainder.strip()


def _overlay_texts(
    server_schema: Mapping[str, Any], declared_tool: ToolConfig
) -> dict[str, ParameterText]:
    """Return the texts of each of the server's parameters."""
    texts: dict[str, ParameterText] = {}
    for name, schema in _as_mapping(server_schema.get("properties")).items():
        parameter_text = declared_tool.parameter_texts.get(name, ParameterText())
        if parameter_text.summary is None:
            merged_text = _overlay_description(
                parameter_text.description or "", _get_description(schema)
            )
            summary, description = split_first_sentence(merged_text)
            parameter_text = parameter_text._replace(
                summary=summary or None, description=description or None
            )
        texts[name] = parameter_text
    return texts


def _overlay_schema(server_schema: Mapping[str, Any], declared_tool: ToolConfig) -> dict[str, Any]:
    """Return the server's schema with the workspace's properties; ``required`` only grows.

    The server's schema comes from outside: values of another type count as absent.
    """
    own_schema = declared_tool.parameters
    properties = dict(_as_mapping(server_schema.get("properties")))
    for name, override in own_schema.get("properties", {}).items():
        if name in properties:
            own_text = declared_tool.parameter_texts.get(name, ParameterText()).description
            properties[name] = _overlay_parameter(_as_mapping(properties[name]), override, own_text)
    required_names = dict.fromkeys(
        [*_pick_strings(server_schema.get("required")), *own_schema.get("required", ())]
    )
    return {
        "additionalProperties": False,
        **server_schema,
        "type": "object",
        "properties": properties,
        "required": [name for name in required_names if name in properties],
    }


def _overlay_parameter(
    server_schema: Mapping[str, Any], own_schema: Mapping[str, Any], own_text: str | None
) -> dict[str, Any]:
    """Return a parameter's schema; the description is whole, with any summary."""
    description = _overlay_description(own_text or "", _get_description(server_schema))
    parameter = {**server_schema, **own_schema, "description": description}
    return {name: value for name, value in parameter.items() if name != "description" or value}


def _get_description(parameter_schema: object) -> str:
    """Return the server's description of a parameter, "" where it has none."""
    text = _as_mapping(parameter_schema).get("description")
    return text if isinstance(text, str) else ""


def _as_mapping(value: object) -> Mapping[str, Any]:
    """Return an object of the schema; of ``true``, ``false`` and the like an empty one."""
    return value if isinstance(value, Mapping) else {}


def _pick_strings(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _overlay_description(own_text: str, server_text: str) -> str:
    return _insert_description(own_text, server_text) if own_text else server_text.strip()


def _insert_description(own_text: str, server_text: str) -> str:
    return _DESCRIPTION_PLACEHOLDER.sub(lambda _match: server_text.strip(), own_text).strip()
