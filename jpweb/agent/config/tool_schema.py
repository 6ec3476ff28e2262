"""Reads the parameters of a tool as the JSON schema that the model is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jpweb.agent.config.table_reader import TableReader, join_choices

_JSON_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def read_schema(
    parameters: TableReader, base_schema: Mapping[str, Any], *, is_typed: bool
) -> dict[str, Any]:
    """Return the schema of the arguments, merged over ``base_schema``, the tool's own.

    Where ``is_typed``, each parameter has to name its type: the tool has no schema of its own.
    ``required`` may be extended, never reduced.
    """
    properties = {
        name: dict(definition) for name, definition in base_schema.get("properties", {}).items()
    }
    required_names = dict.fromkeys(base_schema.get("required", ()))
    for name, table in parameters.iter_tables():
        properties[name] = properties.get(name, {}) | _read_parameter(table, is_typed=is_typed)
        if table.get_flag("required"):
            required_names.setdefault(name)
        table.note_unknown_keys("examples")
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "required": list(required_names),
    }


def _read_parameter(table: TableReader, *, is_typed: bool) -> dict[str, Any]:
    definition: dict[str, Any] = {}
    kind = table.get("type")
    if kind is not None or is_typed:
        definition["type"] = _read_type(table, kind)
    description = table.get_text("summary") or table.get_text("description")
    table.known_keys.add("description")
    if description is not None:
        definition["description"] = description
    if table.get("default") is not None:
        definition["default"] = table.get("default")
    if table.get("enum") is not None:
        if not isinstance(table.get("enum"), list):
            raise table.make_error("enum", "a list of values")
        definition["enum"] = table.get("enum")
    if table.get_mapping("items") is not None:
        items = table.get_table("items")
        definition["items"] = _read_parameter(items, is_typed=False)
        items.note_unknown_keys("required", "examples")
    if table.get_mapping("properties") is not None:
        nested_schema = read_schema(table.get_table("properties"), {}, is_typed=False)
        definition |= {
            key: nested_schema[key] for key in ("properties", "required", "additionalProperties")
        }
    return definition


def _read_type(table: TableReader, kind: Any) -> str | list[str]:
    if isinstance(kind, str) and kind in _JSON_TYPES:
        return kind
    if isinstance(kind, list) and kind and all(item in _JSON_TYPES for item in kind):
        return kind
    raise table.make_error("type", f"{join_choices(*_JSON_TYPES)}, or a list of these")
