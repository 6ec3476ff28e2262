"""The one crossing from async code into the store."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from asgiref.sync import SyncToAsync
from channels.db import database_sync_to_async

from jpweb.store.database.patience import reply_within
from jpweb.store.outage import keep_connection

#: Seconds that one reply may hold up the thread that all others share; what takes longer goes
#: through ``in_background``.
SHARED_REPLY_SECONDS = 10.0

P = ParamSpec("P")
T = TypeVar("T")


async def in_store(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that uses the database, in a thread that may."""
    if SyncToAsync.thread_sensitive_context.get(None) is None:
        # No request's own thread, which ends with it, but the one that all others share.
        function = _then_keep_connection(_limit_reply(function))
    result: T = await database_sync_to_async(function)(*args, **kwargs)
    return result


def _limit_reply(function: Callable[P, T]) -> Callable[P, T]:
    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> T:
        with reply_within(SHARED_REPLY_SECONDS):
            return function(*args, **kwargs)

    return limited


def _then_keep_connection(function: Callable[P, T]) -> Callable[P, T]:
    """Wrap a function: an idle server spent a third of its processor time on opening its file."""

    @wraps(function)
    def keeping(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        finally:
            keep_connection()

    return keeping


async def in_background(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that uses the database for long, in a thread that nothing else waits for."""
    crossing = database_sync_to_async(_then_keep_connection(function), thread_sensitive=False)
    result: T = await crossing(*args, **kwargs)
    return result
