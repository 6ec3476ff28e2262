"""One round at a time: what many wait for is done for all of them at once."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
M = TypeVar("M")

logger = logging.getLogger(__name__)


class Rounds(Generic[K, M]):
    """Deals with the members that are due, all of one key together.

    There is one round of a key at a time; who becomes due meanwhile is in the next one, once
    however often. ``failed`` is called with each member of a round that ended in an error.
    ``gather``: seconds that a round waits for what follows at once, before it begins.
    """

    def __init__(
        self,
        deal: Callable[[K, list[M]], Awaitable[None]],
        failed: Callable[[M], None],
        gather: float = 0.0,
    ) -> None:
        self._deal, self._failed, self._gather = deal, failed, gather
        self._due: dict[K, dict[M, None]] = {}
        self._tasks: dict[K, asyncio.Task[None]] = {}

    @property
    def busy(self) -> bool:
        """Whether a round is under way."""
        return bool(self._tasks)

    def due(self, key: K, member: M) -> None:
        """Let a member be in the next round."""
        self._due.setdefault(key, {})[member] = None
        if key not in self._tasks:
            # A context of its own: what belongs to a request ends with the request.
            context = contextvars.Context()
            self._tasks[key] = asyncio.create_task(self._run(key), context=context)

    async def _run(self, key: K) -> None:
        members: dict[M, None] = {}
        try:
            while self._due.get(key):
                if self._gather:
                    await asyncio.sleep(self._gather)
                members = self._due.pop(key)
                await self._deal(key, list(members))
                members = {}
        finally:
            del self._tasks[key]
            for member in members:
                self._failed(member)
            for member in self._due.pop(key, {}):
                self.due(key, member)
