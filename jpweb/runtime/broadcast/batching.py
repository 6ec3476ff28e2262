"""Coalesces requests by key: one batch runs at a time, later requests join the next."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import math
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Generic, TypeVar

from jpweb.runtime.tasks import create_detached_task
from jpweb.store.database.availability import DATABASE_UNAVAILABLE

K = TypeVar("K", bound=Hashable)
M = TypeVar("M")

logger = logging.getLogger(__name__)

#: Keys whose last batch failed that are remembered, so that each is logged once.
MAX_REMEMBERED_KEYS = 1000


class BatchRunner(Generic[K, M]):
    """Processes the members that are due, all members of one key in one batch.

    One batch of a key runs at a time; a member that becomes due meanwhile is in the next batch,
    once. ``on_failure`` is called with each member of a failed batch and the error. Of consecutive
    errors of one key the first is logged, with its traceback unless it is a database outage.
    ``await_more``: is awaited before each batch, so that closely following members join it.
    ``max_parallel``: batches of different keys that run together; other keys wait for their turn.
    ``describe_key``: returns what the log calls a key, of which no updates could be sent.
    """

    def __init__(
        self,
        process_batch: Callable[[K, list[M]], Awaitable[None]],
        on_failure: Callable[[M, BaseException], None],
        await_more: Callable[[], Awaitable[object]] | None = None,
        max_parallel: float = math.inf,
        describe_key: Callable[[K], str] = str,
    ) -> None:
        self._process_batch, self._on_failure = process_batch, on_failure
        self._await_more = await_more
        self._max_parallel, self._describe_key = max_parallel, describe_key
        self._due_members: dict[K, dict[M, None]] = {}
        self._tasks: dict[K, asyncio.Task[None]] = {}
        self._running_members: dict[K, list[M]] = {}
        self._failed_keys: dict[K, None] = {}

    @property
    def is_busy(self) -> bool:
        """Whether a batch is running."""
        return bool(self._tasks)

    def schedule_member(self, key: K, member: M) -> None:
        """Put a member into the next batch of a key."""
        self._due_members.setdefault(key, {})[member] = None
        self._begin_batch(key)

    def _begin_batch(self, key: K) -> None:
        """Begin a batch, unless one of the key runs or ``max_parallel`` is reached."""
        if key in self._tasks or len(self._tasks) >= self._max_parallel:
            return
        task = create_detached_task(self._run_batches(key))
        self._tasks[key] = task
        task.add_done_callback(partial(self._finish_batches, key), context=contextvars.Context())

    def _has_turn(self, key: K) -> bool:
        """Return whether a key runs another batch before the keys that wait."""
        others_wait = (
            len(self._tasks) >= self._max_parallel and self._due_members.keys() - self._tasks.keys()
        )
        return bool(self._due_members.get(key)) and not others_wait

    async def _run_batches(self, key: K) -> None:
        is_first = True
        while is_first or self._has_turn(key):
            is_first = False
            if self._await_more is not None:
                await self._await_more()
            self._running_members[key] = list(self._due_members.pop(key))
            await self._process_batch(key, self._running_members[key])
            self._running_members[key] = []
            self._failed_keys.pop(key, None)

    def _finish_batches(self, key: K, task: asyncio.Task[None]) -> None:
        """Report a failed batch to its members, and begin the waiting batches."""
        del self._tasks[key]
        members = self._running_members.pop(key, [])
        if task.cancelled():  # the event loop is closing; a new batch would never run
            self._due_members.clear()
            return
        error = task.exception()
        if error is not None:
            self._log_failure(key, error)
            for member in members:
                self._on_failure(member, error)
        remaining_members = self._due_members.pop(key, None)
        if remaining_members:
            self._due_members[key] = remaining_members  # after the keys that already wait
        for waiting_key in list(self._due_members):
            self._begin_batch(waiting_key)

    def _log_failure(self, key: K, error: BaseException) -> None:
        if key in self._failed_keys:
            return
        subject = self._describe_key(key)
        if isinstance(error, DATABASE_UNAVAILABLE):
            logger.warning("Updates of %s could not be sent: %s", subject, error)
        else:
            logger.error("Updates of %s could not be sent", subject, exc_info=error)
        self._failed_keys[key] = None
        while len(self._failed_keys) > MAX_REMEMBERED_KEYS:
            del self._failed_keys[next(iter(self._failed_keys))]
