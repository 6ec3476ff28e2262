"""Tunes the garbage collector, so that full collections do not pause a serving process.

A full collection takes 72 ms of processor time before any page is open, for 132,000 objects that
are never garbage: twice `answer.p99.durable`. Frozen objects cost nothing.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from time import perf_counter
from typing import Any

#: New objects after which the collector looks for garbage among them. At Python's default of 700 it
#: took a tenth of a server's processor time, and 0.33 of the 2.1 s that `jpweb serve` starts in.
YOUNG_OBJECTS = 10_000
#: Seconds of a full collection above which the surviving objects are frozen (``gc.freeze``).
LONG_COLLECTION_SECONDS = 0.01
#: Thread switch interval in seconds. An answer passes between threads several times, and beside a
#: thread that indexes each pass may wait for Python's default of 5 ms: `answer.p99.durable` was
#: 60 ms, with this 45 and 50.
SWITCH_INTERVAL_SECONDS = 0.0005
#: Seconds between two checks of the frozen objects, and growth that causes a full collection.
COLLECT_INTERVAL_SECONDS, GROWTH_FACTOR = 600.0, 1.5


def collect_rarely() -> None:
    """Let more objects be made between two collections of the youngest."""
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])


class _GcTuner:
    """Freezes old objects: a full collection takes longer the more pages are open."""

    def __init__(self) -> None:
        self.started_at = perf_counter()
        self.frozen_count = 0

    def on_collection(self, phase: str, info: dict[str, Any]) -> None:
        """Handle a ``gc.callbacks`` event: freeze old objects after a long full collection."""
        if info["generation"] != 2:  # noqa: PLR2004  the oldest of three
            return
        if phase == "start":
            self.started_at = perf_counter()
        elif perf_counter() - self.started_at > LONG_COLLECTION_SECONDS:
            gc.freeze()

    def collect_all(self) -> None:
        """Collect everything once, including frozen objects; it pauses the process."""
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self.frozen_count = gc.get_freeze_count()

    @property
    def has_grown(self) -> bool:
        """Whether the frozen objects have grown by GROWTH_FACTOR since the last full pass."""
        return gc.get_freeze_count() > GROWTH_FACTOR * self.frozen_count


async def tune_gc() -> None:
    """Keep collections short, until cancelled."""
    tuner = _GcTuner()
    usual_interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    gc.callbacks.append(tuner.on_collection)
    try:
        tuner.collect_all()
        while True:
            await asyncio.sleep(COLLECT_INTERVAL_SECONDS)
            if tuner.has_grown:
                tuner.collect_all()
    finally:
        gc.callbacks.remove(tuner.on_collection)
        gc.unfreeze()
        sys.setswitchinterval(usual_interval)
