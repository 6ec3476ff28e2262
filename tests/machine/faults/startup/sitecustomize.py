"""Python imports this at the start of a process whose clock libfaketime shifts.

libfaketime 0.9.10 breaks ``time.sleep``: with the monotonic clock left alone, its
``clock_nanosleep`` refuses every absolute time (EINVAL). With that clock shifted as well, waits
for locks never end.
"""

from __future__ import annotations

import select
import time


def _sleep(seconds: float) -> None:
    select.select([], [], [], seconds)


time.sleep = _sleep  # type: ignore[assignment]  # a float is all that is passed
