"""Typed reads from a decoded JSON object, and what JP's JSON can hold; failures say what."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from jpweb.stream.errors import BrokenElement

Fields: TypeAlias = Mapping[str, Any]
#: How many containers JP reads inside each other: 127, of which the stream's array is one.
_DEPTH = 126


def text(fields: Fields, key: str) -> str:
    """Return a required string. Raises BrokenElement."""
    value = fields.get(key)
    if not isinstance(value, str):
        raise BrokenElement(f"“{key}” must be a string")
    return value


def flag(fields: Fields, key: str, *, default: bool | None = None) -> bool:
    """Return a boolean; required when there is no default. Raises BrokenElement."""
    value = fields.get(key, default)
    if not isinstance(value, bool):
        raise BrokenElement(f"“{key}” must be true or false")
    return value


def number(fields: Fields, key: str) -> int:
    """Return a required integer of zero or more. Raises BrokenElement."""
    value = fields.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BrokenElement(f"“{key}” must be a whole number")
    return value


def mapping(fields: Fields, key: str) -> dict[str, Any]:
    """Return an object, empty when the key is absent. Raises BrokenElement."""
    value = fields.get(key, {})
    if not isinstance(value, dict):
        raise BrokenElement(f"“{key}” must be an object")
    return value


def required_mapping(fields: Fields, key: str) -> dict[str, Any]:
    """Return a required object. Raises BrokenElement."""
    if key not in fields:
        raise BrokenElement(f"“{key}” is missing")
    return mapping(fields, key)


def optional_text(fields: Fields, key: str) -> str | None:
    """Return a string, or None for absent and null. Raises BrokenElement."""
    return None if fields.get(key) is None else text(fields, key)


def check_storable(value: Any, room: int = _DEPTH) -> None:
    """Raise BrokenElement for values that JP's JSON cannot hold (jp-storage-format, section 6)."""
    if isinstance(value, float) and not math.isfinite(value):
        raise BrokenElement(f"{value} is not a number")
    if isinstance(value, list | dict):
        if not room:
            raise BrokenElement("nested too deeply")
        for inner in value.values() if isinstance(value, dict) else value:
            check_storable(inner, room - 1)
