from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.agent.stopping import Interrupts, Stop, Stopped, together, unless_stopped
from tests.agent.doubles import never, others


async def value(result, after=0) -> Any:
    for _ in range(after):
        await asyncio.sleep(0)
    return result


async def test_work_that_ends_gives_its_result():
    assert await unless_stopped(value(7), Interrupts()) == 7
    assert not others()


async def test_a_stop_cancels_the_work_and_waits_until_it_is_gone():
    stop, seen = Interrupts(), []

    async def work() -> Any:
        stop.say(Stop())
        try:
            await never()
        finally:
            await asyncio.sleep(0)
            seen.append("cleaned up")

    assert await unless_stopped(work(), stop) == Stopped()
    assert seen == ["cleaned up"]
    assert not others()


async def test_after_a_stop_no_work_is_started():
    stop, seen = Interrupts(), []
    stop.say(Stop())

    async def work() -> Any:
        seen.append("started")

    assert await unless_stopped(work(), stop) == Stopped()
    assert seen == []


async def test_work_that_ends_together_with_the_stop_keeps_its_result():
    stop = Interrupts()

    async def work() -> Any:
        stop.say(Stop())
        return "result"

    assert await unless_stopped(work(), stop) == "result"


async def test_work_that_answers_the_stop_with_a_result_keeps_it():
    stop = Interrupts()

    async def work() -> Any:
        stop.say(Stop())
        try:
            await never()
        except asyncio.CancelledError:
            return "saved"

    assert await unless_stopped(work(), stop) == "saved"


async def test_what_work_raises_comes_out():
    async def work() -> Any:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await unless_stopped(work(), Interrupts())
    assert not others()


async def test_work_cancelled_by_itself_is_no_stop():
    async def work() -> Any:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await unless_stopped(work(), Interrupts())


async def test_a_cancellation_from_outside_takes_the_work_with_it():
    task = asyncio.create_task(unless_stopped(never(), Interrupts()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not others()


async def test_results_come_in_the_order_of_the_works():
    assert await together([value("slow", after=5), value("fast")]) == ["slow", "fast"]


async def test_no_works_give_no_results():
    assert await together([]) == []


async def test_the_first_to_raise_cancels_the_others_and_comes_out_as_it_is():
    async def work() -> Any:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await together([never(), work(), never()])
    assert not others()


async def test_a_cancellation_from_outside_takes_all_works_with_it():
    task = asyncio.create_task(together([never(), unless_stopped(never(), Interrupts())]))
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not others()
