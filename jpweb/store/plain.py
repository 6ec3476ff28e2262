"""Text that every database takes: no NUL (PostgreSQL), no half of a surrogate pair (all)."""

from __future__ import annotations

import re
from typing import Any

_REFUSED = re.compile("[\x00\ud800-\udfff]")


def text(value: str) -> str:
    """Return the text with what no database takes replaced."""
    return _REFUSED.sub("\N{REPLACEMENT CHARACTER}", value)


def deep(value: Any) -> Any:
    """Return a JSON value with every text inside made plain, keys too."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return [deep(item) for item in value]
    if isinstance(value, dict):
        return {text(key): deep(item) for key, item in value.items()}
    return value
