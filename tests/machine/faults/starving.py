"""Processes that stand still, or get a small share of the processor."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: Seconds of one round, in which a starved process runs for its share.
ROUND_SECONDS = 0.2


@contextmanager
def pause_process(pid: int) -> Iterator[None]:
    """Let a process stand still as long as the block lasts."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


async def starve_process(pid: int, seconds: float, share: float = 0.1) -> None:
    """Let a process run for a share of the time, for so long."""
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    while clock() < end:
        with pause_process(pid):
            await asyncio.sleep(ROUND_SECONDS * (1 - share))
        await asyncio.sleep(ROUND_SECONDS * share)
