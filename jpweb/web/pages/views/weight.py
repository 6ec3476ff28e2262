"""What keeps a page light whatever is on record: its pieces are weighed once they are made."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.safestring import SafeString

#: Bytes of all pieces of a page.
MOST = 200_000
#: The largest position that there can be.
_LARGEST = 2**31 - 1


class Scales:
    """Weighs pieces of HTML as they are put on a page."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._weight = 0

    def takes(self, *pieces: SafeString) -> bool:
        """Tell whether they fit with what is on the page, and count them in if so."""
        weight = self._weight + sum(len(piece.encode("utf-8", "replace")) for piece in pieces)
        if weight <= self._most:
            self._weight = weight
        return weight <= self._most


def number(says: Mapping[str, str], name: str) -> int | None:
    """Return a position or a number of an address; None where it does not say one."""
    text = says.get(name, "")
    if not text.isascii() or not text.isdigit() or len(text) > len(str(_LARGEST)):
        return None
    return min(int(text), _LARGEST)
