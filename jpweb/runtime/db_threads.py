"""Runs synchronous database functions from async code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import SyncToAsync
from channels.db import database_sync_to_async
from django.db import connections

from jpweb.store.database.reply_limits import limit_replies

#: Seconds for one reply of the database in the shared thread-sensitive thread. Slower functions
#: use ``run_in_background_thread``.
SHARED_REPLY_SECONDS = 10.0
#: Seconds without a call after which background work begins, and seconds for which it waits for
#: that at most.
QUIET_SECONDS, MAX_WAIT_SECONDS = 0.01, 0.25
#: Threads of ``run_in_file_thread``. Each keeps one of PostgreSQL's ten pooled connections while
#: it reads files, however long a file system takes.
MAX_FILE_THREADS = 4

P = ParamSpec("P")
T = TypeVar("T")


async def run_in_db_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a synchronous database function in Django's thread-sensitive executor."""
    # Outside a request: asgiref's shared thread, whose connection outlives the call.
    is_shared = SyncToAsync.thread_sensitive_context.get(None) is None
    run_in_thread = _run_in_shared_thread if is_shared else _run_in_request_thread
    thread_use.call_count += 1
    try:
        result: T = await run_in_thread(function, *args, **kwargs)
    finally:
        thread_use.end_call()
    return result


class DbThread(ThreadPoolExecutor):
    """An executor of one thread, which keeps its database connection between requests."""

    def __init__(self) -> None:
        super().__init__(max_workers=1, thread_name_prefix="database")
        self._latest_call: Future[Any] = Future()
        self._latest_call.set_result(None)

    def submit(self, *arguments: Any, **options: Any) -> Future[Any]:
        """Queue a call."""
        self._latest_call = super().submit(*arguments, **options)
        return self._latest_call

    @property
    def is_idle(self) -> bool:
        """Whether all calls have ended: they run in their order."""
        return self._latest_call.done()

    def retire_thread(self) -> None:
        """Close the connection and end the thread, once its calls have ended."""
        self.submit(connections.close_all)
        self.shutdown(wait=False)


class ThreadUse:
    """The calls of ``run_in_db_thread``, in whose pauses background work begins.

    It takes Python's lock, and SQLite's write lock, from the calls that serve people.
    """

    def __init__(self) -> None:
        self.call_count = 0
        self._ended_at = 0.0

    def end_call(self) -> None:
        """Count a call as ended."""
        self.call_count -= 1
        self._ended_at = monotonic()

    async def wait_until_quiet(self, max_seconds: float = MAX_WAIT_SECONDS) -> bool:
        """Return once there was no call for QUIET_SECONDS, or after ``max_seconds``.

        Returns whether it is quiet.
        """
        deadline = monotonic() + max_seconds
        while (current_time := monotonic()) < deadline:
            quiet_seconds = 0.0 if self.call_count else current_time - self._ended_at
            if quiet_seconds >= QUIET_SECONDS:
                return True
            await asyncio.sleep(QUIET_SECONDS - quiet_seconds)
        return False


thread_use = ThreadUse()


def _call_limited(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function of the shared thread."""
    with limit_replies(SHARED_REPLY_SECONDS):
        return function(*args, **kwargs)


def _call_plain(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return function(*args, **kwargs)


# Adapted once: asgiref takes 0.05 ms to adapt a function.
_run_in_shared_thread: Any = database_sync_to_async(_call_limited)
_run_in_request_thread: Any = database_sync_to_async(_call_plain)
_run_in_any_thread: Any = database_sync_to_async(_call_plain, thread_sensitive=False)
_run_in_file_thread: Any = database_sync_to_async(
    _call_plain,
    thread_sensitive=False,
    executor=ThreadPoolExecutor(MAX_FILE_THREADS, thread_name_prefix="files"),
)


async def run_in_background_thread(
    function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run a long database function in a thread of its own, off the thread-sensitive executor."""
    result: T = await _run_in_any_thread(function, *args, **kwargs)
    return result


async def run_in_file_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that reads a workspace's files, in one of a few threads for these alone.

    On a file system that hangs it never returns. Threads of ``run_in_background_thread`` would run
    out: then nobody renews leases, expires questions or sends notifications.
    """
    result: T = await _run_in_file_thread(function, *args, **kwargs)
    return result
