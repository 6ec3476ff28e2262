"""Log filters: they drop records of events that are not faults."""

from __future__ import annotations

import asyncio
import logging


class AbandonedRequestFilter(logging.Filter):
    """Drops asyncio's error about the future of a request whose client has disconnected.

    Django cancels such a request, and asgiref 3 does not always retrieve the ``CancelledError`` of
    its thread: "Future exception was never retrieved", with a traceback of 40 lines.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return False for a record of a ``CancelledError``."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, asyncio.CancelledError)
