from __future__ import annotations

import asyncio

import pytest

from jpweb.runtime import tasks
from jpweb.runtime.tasks import cancel_and_wait


async def lose_first_cancellation(began: asyncio.Event) -> None:
    began.set()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.Event().wait()


async def test_cancel_and_wait_ends_a_task_that_lost_a_cancellation(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(tasks, "CANCEL_AGAIN_SECONDS", 0.01)
    began = asyncio.Event()
    task = asyncio.create_task(lose_first_cancellation(began))
    await began.wait()
    await asyncio.wait_for(cancel_and_wait(task), 20)
    assert task.cancelled()


async def test_cancel_and_wait_leaves_an_ended_task_alone():
    task = asyncio.create_task(asyncio.sleep(0, "result"))
    assert await task == "result"
    await cancel_and_wait(task)
    assert task.result() == "result"


async def test_cancel_and_wait_ends_with_its_caller():
    began, holds = asyncio.Event(), asyncio.Event()

    async def never_ends() -> None:
        began.set()
        while not holds.is_set():
            try:
                await holds.wait()
            except asyncio.CancelledError:
                continue

    task = asyncio.create_task(never_ends())
    await began.wait()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(cancel_and_wait(task), 0.05)
    holds.set()
    await task
