"""The base64 that JP wraps around some strings on disk (docs/jp-format.md, Base64)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

_URL_SAFE = re.compile(r"[A-Za-z0-9_-]+={0,2}", re.ASCII)


def encode_text(text: str) -> str:
    """Return the text in base64, as JP writes it."""
    return base64.b64encode(text.encode()).decode()


def decode_text(text: str) -> str:
    """Return the text decoded as JP decodes it: unchanged where any step fails."""
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
        # The last group alone decides whether it is canonical: its padding and unused bits.
        last_group = data[-(len(data) % 3 or 3) :]
        if len(text) % 4 or binascii.b2a_base64(last_group, newline=False).decode() != text[-4:]:
            return text
        return data.decode()
    except ValueError:  # binascii.Error is a subclass
        return text


def decode_content(text: str) -> str:
    """Return a tool's content for display: ``decode_text``, then the old URL-safe alphabet."""
    decoded_text = decode_text(text)
    return decoded_text if decoded_text != text else decode_url_safe(text)


def decode_url_safe(text: str) -> str:
    """Return the text decoded from old URL-safe base64; unchanged where it is not that."""
    if not _URL_SAFE.fullmatch(text) or not re.search("[-_]", text):
        return text
    try:
        return base64.urlsafe_b64decode(text).decode()
    except (binascii.Error, ValueError):
        return text


def map_strings(transform: Callable[[str], str], value: Any) -> Any:
    """Apply a function to every string value in a JSON value; keys stay unchanged."""
    if isinstance(value, str):
        return transform(value)
    if isinstance(value, list):
        return [map_strings(transform, item) for item in value]
    if isinstance(value, dict):
        return {key: map_strings(transform, item) for key, item in value.items()}
    return value
