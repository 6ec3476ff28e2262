"""The parameters of a tool as JSON schema, as the model is sent it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jpweb.agent.config.tables import Table, one_of

_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_UNUSED = ("examples",)


def schema(parameters: Table, below: Mapping[str, Any], *, typed: bool) -> dict[str, Any]:
    """Return the schema of the arguments; ``below`` is the tool's own, that is laid under.

    Where ``typed``, each parameter has to name its type: nobody else does. ``required`` may be
    added and not taken away.
    """
    properties = {name: dict(known) for name, known in below.get("properties", {}).items()}
    required = list(below.get("required", ()))
    for name, table in parameters.tables():
        properties[name] = properties.get(name, {}) | _parameter(table, typed=typed)
        if table.flag("required") and name not in required:
            required.append(name)
        table.close(*_UNUSED)
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "required": required,
    }


def _parameter(table: Table, *, typed: bool) -> dict[str, Any]:
    said: dict[str, Any] = {}
    kind = table.get("type")
    if kind is not None or typed:
        said["type"] = _type(table, kind)
    description = table.text("summary") or table.text("description")
    table.known.add("description")
    if description is not None:
        said["description"] = description
    if table.get("default") is not None:
        said["default"] = table.get("default")
    if table.get("enum") is not None:
        if not isinstance(table.get("enum"), list):
            raise table.refuse("enum", "a list of values")
        said["enum"] = table.get("enum")
    if table.mapping("items") is not None:
        items = table.table("items")
        said["items"] = _parameter(items, typed=False)
        items.close("required", *_UNUSED)
    if table.mapping("properties") is not None:
        inner = schema(table.table("properties"), {}, typed=False)
        said |= {key: inner[key] for key in ("properties", "required", "additionalProperties")}
    return said


def _type(table: Table, kind: Any) -> str | list[str]:
    if isinstance(kind, str) and kind in _TYPES:
        return kind
    if isinstance(kind, list) and kind and all(each in _TYPES for each in kind):
        return kind
    raise table.refuse("type", f"{one_of(*_TYPES)}, or a list of these")
