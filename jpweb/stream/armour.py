"""The base64 that JP wraps around some strings on disk (jp-storage-format, section 14)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

_URL_SAFE = re.compile(r"[A-Za-z0-9_-]+={0,2}", re.ASCII)


def wrap(text: str) -> str:
    """Return the text as JP writes it."""
    return base64.b64encode(text.encode()).decode()


def unwrap(text: str) -> str:
    """Return the text that JP would read: as it is where any step of the decoding fails."""
    try:
        raw = binascii.a2b_base64(text, strict_mode=True)
        # Canonical or not shows in the last group alone: its padding and its unused bits.
        last = raw[-(len(raw) % 3 or 3) :]
        if len(text) % 4 or binascii.b2a_base64(last, newline=False).decode() != text[-4:]:
            return text
        return raw.decode()
    except ValueError:  # binascii.Error is one
        return text


def unwrap_content(text: str) -> str:
    """Return a tool's content for display: as ``unwrap``, then the old URL-safe alphabet."""
    plain = unwrap(text)
    return plain if plain != text else unwrap_url_safe(text)


def unwrap_url_safe(text: str) -> str:
    """Return the text in old URL-safe base64, as it is where it is not that."""
    if not _URL_SAFE.fullmatch(text) or not re.search("[-_]", text):
        return text
    try:
        return base64.urlsafe_b64decode(text).decode()
    except (binascii.Error, ValueError):
        return text


def deep(change: Callable[[str], str], value: Any) -> Any:
    """Apply a change to every string value inside, keys untouched."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [deep(change, item) for item in value]
    if isinstance(value, dict):
        return {key: deep(change, item) for key, item in value.items()}
    return value
