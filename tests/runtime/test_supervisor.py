from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from jpweb.runtime import supervisor
from jpweb.runtime.supervisor import run_periodically, run_with_restart
from jpweb.runtime.tasks import cancel_and_wait


class Away(Exception):
    """A server does not answer."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(supervisor, "MIN_BACKOFF_SECONDS", 0.001)


def attempts(
    *outcomes: BaseException | None,
) -> tuple[Callable[[], Coroutine[Any, Any, None]], Any]:
    """Return work that ends so, one after the other, and then goes on; and when it does."""
    queue = list(outcomes)
    start_event = asyncio.Event()

    async def work() -> None:
        if not queue:
            start_event.set()
            await asyncio.Event().wait()
        end = queue.pop(0)
        if end is not None:
            raise end

    return work, start_event


async def run_and_cancel(work: Any, start_event: asyncio.Event, *arguments: Any) -> None:
    task = asyncio.create_task(run_with_restart("the work", work, *arguments))
    async with asyncio.timeout(10):
        await start_event.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()


async def test_supervisor_logs_an_outage_in_one_line_and_restarts():
    log_lines: list[str] = []
    outage = Away("no answer\nat all")
    wrapped = Away()
    wrapped.__cause__ = OSError("refused")
    await run_and_cancel(*attempts(outage, wrapped, None), (Away,), log_lines.append)
    assert [line.partition(". Restarting in ")[0] for line in log_lines] == [
        "the work: no answer",
        "the work: refused",
        "the work: stopped",
    ]


async def test_a_fault_is_logged_with_where_it_came_from(caplog: pytest.LogCaptureFixture):
    await run_and_cancel(*attempts(ValueError("a fault")), (Away,))
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "a fault"


async def test_pauses_grow_up_to_a_limit_and_a_long_attempt_forgives(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(supervisor, "MAX_BACKOFF_SECONDS", 0.004)
    log_lines: list[str] = []
    await run_and_cancel(*attempts(*[Away()] * 4), (Away,), log_lines.append)
    assert [line.split()[-2] for line in log_lines] == ["0.001", "0.002", "0.004", "0.004"]
    monkeypatch.setattr(supervisor, "RESET_BACKOFF_AFTER_SECONDS", -1.0)
    log_lines.clear()
    await run_and_cancel(*attempts(*[Away()] * 3), (Away,), log_lines.append)
    assert [line.split()[-2] for line in log_lines] == ["0.001"] * 3


async def test_supervisor_ends_when_its_caller_is_cancelled():
    steps: list[str] = []
    start_event = asyncio.Event()

    async def work() -> None:
        start_event.set()
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("work")

    await run_and_cancel(work, start_event)
    assert steps == ["work"]


async def test_run_periodically_runs_again_after_its_end_and_after_an_error(
    caplog: pytest.LogCaptureFixture,
):
    work, start_event = attempts(None, ValueError("a fault"), None)
    task = asyncio.create_task(run_periodically("the work", work, 0.001))
    async with asyncio.timeout(10):
        await start_event.wait()
    await cancel_and_wait(task)
    assert [record.getMessage() for record in caplog.records] == [
        "the work failed. Restarting in 0.001 s."
    ]


async def test_run_periodically_sleeps_its_interval_after_an_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    rests: list[float] = []
    sleep = asyncio.sleep

    async def fake_sleep(seconds: float) -> None:
        rests.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", fake_sleep)
    work, start_event = attempts(ValueError("a fault"), Away(), Away(), ValueError("another"))
    task = asyncio.create_task(run_periodically("the work", work, 3600, (Away,)))
    async with asyncio.timeout(10):
        await start_event.wait()
    await cancel_and_wait(task)
    assert rests == [3600, 0.001, 0.002, 3600], "an outage ends before the interval does"
