"""Restarts long-running coroutines with exponential backoff."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from jpweb.runtime.tasks import cancel_and_wait

logger = logging.getLogger(__name__)

CoroutineFunction = Callable[[], Coroutine[Any, Any, None]]

#: First and longest delay of a restart, in seconds.
MIN_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 0.5, 15.0
#: Longest delay in seconds after an expected error: an attempt during an outage costs little,
#: because the connection is refused at once.
MAX_OUTAGE_BACKOFF_SECONDS = 2.0
#: Seconds of running after which the backoff is reset.
RESET_BACKOFF_AFTER_SECONDS = 60.0

_NEWLINE = "\n"


async def run_with_restart(
    name: str,
    work: CoroutineFunction,
    expected_errors: tuple[type[Exception], ...] = (),
    log_line: Callable[[str], None] = logger.warning,
) -> None:
    """Run a function and restart it with backoff whenever it ends, until cancelled.

    ``expected_errors``, such as an unavailable server, are logged in one line, others with their
    traceback.
    """
    loop = asyncio.get_running_loop()
    backoff = MIN_BACKOFF_SECONDS
    while True:
        started_at = loop.time()
        error = await _run_once(work)
        if loop.time() - started_at > RESET_BACKOFF_AFTER_SECONDS:
            backoff = MIN_BACKOFF_SECONDS
        if isinstance(error, expected_errors):
            backoff = min(backoff, MAX_OUTAGE_BACKOFF_SECONDS)
        if error is None or isinstance(error, expected_errors):
            reason = str(error.__cause__ or error if error else "stopped")
            log_line(
                f"{name}: {reason.strip().partition(_NEWLINE)[0]}. Restarting in {backoff:g} s."
            )
        else:
            logger.error("%s failed. Restarting in %g s.", name, backoff, exc_info=error)
        await asyncio.sleep(backoff)
        backoff = min(backoff * 2, MAX_BACKOFF_SECONDS)


async def _run_once(work: CoroutineFunction) -> BaseException | None:
    """Run the function once and return its exception; it is cancelled with the caller."""
    task = asyncio.get_running_loop().create_task(work())
    try:
        await asyncio.wait({task})
    finally:
        await cancel_and_wait(task)
    return asyncio.CancelledError() if task.cancelled() else task.exception()
