"""What a workspace configures of an MCP tool, laid over what its server says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from jpweb.agent.config import ToolConfig

#: Stands in a configured description for the server's own.
_THEIRS = re.compile(r"\{\{\s*description\s*\}\}")
#: A longer description is told in its first sentence; the rest is there on demand.
_LONG = 160
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n")


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as its server lists it."""

    name: str
    description: str
    schema: Mapping[str, Any]


def laid_over(listed: Listed, declared: ToolConfig) -> ToolConfig:
    """Return the tool as the model is told of it."""
    description = _description(declared.description, listed.description)
    summary = declared.summary and _described(declared.summary, listed.description)
    if summary is None and len(description) > _LONG:
        first, *rest = _SENTENCE.split(description, maxsplit=1)
        if rest:
            summary, description = first.strip(), rest[0].strip()
    return replace(
        declared,
        description=description,
        summary=summary,
        parameters=_overlaid(listed.schema, declared.parameters),
    )


def _overlaid(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return their schema with our properties over theirs; ``required`` only grows.

    Theirs comes from outside: what is not as a schema should be counts as not said.
    """
    properties = dict(_table(theirs.get("properties")))
    for name, said in ours.get("properties", {}).items():
        if name in properties:
            properties[name] = _parameter(_table(properties[name]), said)
    required = dict.fromkeys([*_names(theirs.get("required")), *ours.get("required", ())])
    return {
        "additionalProperties": False,
        **theirs,
        "type": "object",
        "properties": properties,
        "required": [name for name in required if name in properties],
    }


def _parameter(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    made = {**theirs, **ours}
    if "description" in ours:
        said = theirs.get("description")
        made["description"] = _described(ours["description"], said if isinstance(said, str) else "")
    return made


def _table(value: object) -> Mapping[str, Any]:
    """Return an object of the schema; of ``true``, ``false`` and the like an empty one."""
    return value if isinstance(value, Mapping) else {}


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _description(ours: str, theirs: str) -> str:
    return _described(ours, theirs) if ours else theirs.strip()


def _described(ours: str, theirs: str) -> str:
    return _THEIRS.sub(lambda _found: theirs.strip(), ours).strip()
