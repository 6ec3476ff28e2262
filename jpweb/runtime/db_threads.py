"""Runs synchronous database functions from async code."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from asgiref.sync import SyncToAsync
from channels.db import database_sync_to_async

from jpweb.store.database.availability import keep_connection
from jpweb.store.database.timeouts import limit_replies

#: Seconds for one reply of the database in the shared thread-sensitive thread. Slower functions
#: use ``run_in_background_thread``.
SHARED_REPLY_SECONDS = 10.0

P = ParamSpec("P")
T = TypeVar("T")


async def run_in_db_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a synchronous database function in Django's thread-sensitive executor."""
    if SyncToAsync.thread_sensitive_context.get(None) is None:
        # Outside a request: asgiref's shared thread, whose connection outlives the call.
        function = _keep_connection_after(_limit_reply(function))
    result: T = await database_sync_to_async(function)(*args, **kwargs)
    return result


def _limit_reply(function: Callable[P, T]) -> Callable[P, T]:
    @wraps(function)
    def call_limited(*args: P.args, **kwargs: P.kwargs) -> T:
        with limit_replies(SHARED_REPLY_SECONDS):
            return function(*args, **kwargs)

    return call_limited


def _keep_connection_after(function: Callable[P, T]) -> Callable[P, T]:
    """Keep the connection open after a function.

    Reopening SQLite's file cost an idle server a third of its processor time.
    """

    @wraps(function)
    def call_and_keep(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        finally:
            keep_connection()

    return call_and_keep


async def run_in_background_thread(
    function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run a long database function in a thread of its own, off the thread-sensitive executor."""
    run_in_thread = database_sync_to_async(_keep_connection_after(function), thread_sensitive=False)
    result: T = await run_in_thread(*args, **kwargs)
    return result
