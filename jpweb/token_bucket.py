"""Rate limiting by token buckets."""

from __future__ import annotations

import time
from collections.abc import Callable


class TokenBucket:
    """Admits ``capacity`` at once and refills by ``per_second``, up to the capacity."""

    __slots__ = ("_capacity", "_clock", "_per_second", "_since", "_tokens")

    def __init__(
        self, capacity: float, per_second: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._capacity, self._per_second, self._clock = capacity, per_second, clock
        self._tokens, self._since = capacity, clock()

    def take_tokens(self, cost: float = 1.0) -> bool:
        """Take tokens; return False, and take none, where too few are left."""
        self._refill()
        if cost > self._tokens:
            return False
        self._tokens -= cost
        return True

    def overdraw_tokens(self, cost: float) -> float:
        """Take tokens, also those that are not left; return the seconds until none is owed."""
        self._refill()
        self._tokens -= cost
        return max(0.0, -self._tokens / self._per_second)

    def _refill(self) -> None:
        current_time = self._clock()
        refilled_count = self._tokens + (current_time - self._since) * self._per_second
        self._tokens, self._since = min(refilled_count, self._capacity), current_time
