"""Ends asyncio tasks, also those that lose a cancellation."""

from __future__ import annotations

import asyncio
from typing import Any

#: Seconds after which a task that is not done is cancelled again; most clean up faster.
CANCEL_AGAIN_SECONDS = 4.0


async def cancel_and_wait(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks until they have ended.

    One cancellation does not always suffice: ``asyncio.wait_for`` of Python 3.11 swallows it where
    the awaited future is done at that moment. A worker stopped while psycopg's pool opened
    continued for ten seconds, until its shutdown timeout.
    """
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=CANCEL_AGAIN_SECONDS)
