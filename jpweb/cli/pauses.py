"""The interpreter's own pauses, kept short in a process that people wait for."""

from __future__ import annotations

import asyncio
import gc
import sys
from time import perf_counter
from typing import Any

#: Seconds of looking through old objects for rubbish, from which on the rest is set aside.
LONG = 0.01
#: Seconds after which a thread that computes lets another have the interpreter. An answer goes
#: back and forth between threads, and beside one that indexes each way may take Python's 5 ms:
#: `answer.p99.durable` 60 ms, with this 45 and 50.
SWITCH_INTERVAL_SECONDS = 0.0005
#: Seconds between two looks at what was set aside, and how much it has to have grown by.
PAUSE, GROWTH = 600.0, 1.5


class _Heap:
    """Sets old objects aside: looking through all of them takes longer the more pages are open."""

    def __init__(self) -> None:
        self.began = perf_counter()
        self.kept = 0

    def hear(self, phase: str, about: dict[str, Any]) -> None:
        """Note a full collection; what is left of a long one is not looked through again."""
        if about["generation"] != 2:  # noqa: PLR2004  the oldest of three
            return
        if phase == "start":
            self.began = perf_counter()
        elif perf_counter() - self.began > LONG:
            gc.freeze()

    def look_through(self) -> None:
        """Look through everything once; it pauses the process."""
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self.kept = gc.get_freeze_count()

    @property
    def grown(self) -> bool:
        """Whether much was set aside since; some of it may be rubbish by now."""
        return gc.get_freeze_count() > GROWTH * self.kept


async def keep_short() -> None:
    """Keep pauses short, until cancelled."""
    heap = _Heap()
    usual_interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    gc.callbacks.append(heap.hear)
    try:
        heap.look_through()
        while True:
            await asyncio.sleep(PAUSE)
            if heap.grown:
                heap.look_through()
    finally:
        gc.callbacks.remove(heap.hear)
        gc.unfreeze()
        sys.setswitchinterval(usual_interval)
