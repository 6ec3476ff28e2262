"""Work that has to go on for as long as the process does, whatever becomes of one attempt."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from jpweb.runtime.executing.tasks import cancel_and_wait

logger = logging.getLogger(__name__)

Work = Callable[[], Coroutine[Any, Any, None]]

#: Seconds until work that has ended is begun again: at first, and at most.
SOON, LATEST = 0.5, 15.0
#: Seconds at most until what needs a server that is away is begun again: it asks at once, and is
#: refused at once.
LATEST_WHILE_AWAY = 2.0
#: Seconds after which an attempt counts as a good one.
GOOD = 60.0

_LINE = "\n"


async def kept_going(
    name: str,
    work: Work,
    gone: tuple[type[Exception], ...] = (),
    tell: Callable[[str], None] = logger.warning,
) -> None:
    """Do the work, and begin it again whenever it ends; only cancelling this ends it.

    What is ``gone``, such as a server that is away, is told in one line. Anything else is a fault,
    and is logged with where it came from.
    """
    loop = asyncio.get_running_loop()
    pause = SOON
    while True:
        began = loop.time()
        problem = await _outcome(work)
        if loop.time() - began > GOOD:
            pause = SOON
        if isinstance(problem, gone):
            pause = min(pause, LATEST_WHILE_AWAY)
        if problem is None or isinstance(problem, gone):
            why = str(problem.__cause__ or problem if problem else "stopped")
            tell(f"{name}: {why.strip().partition(_LINE)[0]}. Restarting in {pause:g} s.")
        else:
            logger.error("%s failed. Restarting in %g s.", name, pause, exc_info=problem)
        await asyncio.sleep(pause)
        pause = min(pause * 2, LATEST)


async def _outcome(work: Work) -> BaseException | None:
    """Return what the work raised; it ends with whoever waits for it."""
    task = asyncio.get_running_loop().create_task(work())
    try:
        await asyncio.wait({task})
    finally:
        await cancel_and_wait(task)
    return asyncio.CancelledError() if task.cancelled() else task.exception()
