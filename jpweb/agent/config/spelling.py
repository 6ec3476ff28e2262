"""How keys and values of a configuration are written for people: on one line, nothing hidden."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_*-]+", re.ASCII)
_LENGTH = 80


def visible(text: str) -> str:
    """Return the text with what cannot be seen spelled out: controls, line ends, bidi, halves.

    A backslash is doubled, so that two different texts never look the same.
    """
    return "".join(_escape(char) for char in text)


def dotted(path: Sequence[str]) -> str:
    """Return a key as TOML writes it."""
    return ".".join(key if _BARE.fullmatch(key) else f'"{capped(visible(key))}"' for key in path)


def shown(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    if isinstance(value, str):
        return f'"{capped(visible(value))}"'
    return capped(visible(json.dumps(value, ensure_ascii=False)))


def masked(url: str) -> str:
    """Return an address without what may be a key in it: who signs in, query, fragment."""
    scheme, mark, rest = url.partition("://")
    place = re.split(r"[?#]", rest, maxsplit=1)
    host, slash, path = place[0].partition("/")
    _, at, name = host.rpartition("@")
    query = rest[len(place[0]) :][:1]
    return "".join(
        (scheme, mark, "…@" if at else "", name, slash, path, f"{query}…" if query else "")
    )


def capped(text: str) -> str:
    """Return the text, cut where it is long."""
    return text if len(text) <= _LENGTH else text[: _LENGTH - 1] + "…"


def _escape(char: str) -> str:
    if char == "\\" or not char.isprintable():
        return char.encode("unicode_escape").decode()
    return char
