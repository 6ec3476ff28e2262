"""One round at a time: what many wait for is done for all of them at once."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import math
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
M = TypeVar("M")

logger = logging.getLogger(__name__)

#: Keys whose last round failed that are remembered, so that each is logged once.
REMEMBERED = 1000


class Rounds(Generic[K, M]):
    """Deals with the members that are due, all of one key together.

    There is one round of a key at a time; who becomes due meanwhile is in the next one, once
    however often. ``failed`` is called with each member of a round that ended in an error, and
    with the error. Of errors of one key in a row the first is logged with where it came from.
    ``gather``: seconds that a round waits for what follows at once, before it begins.
    ``at_once``: rounds of different keys that are under way together; others wait for their turn.
    """

    def __init__(
        self,
        deal: Callable[[K, list[M]], Awaitable[None]],
        failed: Callable[[M, BaseException], None],
        gather: float = 0.0,
        at_once: float = math.inf,
    ) -> None:
        self._deal, self._failed, self._gather = deal, failed, gather
        self._at_once = at_once
        self._due: dict[K, dict[M, None]] = {}
        self._tasks: dict[K, asyncio.Task[None]] = {}
        self._members: dict[K, list[M]] = {}
        self._broken: dict[K, None] = {}

    @property
    def busy(self) -> bool:
        """Whether a round is under way."""
        return bool(self._tasks)

    def due(self, key: K, member: M) -> None:
        """Let a member be in the next round."""
        self._due.setdefault(key, {})[member] = None
        self._begin(key)

    def _begin(self, key: K) -> None:
        """Begin a round unless there is one of the key, or others have to end first."""
        if key in self._tasks or len(self._tasks) >= self._at_once:
            return
        # A context of its own: what belongs to a request ends with the request.
        context = contextvars.Context()
        task = asyncio.create_task(self._run(key), context=context)
        self._tasks[key] = task
        task.add_done_callback(partial(self._over, key), context=context)

    def _has_turn(self, key: K) -> bool:
        """Tell whether a key that has had a round goes on, before those that wait for theirs."""
        waits = len(self._tasks) >= self._at_once and self._due.keys() - self._tasks.keys()
        return bool(self._due.get(key)) and not waits

    async def _run(self, key: K) -> None:
        is_first = True
        while is_first or self._has_turn(key):
            is_first = False
            if self._gather:
                await asyncio.sleep(self._gather)
            self._members[key] = list(self._due.pop(key))
            await self._deal(key, self._members[key])
            self._members[key] = []
            self._broken.pop(key, None)

    def _over(self, key: K, task: asyncio.Task[None]) -> None:
        """Tell the members of a round that failed; who became due meanwhile is in the next one."""
        del self._tasks[key]
        members = self._members.pop(key, [])
        problem = asyncio.CancelledError() if task.cancelled() else task.exception()
        if problem is not None:
            self._log(key, problem)
            for member in members:
                self._failed(member, problem)
        rest = self._due.pop(key, None)
        if rest:
            self._due[key] = rest  # behind those that wait already
        for waiting in list(self._due):
            self._begin(waiting)

    def _log(self, key: K, problem: BaseException) -> None:
        if key in self._broken:
            return
        logger.error("what %s shows cannot be told", key, exc_info=problem)
        self._broken[key] = None
        while len(self._broken) > REMEMBERED:
            del self._broken[next(iter(self._broken))]
