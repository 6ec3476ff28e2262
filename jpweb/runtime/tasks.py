"""Ends asyncio tasks, also those that lose a cancellation."""

from __future__ import annotations

import asyncio
from typing import Any

#: Seconds after which a task that goes on is cancelled again: longer than most take to clean up.
CANCEL_AGAIN_SECONDS = 4.0


async def cancel_and_wait(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks until they have ended.

    One cancellation does not always suffice: where what ``asyncio.wait_for`` of Python 3.11 waits
    for is done at that moment, it returns instead of raising CancelledError. A worker that was
    stopped while psycopg's pool opened went on for ten seconds, and was cut off.
    """
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=CANCEL_AGAIN_SECONDS)
