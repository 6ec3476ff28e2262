"""Joins pairs of surrogates, and replaces single ones.

Models stream text in pieces of JSON, and an escape of a character may be cut in two.
"""

from __future__ import annotations

import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")
_TRAILING_HIGH = re.compile("[\ud800-\udbff]\\Z")


def join_surrogates(text: str) -> str:
    """Return the text with pairs of surrogates joined, each single one replaced by U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def join_value_surrogates(value: Any) -> Any:
    """Return a JSON value with the surrogates of all its texts joined, keys included."""
    match value:
        case str():
            return join_surrogates(value)
        case dict():
            return {
                join_surrogates(name): join_value_surrogates(part) for name, part in value.items()
            }
        case list():
            return [join_value_surrogates(part) for part in value]
        case _:
            return value


def split_trailing_half(text: str) -> tuple[str, str]:
    """Split off a high surrogate at the end, whose other half may be in the next piece."""
    return (text[:-1], text[-1]) if _TRAILING_HIGH.search(text) else (text, "")
