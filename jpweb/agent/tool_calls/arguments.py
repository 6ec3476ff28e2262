"""Prepares a call's arguments for the tool (JP: coercion, defaults, checks).

Pure functions over the tool's JSON schema. A model that writes JSON into a string where the
schema wants no string meant the JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jpweb.agent.config import LocalSource, ToolConfig
from jpweb.agent.tool_outcome import Failed
from jpweb.stream.errors import MalformedElement
from jpweb.stream.event_kind import check_storable
from jpweb.stream.wire.strict_json import parse_strict_json

_ALL_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})


def prepare_arguments(config: ToolConfig, arguments: Mapping[str, Any]) -> dict[str, Any] | Failed:
    """Return the arguments for the tool, or Failed with the problems for the model.

    A local tool's are completed and checked here; other tools check their own.
    """
    decoded_arguments: dict[str, Any] = parse_embedded_json(config.parameters, dict(arguments))
    if not isinstance(config.source, LocalSource):
        return _refuse_unrecordable(decoded_arguments)
    completed_arguments: dict[str, Any] = fill_defaults(config.parameters, decoded_arguments)
    problem_texts = list(find_problems(config.parameters, completed_arguments))
    if not problem_texts:
        return _refuse_unrecordable(completed_arguments)
    return Failed(
        f"Invalid arguments: {'; '.join(problem_texts)}. Call describe_tools with "
        f"{json.dumps({'tools': [config.name]})} to read what {config.name} takes."
    )


def _refuse_unrecordable(arguments: dict[str, Any]) -> dict[str, Any] | Failed:
    """Return the arguments, or Failed where the response to their call could not note them."""
    try:
        check_storable({"metadata": {"jpweb": {"arguments": arguments}}})
    except MalformedElement as error:
        return Failed(f"Invalid arguments: {error}.")
    return arguments


def is_same_json(value: Any, other_value: Any) -> bool:
    """Tell whether two values are the same JSON, in which 1 is neither 1.0 nor true."""
    return json.dumps(value, sort_keys=True) == json.dumps(other_value, sort_keys=True)


def parse_embedded_json(schema: Mapping[str, Any], value: Any) -> Any:
    """Return the value with JSON in strings parsed where the schema admits no string."""
    if isinstance(value, str):
        if "string" in _list_declared_types(schema):
            return value
        parsed_value = _parse_json(value)
        return (
            parse_embedded_json(schema, parsed_value)
            if matches_type(schema, parsed_value)
            else value
        )
    return _map_children(schema, value, parse_embedded_json)


def fill_defaults(schema: Mapping[str, Any], value: Any) -> Any:
    """Return the value with the defaults of missing keys in its objects."""
    if isinstance(value, dict):
        missing_defaults = {
            name: part["default"]
            for name, part in _get_properties(schema).items()
            if name not in value and "default" in part
        }
        value = value | missing_defaults
    return _map_children(schema, value, fill_defaults)


def find_problems(schema: Mapping[str, Any], value: Any, path: str = "") -> Iterator[str]:
    """Yield the missing and the unknown keys of the value's objects."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from find_problems(_get_items(schema), item, f"{path}[{index}]")
    if isinstance(value, dict):
        yield from _find_key_problems(schema, value, f"{path}." if path else "")


def _find_key_problems(
    schema: Mapping[str, Any], value: Mapping[str, Any], prefix: str
) -> Iterator[str]:
    properties = _get_properties(schema)
    for name in schema.get("required", ()):
        if name not in value:
            yield f"“{prefix}{name}” is missing"
    has_known_keys_only = "properties" in schema and not schema.get("additionalProperties", False)
    for name, item in value.items():
        if name in properties:
            yield from find_problems(properties[name], item, f"{prefix}{name}")
        elif has_known_keys_only:
            yield f"“{prefix}{name}” is unknown"


def matches_type(schema: Mapping[str, Any], value: Any) -> bool:
    """Tell whether the value is of a type that the schema declares."""
    match value:
        case None:
            kinds = {"null"}
        case bool():
            kinds = {"boolean"}
        case int():
            kinds = {"integer", "number"}
        case float():
            kinds = {"number", "integer"} if value.is_integer() else {"number"}
        case str():
            kinds = {"string"}
        case list():
            kinds = {"array"}
        case _:
            kinds = {"object"}
    return not kinds.isdisjoint(_list_declared_types(schema))


def _list_declared_types(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the JSON types that the schema declares; all where it declares none."""
    declared_type = schema.get("type")
    if isinstance(declared_type, str):
        return frozenset({declared_type})
    if isinstance(declared_type, list):
        return frozenset(kind for kind in declared_type if isinstance(kind, str))
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            parts = [part for part in schema[key] if isinstance(part, Mapping)]
            return frozenset().union(*(_list_declared_types(part) for part in parts))
    return _ALL_TYPES


def _map_children(schema: Mapping[str, Any], value: Any, transform: Any) -> Any:
    if isinstance(value, dict):
        properties = _get_properties(schema)
        return {name: transform(properties.get(name, {}), item) for name, item in value.items()}
    if isinstance(value, list):
        return [transform(_get_items(schema), item) for item in value]
    return value


def _get_properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: part for name, part in properties.items() if isinstance(part, Mapping)}


def _get_items(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    items = schema.get("items")
    return items if isinstance(items, Mapping) else {}


def _parse_json(text: str) -> Any:
    """Return the JSON value, or the text itself where it is none that an event can hold."""
    try:
        value = parse_strict_json(text)
        check_storable({"field": value})
        json.dumps(value, ensure_ascii=False).encode()  # fails for half a surrogate
    except (ValueError, RecursionError, MalformedElement):
        return text
    return value
