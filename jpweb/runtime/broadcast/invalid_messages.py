"""Log of messages in Redis that are not signals of jpweb."""

from __future__ import annotations

import logging
import time

logger = logging.getLogger(__name__)

#: Seconds between two log lines.
INVALID_LOG_SECONDS = 60.0


class InvalidMessageLog:
    """Counts invalid messages, and logs the number once a minute."""

    def __init__(self) -> None:
        self.count = 0
        self._silent_until = 0.0

    def note_message(self) -> None:
        """Count a message."""
        self.count += 1
        current_time = time.monotonic()
        if current_time < self._silent_until:
            return
        self._silent_until = current_time + INVALID_LOG_SECONDS
        logger.warning(
            "Messages in Redis that are not signals were ignored: %d. All processes need the "
            "same JPWEB_SECRET_KEY and the same version; no other program may write there.",
            self.count,
        )
        self.count = 0
