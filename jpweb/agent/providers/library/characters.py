"""Characters as they are: pairs of surrogates joined, halves that belong to nothing replaced.

Models stream text in pieces of JSON, and an escape of a character may be cut in two.
"""

from __future__ import annotations

import re
from typing import Any

_HALF = re.compile("[\ud800-\udfff]")
_FIRST = re.compile("[\ud800-\udbff]\\Z")


def whole(text: str) -> str:
    """Return the text with halves joined, and each that is alone replaced by U+FFFD."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def whole_value(value: Any) -> Any:
    """Return a JSON value with all its texts whole, names included."""
    match value:
        case str():
            return whole(value)
        case dict():
            return {whole(name): whole_value(part) for name, part in value.items()}
        case list():
            return [whole_value(part) for part in value]
        case _:
            return value


def parted(text: str) -> tuple[str, str]:
    """Split off a half at the end, whose other half may be in the next piece."""
    return (text[:-1], text[-1]) if _FIRST.search(text) else (text, "")
