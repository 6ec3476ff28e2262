"""What is done to a call's arguments before the tool sees them (JP: coercion, defaults, checks).

Pure functions over the tool's JSON schema. A model that writes JSON into a string where the schema
wants no string meant the JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from jpweb.agent.config import Local, ToolConfig
from jpweb.agent.outcome import Failed

_ANY = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})


def prepared(config: ToolConfig, arguments: Mapping[str, Any]) -> dict[str, Any] | Failed:
    """Return the arguments as the tool gets them, or what the model reads where they are wrong.

    A local tool's are completed and checked here; other tools check their own.
    """
    plain: dict[str, Any] = unquoted(config.parameters, dict(arguments))
    if not isinstance(config.source, Local):
        return plain
    complete: dict[str, Any] = with_defaults(config.parameters, plain)
    found = list(problems(config.parameters, complete))
    if not found:
        return complete
    return Failed(
        f"Invalid arguments: {'; '.join(found)}. Call describe_tools with "
        f"{json.dumps({'tools': [config.name]})} to read what {config.name} takes."
    )


def unquoted(schema: Mapping[str, Any], value: Any) -> Any:
    """Return the value with JSON in strings parsed where the schema admits no string."""
    if isinstance(value, str):
        if "string" in _types(schema):
            return value
        parsed = _parsed(value)
        return unquoted(schema, parsed) if fits(schema, parsed) else value
    return _inside(schema, value, unquoted)


def with_defaults(schema: Mapping[str, Any], value: Any) -> Any:
    """Return the value with what is missing in its objects filled in, where there is a default."""
    if isinstance(value, dict):
        missing = {
            name: part["default"]
            for name, part in _properties(schema).items()
            if name not in value and "default" in part
        }
        value = value | missing
    return _inside(schema, value, with_defaults)


def problems(schema: Mapping[str, Any], value: Any, path: str = "") -> Iterator[str]:
    """Yield what is missing and what is unknown among the keys of the value's objects."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from problems(_items(schema), item, f"{path}[{index}]")
    if isinstance(value, dict):
        yield from _key_problems(schema, value, f"{path}." if path else "")


def _key_problems(schema: Mapping[str, Any], value: Mapping[str, Any], head: str) -> Iterator[str]:
    properties = _properties(schema)
    for name in schema.get("required", ()):
        if name not in value:
            yield f"“{head}{name}” is missing"
    closed = "properties" in schema and not schema.get("additionalProperties", False)
    for name, item in value.items():
        if name in properties:
            yield from problems(properties[name], item, f"{head}{name}")
        elif closed:
            yield f"“{head}{name}” is unknown"


def fits(schema: Mapping[str, Any], value: Any) -> bool:
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
    return not kinds.isdisjoint(_types(schema))


def _types(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the JSON types that the schema declares; all where it does not say."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, list):
        return frozenset(kind for kind in declared if isinstance(kind, str))
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            parts = [part for part in schema[key] if isinstance(part, Mapping)]
            return frozenset().union(*(_types(part) for part in parts))
    return _ANY


def _inside(schema: Mapping[str, Any], value: Any, change: Any) -> Any:
    if isinstance(value, dict):
        properties = _properties(schema)
        return {name: change(properties.get(name, {}), item) for name, item in value.items()}
    if isinstance(value, list):
        return [change(_items(schema), item) for item in value]
    return value


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: part for name, part in properties.items() if isinstance(part, Mapping)}


def _items(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    items = schema.get("items")
    return items if isinstance(items, Mapping) else {}


def _parsed(text: str) -> Any:
    """Return the JSON value, or the text itself where it is none."""
    try:
        return json.loads(text, parse_constant=_no_json)
    except (ValueError, RecursionError):
        return text


def _no_json(name: str) -> NoReturn:
    raise ValueError(name)
