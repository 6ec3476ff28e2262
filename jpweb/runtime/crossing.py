"""The one crossing from async code into the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from channels.db import database_sync_to_async

P = ParamSpec("P")
T = TypeVar("T")


async def in_store(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that uses the database, in a thread that may."""
    result: T = await database_sync_to_async(function)(*args, **kwargs)
    return result


async def in_background(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that uses the database for long, in a thread that nothing else waits for."""
    crossing = database_sync_to_async(function, thread_sensitive=False)
    result: T = await crossing(*args, **kwargs)
    return result
