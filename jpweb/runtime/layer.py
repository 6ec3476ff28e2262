"""The channel layer of one process."""

from __future__ import annotations

import time

from channels.layers import InMemoryChannelLayer


class InProcessLayer(InMemoryChannelLayer):
    """Channels' in-memory layer, looking for expired messages once a second.

    The stock layer scans every channel on each send and receive, which makes one message to many
    sockets quadratic.
    """

    _next_scan = 0.0

    def _clean_expired(self) -> None:
        now = time.monotonic()
        if now >= self._next_scan:
            self._next_scan = now + 1
            super()._clean_expired()  # type: ignore[misc]  # private, and not in the stub
