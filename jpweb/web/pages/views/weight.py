"""What keeps a page light whatever is on record: its pieces are weighed once they are made."""

from __future__ import annotations

from django.utils.safestring import SafeString

#: Bytes of all pieces of a page.
MOST = 200_000


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
