from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.interrupts import (
    CallInterrupts,
    InterruptedResult,
    Interrupts,
    Respond,
    Restart,
    Stop,
    gather_or_cancel,
    run_interruptible,
)
from tests.agent.doubles import other_tasks, wait_forever


async def value(result, after=0) -> Any:
    for _ in range(after):
        await asyncio.sleep(0)
    return result


async def test_run_interruptible_returns_the_result():
    assert await run_interruptible(value(7), Interrupts()) == 7
    assert not other_tasks()


async def test_run_interruptible_cancels_on_stop_and_waits_for_the_end():
    stop, steps = Interrupts(), []

    async def work() -> Any:
        stop.interrupt(Stop())
        try:
            await wait_forever()
        finally:
            await asyncio.sleep(0)
            steps.append("cleaned up")

    assert await run_interruptible(work(), stop) == InterruptedResult()
    assert steps == ["cleaned up"]
    assert not other_tasks()


async def test_run_interruptible_after_a_stop_starts_no_work():
    stop, steps = Interrupts(), []
    stop.interrupt(Stop())

    async def work() -> Any:
        steps.append("started")

    assert await run_interruptible(work(), stop) == InterruptedResult()
    assert steps == []


async def test_work_that_ends_together_with_the_stop_keeps_its_result():
    stop = Interrupts()

    async def work() -> Any:
        stop.interrupt(Stop())
        return "result"

    assert await run_interruptible(work(), stop) == "result"


async def test_work_that_answers_the_stop_with_a_result_keeps_it():
    stop = Interrupts()

    async def work() -> Any:
        stop.interrupt(Stop())
        try:
            await wait_forever()
        except asyncio.CancelledError:
            return "saved"

    assert await run_interruptible(work(), stop) == "saved"


async def test_run_interruptible_raises_the_error_of_its_work():
    async def work() -> Any:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await run_interruptible(work(), Interrupts())
    assert not other_tasks()


async def test_work_cancelled_by_itself_is_no_stop():
    async def work() -> Any:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await run_interruptible(work(), Interrupts())


async def test_a_cancellation_from_outside_takes_the_work_with_it():
    task = asyncio.create_task(run_interruptible(wait_forever(), Interrupts()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not other_tasks()


async def test_results_come_in_the_order_of_the_works():
    assert await gather_or_cancel([value("slow", after=5), value("fast")]) == ["slow", "fast"]


async def test_gather_or_cancel_of_nothing_returns_an_empty_list():
    assert await gather_or_cancel([]) == []


async def test_the_first_to_raise_cancels_the_others_and_comes_out_as_it_is():
    async def work() -> Any:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await gather_or_cancel([wait_forever(), work(), wait_forever()])
    assert not other_tasks()


async def test_a_cancellation_from_outside_takes_all_works_with_it():
    task = asyncio.create_task(
        gather_or_cancel([wait_forever(), run_interruptible(wait_forever(), Interrupts())])
    )
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not other_tasks()


# what is said

SAID = [Restart(), Respond(), Respond("A."), Respond("B.", "Alice"), Stop()]
sampled_interrupts = st.sampled_from(SAID)


@given(st.lists(sampled_interrupts))
def test_pending_interrupt_is_the_most_severe_with_all_texts(all_said):
    interrupts = Interrupts()
    for interrupt in all_said:
        interrupts.interrupt(interrupt)
    worst = max((interrupt.SEVERITY for interrupt in all_said), default=None)
    expected = [interrupt for interrupt in all_said if worst == interrupt.SEVERITY]
    pending = interrupts.pending
    assert (pending and pending.SEVERITY) == worst
    if isinstance(pending, Respond):
        assert pending.text == "\n\n".join(
            interrupt.text for interrupt in expected if interrupt.text
        )
        assert pending.author == expected[-1].author
        assert pending.list_parts() == tuple(i for i in expected if i.text)
    assert interrupts.is_set() == bool(all_said)


@given(st.lists(sampled_interrupts))
def test_take_pending_clears_all_interrupts_but_a_stop(all_said):
    interrupts = Interrupts()
    for interrupt in all_said:
        interrupts.interrupt(interrupt)
    is_stopped = Stop() in all_said
    first = interrupts.take_pending()
    assert (first == Stop()) == is_stopped
    assert interrupts.take_pending() == (Stop() if is_stopped else None)
    assert interrupts.is_set() == is_stopped


@pytest.mark.parametrize(
    ("first", "second", "pending"),
    [
        (Restart((1,)), Restart((2,)), Restart((1, 2))),
        (Restart((1,)), Respond("A.", "ada", (2,)), Respond("A.", "ada", (1, 2))),
        (Respond("A.", "ada", (1,)), Restart((2,)), Respond("A.", "ada", (1, 2))),
        (Stop(), Restart((1,)), Stop()),
        (Restart((1,)), Stop(), Stop()),
    ],
)
def test_pending_interrupt_has_the_ids_of_those_that_it_outdoes(first, second, pending):
    interrupts = Interrupts()
    interrupts.interrupt(first)
    interrupts.interrupt(second)
    assert interrupts.pending == pending


def test_a_stop_is_worse_than_a_response_and_that_than_a_restart():
    assert Stop.SEVERITY > Respond.SEVERITY > Restart.SEVERITY


def test_a_call_meets_the_interrupts_of_its_turn():
    turn = Interrupts()
    call = CallInterrupts(turn)
    assert not call.is_set()
    turn.interrupt(Restart())
    assert call.is_set()
    assert call.pending == Restart()


def test_call_interrupts_end_waits_leaves_the_turn_uninterrupted():
    turn = Interrupts()
    call = CallInterrupts(turn)
    call.end_waits()
    assert call.is_set()
    assert call.pending is None
    assert not turn.is_set()


@pytest.mark.parametrize("of_the_turn", [True, False])
async def test_a_call_waits_for_either_and_leaves_nothing_behind(of_the_turn):
    turn = Interrupts()
    call = CallInterrupts(turn)
    wait_task = asyncio.create_task(call.wait())
    await asyncio.sleep(0)
    if of_the_turn:
        turn.interrupt(Stop())
    else:
        call.end_waits()
    await wait_task
    assert not other_tasks()


async def test_a_call_that_no_longer_waits_leaves_nothing_behind():
    wait_task = asyncio.create_task(CallInterrupts(Interrupts()).wait())
    await asyncio.sleep(0)
    wait_task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await wait_task
    assert not other_tasks()


def test_take_pending_joins_texts_of_two_responses():
    interrupts = Interrupts()
    interrupts.interrupt(Respond("First.", "ada"))
    interrupts.interrupt(Respond("", "eve"))
    interrupts.interrupt(Respond("Second.", "eve"))
    assert interrupts.take_pending() == Respond("First.\n\nSecond.", "eve")
