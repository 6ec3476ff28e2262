"""Text that every database accepts: without NUL (PostgreSQL) and unpaired surrogates (all)."""

from __future__ import annotations

import re
from typing import Any

_INVALID_CHARS = re.compile("[\x00\ud800-\udfff]")


def clean_text(value: str) -> str:
    """Return the text with invalid characters replaced by U+FFFD."""
    return _INVALID_CHARS.sub("\N{REPLACEMENT CHARACTER}", value)


def clean_json(value: Any) -> Any:
    """Return a JSON value with the invalid characters of its strings and keys replaced."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): clean_json(item) for key, item in value.items()}
    return value
