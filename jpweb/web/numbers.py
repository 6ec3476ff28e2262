"""Whole numbers, as addresses and forms write them."""

from __future__ import annotations

#: The largest position in a conversation that there can be, and the largest key of a row.
POSITION, KEY = 2**31 - 1, 2**63 - 1


class Key:
    """Converts a key in an address; one that no row can have leads nowhere."""

    regex = "[0-9]+"

    def to_python(self, text: str) -> int:
        """Return the key. Raises ValueError."""
        found = read(text, KEY)
        if found is None:
            raise ValueError(text)
        return found

    def to_url(self, key: int) -> str:
        """Return the key as text."""
        return str(key)


def read(text: str | None, most: int = POSITION) -> int | None:
    """Return the number from 0 to ``most`` that a text writes in digits; None of any other."""
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > len(str(most)):
        return None
    number = int(text)
    return number if number <= most else None
