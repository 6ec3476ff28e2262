"""Background tasks, which outlive their caller, and the end of tasks that lose a cancellation."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds after which a task that is not done is cancelled again; most clean up faster.
CANCEL_AGAIN_SECONDS = 4.0


class BackgroundTasks:
    """Tasks that outlive their caller, such as a request, and may be awaited at shutdown.

    They are referenced here, because the event loop holds only weak references to tasks.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def is_busy(self) -> bool:
        """Whether a task is running."""
        return bool(self._tasks)

    def spawn_task(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine in a task, whose error is logged."""
        task = self._start_task(coroutine)
        task.add_done_callback(_log_error, context=contextvars.Context())
        return task

    async def run_shielded(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine, which runs to its end where the caller is cancelled."""
        return await asyncio.shield(self._start_task(coroutine))

    async def wait_for_all(self) -> None:
        """Wait until every task has ended; a cancellation of the caller cancels them."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def cancel_all(self) -> None:
        """Cancel every task and wait until all have ended."""
        await cancel_once(*self._tasks)

    def _start_task(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = create_detached_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard, context=contextvars.Context())
        return task


def create_detached_task(coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Run a coroutine in a task, to which the caller keeps a reference.

    Its context is empty: a request's context variables must not outlive the request.
    """
    return asyncio.get_running_loop().create_task(coroutine, context=contextvars.Context())


async def cancel_once(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks and wait until they have ended; a second cancellation would cut clean-up short.

    Their errors are dropped.
    """
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def cancel_and_wait(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks until they have ended.

    One cancellation does not always suffice: ``asyncio.wait_for`` of Python 3.11 swallows it where
    the awaited future is done at that moment. A worker stopped while psycopg's pool opened
    continued for ten seconds, until its shutdown timeout.
    """
    while pending_tasks := [task for task in tasks if not task.done()]:
        for task in pending_tasks:
            task.cancel()
        await asyncio.wait(pending_tasks, timeout=CANCEL_AGAIN_SECONDS)


async def run_to_end(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run clean-up to its end, however often ``cancel_and_wait`` cancels the caller meanwhile."""
    task = create_detached_task(coroutine)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)


def _log_error(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("A background task failed", exc_info=error)
