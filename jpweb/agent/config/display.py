"""Formats configuration keys and values for people: on one line, invisible characters escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_*-]+", re.ASCII)
_MAX_CHARS = 80


def escape_invisible(text: str) -> str:
    """Return the text with invisible characters escaped: controls, bidi, single surrogates.

    A backslash is doubled, so that two different texts never look the same.
    """
    return "".join(_escape_char(char) for char in text)


def format_key(path: Sequence[str]) -> str:
    """Return a key as TOML writes it."""
    return ".".join(
        key if _BARE_KEY.fullmatch(key) else f'"{truncate_text(escape_invisible(key))}"'
        for key in path
    )


def format_value(value: Any) -> str:
    """Return a value as JSON, truncated where it is long."""
    if isinstance(value, str):
        return f'"{truncate_text(escape_invisible(value))}"'
    return truncate_text(escape_invisible(json.dumps(value, ensure_ascii=False)))


def mask_url(url: str) -> str:
    """Return a URL without the parts that may hold a key: credentials, query, fragment."""
    scheme, mark, remainder = url.partition("://")
    parts = re.split(r"[?#]", remainder, maxsplit=1)
    host, slash, path = parts[0].partition("/")
    _, at_sign, name = host.rpartition("@")
    query = remainder[len(parts[0]) :][:1]
    return "".join(
        (scheme, mark, "…@" if at_sign else "", name, slash, path, f"{query}…" if query else "")
    )


def truncate_text(text: str) -> str:
    """Return the text, truncated where it is long."""
    return text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 1] + "…"


def _escape_char(char: str) -> str:
    if char == "\\" or not char.isprintable():
        return char.encode("unicode_escape").decode()
    return char
