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
    Wire,
    found,
    parked,
    run_of,
)
from tests.runtime.playing import Scene, done, eventually, waiting
from tests.store.making import decider


@pytest.mark.parametrize("state", [RunState.PARKED, RunState.QUEUED, RunState.RUNNING])
async def test_a_run_that_nobody_executes_comes_to_take_its_secret(
    scene: Scene,
    wire: Wire,
    web: SecretChannel,
    worker: SecretChannel,
    looks: Looks,
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
        await eventually(lambda: found(wire.woken))
    await looks.wait()
    assert wire.woken == ([run_of(row)] if state == RunState.PARKED else [])
    assert wire.secrets() == []
    if state != RunState.RUNNING:
        assert await run_in_db_thread(leases.acquire_lease, run_of(row), WORKER, 60)
    call = await waiting(row, resolution.wait_for_secret)
    await done(answer)
    assert await done(call) == CANARY


@pytest.mark.usefixtures("impatient")
async def test_a_run_that_does_not_come_in_time_drops_the_secret(
    scene: Scene, wire: Wire, web: SecretChannel
):
    row = await scene.question(Secret())
    await parked(row)
    with pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert wire.woken == [run_of(row)], "woken once"
    assert (await scene.reload(row)).state == "open"


async def test_for_a_run_that_is_over_nobody_waits(
    scene: Scene, wire: Wire, web: SecretChannel, looks: Looks
):
    row = await scene.question(Secret())
    await run_in_db_thread(Run.objects.filter(pk=run_of(row)).update, state=RunState.LOST)
    before = looks.count
    with pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert looks.count == before + 1
    assert (wire.woken, wire.sent) == ([], [])


async def test_a_process_that_died_is_not_waited_for_once_another_waits(
    scene: Scene, wire: Wire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    await run_in_db_thread(
        secret_waiters.register_waiter, row.pk, "dead#1", SealKey("q").public_key
    )
    answer = asyncio.create_task(web.deliver_secret(row.pk, CANARY, decider(scene.ada)))
    await eventually(lambda: found(wire.sent))
    call = await waiting(row, resolution.wait_for_secret)
    await done(answer)
    assert await done(call) == CANARY
    assert [name for name, data in wire.sent if "sealed" in data] == ["dead#1", WORKER]


async def test_a_run_put_down_while_the_secret_comes_is_woken_and_has_it(
    scene: Scene, wire: Wire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    call = await waiting(row, resolution.wait_for_secret)

    async def put_down() -> None:
        await parked(row)
        call.cancel()

    tasks: list[asyncio.Task[None]] = []

    def as_it_comes(data: dict[str, Any]) -> list[dict[str, Any]]:
        if "sealed" in data and not tasks:
            tasks.append(asyncio.create_task(put_down()))
        return [data]

    wire.does = as_it_comes
    answer = asyncio.create_task(web.deliver_secret(row.pk, CANARY, decider(scene.ada)))
    await eventually(lambda: found(wire.woken))
    assert await run_in_db_thread(leases.acquire_lease, run_of(row), WORKER, 60)
    next_call = await waiting(row, resolution.wait_for_secret)
    await done(answer)
    assert await done(next_call) == CANARY
    with pytest.raises((asyncio.CancelledError, LeaseLost)):
        await done(call)


@pytest.mark.usefixtures("impatient")
async def test_a_process_that_has_lost_the_run_takes_no_secret(
    scene: Scene, wire: Wire, web: SecretChannel, worker: SecretChannel
):
    """Its call still waits, and another process has the run already."""
    row = await scene.question(Secret())
    late = await waiting(row, resolution.wait_for_secret)
    await run_in_db_thread(Run.objects.filter(pk=run_of(row)).update, state=RunState.QUEUED)
    taken = await run_in_db_thread(leases.acquire_lease, run_of(row), "worker#2", 60)
    assert taken is not None
    with pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    with pytest.raises(LeaseLost):
        await done(late)
    await eventually(lambda: found(wire.became()))
    assert wire.became() == ["no_call"]
    assert (await scene.reload(row)).state == "open"
