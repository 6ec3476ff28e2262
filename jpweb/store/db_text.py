"""Text that every database accepts: without NUL (PostgreSQL) and unpaired surrogates (all).

Also tells texts apart that show nothing.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_INVALID_CHARS = re.compile("[\x00\ud800-\udfff]")
_NUL_SIGN = "\N{SYMBOL FOR NULL}"
#: Letters and marks without an outline: fillers, the blank Braille pattern, joiners.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_VARIATION_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")


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


def show_json(value: Any) -> Any:
    """Return a JSON value as ``clean_json`` does, but with NUL as the sign ␀, and with every key.

    For values that people decide on: a key that would be equal to another one gets a further ␀.
    """
    if isinstance(value, str):
        return clean_text(value.replace("\0", _NUL_SIGN))
    if isinstance(value, list):
        return [show_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    shown_value: dict[str, Any] = {}
    for key, item in value.items():
        shown_key = show_json(key)
        while shown_key in shown_value:
            shown_key += _NUL_SIGN
        shown_value[shown_key] = show_json(item)
    return shown_value


def is_hidden(character: str) -> bool:
    """Tell whether a character shows nothing, or another space than the usual one."""
    category = unicodedata.category(character)
    return (
        ((category[0] == "C" or category[0] == "Z") and character != " ")
        or character in _BLANKS
        or _VARIATION_SELECTORS.match(character) is not None
    )


def has_visible_character(text: str) -> bool:
    """Tell whether a text shows anything: more than spaces, controls and blanks."""
    return not all(character == " " or is_hidden(character) for character in text)
