"""Sending to many sockets without keeping the event loop from everything else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Protocol, TypeVar

#: Yield to the event loop after this many sends.
SENDS_PER_YIELD = 100


class Update(Protocol):
    """What a socket has still to be sent; ``stands`` is false once the page says otherwise."""

    @property
    def stands(self) -> bool:
        """Tell whether it is still to be sent."""


U = TypeVar("U", bound=Update)


async def yield_between(updates: Iterable[U]) -> AsyncIterator[U]:
    """Yield the updates that still stand, and yield to the event loop now and then."""
    for number, update in enumerate(updates, 1):
        if update.stands:
            yield update
        if not number % SENDS_PER_YIELD:
            await asyncio.sleep(0)
