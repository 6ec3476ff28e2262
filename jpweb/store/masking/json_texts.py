"""Texts of JSON values: lists, changes, replaces and counts them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any


def list_keys(value: Any) -> list[str]:
    """Return the keys of all objects in a JSON value."""
    if isinstance(value, list):
        return [key for item in value for key in list_keys(item)]
    if isinstance(value, dict):
        return [*value, *(key for item in value.values() for key in list_keys(item))]
    return []


def map_texts(change: Callable[[str], str], value: Any) -> Any:
    """Return a JSON value with each text changed, keys of objects too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_texts(change, item) for item in value]
    if isinstance(value, dict):
        return {change(key): map_texts(change, item) for key, item in value.items()}
    return value


def replace_in_text(text: str, strings: Sequence[str], marker: str) -> str:
    """Replace strings in one pass, the longest first, so that no marker is searched again."""
    pattern = "|".join(re.escape(string) for string in sorted(strings, key=len, reverse=True))
    return re.sub(pattern, lambda _: marker, text) if pattern else text


def count_in_text(text: str, strings: Sequence[str]) -> int:
    return sum(text.count(string) for string in strings)
