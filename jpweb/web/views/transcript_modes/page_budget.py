"""Size limit of a page, measured in rendered HTML."""

from __future__ import annotations

from django.utils.safestring import SafeString

#: Bytes of the HTML pieces of a page.
MAX_PAGE_BYTES = 200_000


class PageBudget:
    """Byte budget of the HTML pieces of a page."""

    def __init__(self, max_bytes: int = MAX_PAGE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._used_bytes = 0

    def try_add(self, *pieces: SafeString) -> bool:
        """Add pieces if they fit; tell whether they did."""
        used_bytes = self._used_bytes + sum(
            len(piece.encode("utf-8", "replace")) for piece in pieces
        )
        if used_bytes <= self._max_bytes:
            self._used_bytes = used_bytes
        return used_bytes <= self._max_bytes
