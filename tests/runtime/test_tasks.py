from __future__ import annotations

import asyncio
import gc
from contextvars import ContextVar

import pytest

from jpweb.runtime import tasks
from jpweb.runtime.tasks import BackgroundTasks, cancel_and_wait


async def lose_first_cancellation(start_event: asyncio.Event) -> None:
    start_event.set()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.Event().wait()


async def test_cancel_and_wait_ends_a_task_that_lost_a_cancellation(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(tasks, "CANCEL_AGAIN_SECONDS", 0.01)
    start_event = asyncio.Event()
    task = asyncio.create_task(lose_first_cancellation(start_event))
    await start_event.wait()
    await asyncio.wait_for(cancel_and_wait(task), 20)
    assert task.cancelled()


async def test_cancel_and_wait_leaves_an_ended_task_alone():
    task = asyncio.create_task(asyncio.sleep(0, "result"))
    assert await task == "result"
    await cancel_and_wait(task)
    assert task.result() == "result"


async def test_cancel_and_wait_ends_with_its_caller():
    start_event, release = asyncio.Event(), asyncio.Event()

    async def never_ends() -> None:
        start_event.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    task = asyncio.create_task(never_ends())
    await start_event.wait()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(cancel_and_wait(task), 0.05)
    release.set()
    await task


async def raise_after(start_event: asyncio.Event) -> None:
    await start_event.wait()
    raise ZeroDivisionError("broken")


async def test_background_tasks_log_an_error_once_and_are_idle_afterwards(
    caplog: pytest.LogCaptureFixture,
):
    start_event, background_tasks = asyncio.Event(), BackgroundTasks()
    task = background_tasks.spawn_task(raise_after(start_event))
    was_busy = background_tasks.is_busy
    start_event.set()
    await background_tasks.wait_for_all()
    del task
    gc.collect()  # asyncio logs an error that nobody has retrieved
    assert (was_busy, background_tasks.is_busy) == (True, False)
    (record,) = caplog.records
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ZeroDivisionError)


async def test_background_tasks_keep_a_reference_to_each_task():
    end_event = asyncio.Event()

    async def wait_for_itself() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            end_event.set()

    background_tasks = BackgroundTasks()
    background_tasks.spawn_task(wait_for_itself())
    await asyncio.sleep(0)
    gc.collect()
    assert not end_event.is_set()
    await background_tasks.cancel_all()
    assert end_event.is_set()


async def test_background_tasks_run_without_the_callers_context_variables():
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    variable.set("the caller's")

    async def read_variable() -> str:
        return variable.get()

    background_tasks = BackgroundTasks()
    assert await background_tasks.spawn_task(read_variable()) == "unset"
    assert await background_tasks.run_shielded(read_variable()) == "unset"


async def test_run_shielded_runs_to_its_end_where_the_caller_is_cancelled():
    start_event, continues, results = asyncio.Event(), asyncio.Event(), list[str]()

    async def work() -> None:
        start_event.set()
        await continues.wait()
        results.append("done")

    background_tasks = BackgroundTasks()
    caller = asyncio.create_task(background_tasks.run_shielded(work()))
    await start_event.wait()
    await cancel_and_wait(caller)
    continues.set()
    await background_tasks.wait_for_all()
    assert results == ["done"]


async def test_run_shielded_raises_the_error_and_logs_nothing(caplog: pytest.LogCaptureFixture):
    start_event = asyncio.Event()
    start_event.set()
    with pytest.raises(ZeroDivisionError):
        await BackgroundTasks().run_shielded(raise_after(start_event))
    assert caplog.records == []


async def test_cancel_all_leaves_the_clean_up_of_a_task_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tasks, "CANCEL_AGAIN_SECONDS", 0)
    start_event, cleaned = asyncio.Event(), list[str]()

    async def work() -> None:
        start_event.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(10):
                await asyncio.sleep(0)
            cleaned.append("up")

    background_tasks = BackgroundTasks()
    background_tasks.spawn_task(work())
    await start_event.wait()
    await background_tasks.cancel_all()
    assert cleaned == ["up"]
