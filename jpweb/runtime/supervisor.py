"""Repeats coroutines: at intervals, and with exponential backoff where they end or fail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from jpweb.runtime.tasks import cancel_and_wait

logger = logging.getLogger(__name__)

CoroutineFunction = Callable[[], Coroutine[Any, Any, object]]

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
    min_backoff_seconds: float = 0.0,
) -> None:
    """Run a function and restart it with backoff whenever it ends, until cancelled.

    ``expected_errors``, such as an unavailable server, are logged in one line, others with their
    traceback.
    """
    loop = asyncio.get_running_loop()
    min_backoff = max(MIN_BACKOFF_SECONDS, min_backoff_seconds)
    max_backoff = max(MAX_BACKOFF_SECONDS, min_backoff_seconds)
    max_outage_backoff = min(MAX_OUTAGE_BACKOFF_SECONDS, max_backoff)
    backoff, outage_backoff = min_backoff, MIN_BACKOFF_SECONDS
    while True:
        started_at = loop.time()
        error = await _run_once(work)
        if loop.time() - started_at > RESET_BACKOFF_AFTER_SECONDS:
            backoff, outage_backoff = min_backoff, MIN_BACKOFF_SECONDS
        is_expected = isinstance(error, expected_errors)
        delay = outage_backoff if is_expected else backoff
        if error is None or is_expected:
            reason = str(error.__cause__ or error if error else "stopped")
            log_line(f"{name}: {reason.strip().partition(_NEWLINE)[0]}. Restarting in {delay:g} s.")
        else:
            logger.error("%s failed. Restarting in %g s.", name, delay, exc_info=error)
        await asyncio.sleep(delay)
        if is_expected:
            outage_backoff = min(outage_backoff * 2, max_outage_backoff)
        else:
            backoff = min(backoff * 2, max_backoff)


async def run_periodically(
    name: str,
    work: CoroutineFunction,
    interval_seconds: float,
    expected_errors: tuple[type[Exception], ...] = (),
) -> None:
    """Run a function again ``interval_seconds`` after it ended, until cancelled.

    After an error it runs again with backoff, from ``interval_seconds`` on, and during an outage
    earlier. ``expected_errors`` are logged as information.
    """

    async def repeat_work() -> None:
        while True:
            await work()
            await asyncio.sleep(interval_seconds)

    await run_with_restart(name, repeat_work, expected_errors, logger.info, interval_seconds)


async def _run_once(work: CoroutineFunction) -> BaseException | None:
    """Run the function once and return its exception; it is cancelled with the caller."""
    task = asyncio.get_running_loop().create_task(work())
    try:
        await asyncio.wait({task})
    finally:
        await cancel_and_wait(task)
    return asyncio.CancelledError() if task.cancelled() else task.exception()
