"""Values in paths and forms: the converter of keys, parsers of numbers, anchors and local URLs."""

from __future__ import annotations

from django.utils.http import url_has_allowed_host_and_scheme

from jpweb.store import db_text

#: Largest position in a conversation and largest key of a row: 32-bit and 64-bit signed integers.
MAX_POSITION, MAX_KEY = 2**31 - 1, 2**63 - 1
#: Characters of an anchor; no event's is longer.
MAX_ANCHOR_CHARS = 80


class KeyConverter:
    """Path converter of a row's key; a number above ``MAX_KEY`` matches no route."""

    regex = "[0-9]+"

    def to_python(self, text: str) -> int:
        """Return the key. Raises ValueError."""
        key = parse_number(text, MAX_KEY)
        if key is None:
            raise ValueError(text)
        return key

    def to_url(self, key: int) -> str:
        """Return the key as text."""
        return str(key)


def parse_number(text: str | None, max_value: int = MAX_POSITION) -> int | None:
    """Parse a number from 0 to ``max_value`` in decimal digits; return None for other text."""
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > len(str(max_value)):
        return None
    number = int(text)
    return number if number <= max_value else None


def parse_key(text: str | None) -> int:
    """Parse a row's key; return 0, which no row has, for other text."""
    return parse_number(text, MAX_KEY) or 0


def parse_anchor(text: str | None) -> str:
    """Return an event's anchor as every database takes it, "" for None: PostgreSQL refuses NUL."""
    return db_text.clean_text(text or "")[:MAX_ANCHOR_CHARS]


def parse_local_url(text: str) -> str:
    """Return a URL of this site without its fragment; "" for other text."""
    url = text.partition("#")[0]
    is_local = url.startswith("/") and url_has_allowed_host_and_scheme(url, allowed_hosts=None)
    return url if is_local else ""
