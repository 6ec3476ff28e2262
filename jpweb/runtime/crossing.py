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
