"""Admission control: measures how long the database thread and the event loop delay a call."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from django.conf import settings

from jpweb.runtime.db_threads import run_in_db_thread

#: Share of a lease: a longer delay of the database thread or event loop stops admission.
DELAY_SHARE = 1 / 20
#: Seconds between two samples of the delay, and number of latest samples that count.
SAMPLE_INTERVAL_SECONDS = 0.25
SAMPLE_COUNT = 8
#: Runs admitted between two samples; only the next sample shows their load.
MAX_RUNS_PER_SAMPLE = 10


class AdmissionControl:
    """Samples the delay of the event loop and of the shared database thread."""

    def __init__(self) -> None:
        self._delays: deque[float] = deque(maxlen=SAMPLE_COUNT)
        self._trip_started_at: float | None = None
        self._admitted_count = 0
        self._sample_event = asyncio.Event()
        self._wake_event = asyncio.Event()

    def start_measuring(self) -> None:
        """Start measuring: a run executes."""
        self._wake_event.set()

    def is_busy(self) -> bool:
        """Return whether the delay is too long for another run."""
        delays = [*self._delays]
        if self._trip_started_at is not None:
            delays.append(asyncio.get_running_loop().time() - self._trip_started_at)
        return max(delays, default=0.0) > settings.LEASE_SECONDS * DELAY_SHARE

    async def wait_for_admission(self, is_idle: Callable[[], bool]) -> None:
        """Wait until one more run can start; return at once where none executes."""
        while (self.is_busy() or self._admitted_count >= MAX_RUNS_PER_SAMPLE) and not is_idle():
            sample_event = self._sample_event
            with suppress(TimeoutError):
                await asyncio.wait_for(sample_event.wait(), settings.LEASE_SECONDS)
        self._admitted_count += 1

    async def measure_delays(self, is_idle: Callable[[], bool]) -> None:
        """Measure until cancelled; without executing runs, not before ``start_measuring``.

        Measuring costs a process 0.5 % of a core.
        """
        clock = asyncio.get_running_loop().time
        try:
            while True:
                if is_idle():
                    self._delays.clear()
                    self._note_delay(0.0)
                    self._wake_event = asyncio.Event()
                    await self._wake_event.wait()
                self._trip_started_at = clock()
                await run_in_db_thread(_do_nothing)
                self._note_delay(clock() - self._trip_started_at)
                planned_at = clock() + SAMPLE_INTERVAL_SECONDS
                await asyncio.sleep(SAMPLE_INTERVAL_SECONDS)
                self._note_delay(clock() - planned_at)
        finally:
            self._delays.clear()
            self._note_delay(0.0)

    def _note_delay(self, delay: float) -> None:
        self._trip_started_at = None
        self._delays.append(delay)
        self._admitted_count = 0
        sample_event, self._sample_event = self._sample_event, asyncio.Event()
        sample_event.set()


def _do_nothing() -> None:
    """Wait only for the shared database thread."""
