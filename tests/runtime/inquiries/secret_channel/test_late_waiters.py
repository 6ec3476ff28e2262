"""Calls that come to wait later, or elsewhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import resolution
from jpweb.runtime.inquiries.secret_channels import SealKey, SecretChannel
from jpweb.runtime.inquiries.secret_handover import NoWaitingCall
from jpweb.store.choices import RunState
from jpweb.store.errors import LeaseLost
from jpweb.store.models import Run
from jpweb.store.run_queue import leases, secret_waiters
from jpweb.stream.answer_type import Secret
from tests.runtime.inquiries.secret_channel.wire import (
    CANARY,
    WORKER,
    Looks,
    ProcessWire,
    is_truthy,
    run_of,
    wait_until_parked,
)
from tests.runtime.playing import Scene, eventually, start_waiting, wait_for_task
from tests.store.making import decider


@pytest.mark.parametrize("state", [RunState.PARKED, RunState.QUEUED, RunState.RUNNING])
async def test_parked_run_resumes_to_receive_its_secret(
    scene: Scene,
    wire: ProcessWire,
    web: SecretChannel,
    worker: SecretChannel,
    look_counter: Looks,
    state: RunState,
):
    row = await scene.question(Secret())
    if state != RunState.RUNNING:  # what a process that died has left in the row
        await run_in_db_thread(
            secret_waiters.register_waiter, row.pk, "dead#1", SealKey("q").public_key
        )
    await run_in_db_thread(Run.objects.filter(pk=run_of(row)).update, state=state, lease_until=None)
    answer = asyncio.create_task(web.deliver_secret(row.pk, CANARY, decider(scene.ada)))
    if state == RunState.PARKED:
        await eventually(lambda: is_truthy(wire.woken))
    await look_counter.wait()
    assert wire.woken == ([run_of(row)] if state == RunState.PARKED else [])
    assert wire.secrets() == []
    if state != RunState.RUNNING:
        assert await run_in_db_thread(leases.acquire_lease, run_of(row), WORKER, 60)
    call = await start_waiting(row, resolution.wait_for_secret)
    await wait_for_task(answer)
    assert await wait_for_task(call) == CANARY


@pytest.mark.usefixtures("short_secret_wait")
async def test_secret_is_dropped_when_its_run_does_not_resume_in_time(
    scene: Scene, wire: ProcessWire, web: SecretChannel
):
    row = await scene.question(Secret())
    await wait_until_parked(row)
    with pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert wire.woken == [run_of(row)], "woken once"
    assert (await scene.reload(row)).state == "open"


async def test_deliver_secret_to_an_ended_run_is_refused_at_once(
    scene: Scene, wire: ProcessWire, web: SecretChannel, look_counter: Looks
):
    row = await scene.question(Secret())
    await run_in_db_thread(Run.objects.filter(pk=run_of(row)).update, state=RunState.LOST)
    before = look_counter.count
    with pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert look_counter.count == before + 1
    assert (wire.woken, wire.messages) == ([], [])


async def test_a_process_that_died_is_not_waited_for_once_another_waits(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    await run_in_db_thread(
        secret_waiters.register_waiter, row.pk, "dead#1", SealKey("q").public_key
    )
    answer = asyncio.create_task(web.deliver_secret(row.pk, CANARY, decider(scene.ada)))
    await eventually(lambda: is_truthy(wire.messages))
    call = await start_waiting(row, resolution.wait_for_secret)
    await wait_for_task(answer)
    assert await wait_for_task(call) == CANARY
    assert [name for name, data in wire.messages if "sealed" in data] == ["dead#1", WORKER]


async def test_a_run_put_down_while_the_secret_comes_is_woken_and_has_it(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)

    async def put_down() -> None:
        await wait_until_parked(row)
        call.cancel()

    tasks: list[asyncio.Task[None]] = []

    def as_it_comes(data: dict[str, Any]) -> list[dict[str, Any]]:
        if "sealed" in data and not tasks:
            tasks.append(asyncio.create_task(put_down()))
        return [data]

    wire.replace_message = as_it_comes
    answer = asyncio.create_task(web.deliver_secret(row.pk, CANARY, decider(scene.ada)))
    await eventually(lambda: is_truthy(wire.woken))
    assert await run_in_db_thread(leases.acquire_lease, run_of(row), WORKER, 60)
    next_call = await start_waiting(row, resolution.wait_for_secret)
    await wait_for_task(answer)
    assert await wait_for_task(next_call) == CANARY
    with pytest.raises((asyncio.CancelledError, LeaseLost)):
        await wait_for_task(call)


@pytest.mark.usefixtures("short_secret_wait")
async def test_a_process_that_has_lost_the_run_takes_no_secret(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel
):
    """Its call still waits, and another process has the run already."""
    row = await scene.question(Secret())
    late_call = await start_waiting(row, resolution.wait_for_secret)
    await run_in_db_thread(Run.objects.filter(pk=run_of(row)).update, state=RunState.QUEUED)
    lease = await run_in_db_thread(leases.acquire_lease, run_of(row), "worker#2", 60)
    assert lease is not None
    with pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    with pytest.raises(LeaseLost):
        await wait_for_task(late_call)
    await eventually(lambda: is_truthy(wire.list_outcomes()))
    assert wire.list_outcomes() == ["no_call"]
    assert (await scene.reload(row)).state == "open"


async def test_process_that_lost_the_run_does_not_replace_its_holders_waiter(
    scene: Scene, worker: SecretChannel
):
    row = await scene.question(Secret())
    former_run = await run_in_db_thread(Run.objects.get, pk=run_of(row))
    await run_in_db_thread(Run.objects.filter(pk=run_of(row)).update, state=RunState.QUEUED)
    assert await run_in_db_thread(leases.acquire_lease, run_of(row), "worker#2", 60)
    await run_in_db_thread(secret_waiters.register_waiter, row.pk, "worker#2", "its key")
    with pytest.raises(LeaseLost):
        await wait_for_task(
            asyncio.create_task(resolution.wait_for_secret(row, held_run=former_run))
        )
    current_row = await scene.reload(row)
    assert (current_row.waiter, current_row.seal_key) == ("worker#2", "its key")
