"""Whether this process keeps up with what it executes, by how long the store lets it wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from django.conf import settings

from jpweb.runtime.crossing import in_store

#: Share of a lease that a trip to the store and back may take while new runs are taken.
DELAY_SHARE = 1 / 20
#: Seconds between two trips, and how many of the latest delays count.
SAMPLE_INTERVAL_SECONDS = 0.25
SAMPLES = 8
#: Runs that are taken between two samples: what they cost shows in the next one.
ADMITTED_PER_SAMPLE = 10


class Pace:
    """Measures the delay of the event loop and of the thread that all store calls share."""

    def __init__(self) -> None:
        self._delays: deque[float] = deque(maxlen=SAMPLES)
        self._began_at: float | None = None
        self._admitted = 0
        self._sampled = asyncio.Event()
        self._awake = asyncio.Event()

    def wake(self) -> None:
        """Measure from now on: something is executed."""
        self._awake.set()

    def is_busy(self) -> bool:
        """Tell whether a new run would come late, and make those that are here later."""
        delays = [*self._delays]
        if self._began_at is not None:
            delays.append(asyncio.get_running_loop().time() - self._began_at)
        return max(delays, default=0.0) > settings.LEASE * DELAY_SHARE

    async def admit(self, is_idle: Callable[[], bool]) -> None:
        """Return once one more run can be taken; at once where the process executes nothing."""
        while (self.is_busy() or self._admitted >= ADMITTED_PER_SAMPLE) and not is_idle():
            sampled = self._sampled
            with suppress(TimeoutError):
                await asyncio.wait_for(sampled.wait(), settings.LEASE)
        self._admitted += 1

    async def measure(self, is_idle: Callable[[], bool]) -> None:
        """Measure until cancelled; where the process executes nothing, not before ``wake``.

        Measuring costs a process 0.5 % of a core, all the time.
        """
        clock = asyncio.get_running_loop().time
        try:
            while True:
                if is_idle():
                    self._delays.clear()
                    self._note(0.0)
                    self._awake = asyncio.Event()
                    await self._awake.wait()
                self._began_at = clock()
                await in_store(_do_nothing)
                self._note(clock() - self._began_at)
                planned = clock() + SAMPLE_INTERVAL_SECONDS
                await asyncio.sleep(SAMPLE_INTERVAL_SECONDS)
                self._note(clock() - planned)
        finally:
            self._delays.clear()
            self._note(0.0)

    def _note(self, delay: float) -> None:
        self._began_at = None
        self._delays.append(delay)
        self._admitted = 0
        sampled, self._sampled = self._sampled, asyncio.Event()
        sampled.set()


def _do_nothing() -> None:
    """Take as long as any function of the store waits for its turn."""
