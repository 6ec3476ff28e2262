"""Sending to many sockets without blocking the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Protocol, TypeVar

#: Yield to the event loop after this many sends.
SENDS_PER_YIELD = 100


class PendingUpdate(Protocol):
    """An update of a socket; ``is_current`` becomes False when its page sends another state."""

    @property
    def is_current(self) -> bool:
        """Tell whether the update should still be sent."""


UpdateT = TypeVar("UpdateT", bound=PendingUpdate)


async def yield_between(updates: Iterable[UpdateT]) -> AsyncIterator[UpdateT]:
    """Yield the current updates; sleep(0) after every ``SENDS_PER_YIELD`` of them."""
    for number, update in enumerate(updates, 1):
        if update.is_current:
            yield update
        if not number % SENDS_PER_YIELD:
            await asyncio.sleep(0)
