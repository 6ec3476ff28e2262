"""Doing things at once, and stopping them, without leaving a task behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stopped:
    """The work was given up because somebody said stop."""


async def unless_stopped(work: Coroutine[Any, Any, T], stop: asyncio.Event) -> T | Stopped:
    """Return what the work returns, or Stopped, the work then being cancelled and gone.

    Work that is done when stop comes keeps its result; after a stop none is started.
    """
    if stop.is_set():
        work.close()
        return Stopped()
    task, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _gone(task, stopping)
    if task.cancelled() and stop.is_set():
        return Stopped()
    return task.result()


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return what the works return, in their order. The first to raise cancels the others."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await _gone(*tasks)


async def _gone(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
