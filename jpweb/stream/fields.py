"""Typed reads from a decoded JSON object; each failure names the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from jpweb.stream.errors import BrokenElement

Fields: TypeAlias = Mapping[str, Any]


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
