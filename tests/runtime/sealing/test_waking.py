"""Calls that come to wait later, or elsewhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.runtime import desk
from jpweb.runtime.crossing import in_store
from jpweb.runtime.sealing import Courier, Lock
from jpweb.runtime.secrets import NobodyWaits
from jpweb.store.errors import NotHolder
from jpweb.store.models import Run
from jpweb.store.running import leases, waiters
from jpweb.store.terms import RunState
from jpweb.stream.answers import Secret
from tests.runtime.playing import Scene, done, eventually, waiting
from tests.runtime.sealing.wire import (
    CANARY,
    WORKER,
    Looks,
    Wire,
    found,
    parked,
    run_of,
)
from tests.store.making import decider


@pytest.mark.parametrize("state", [RunState.PARKED, RunState.QUEUED, RunState.RUNNING])
async def test_a_run_that_nobody_executes_comes_to_take_its_secret(
    scene: Scene, wire: Wire, web: Courier, worker: Courier, looks: Looks, state: RunState
):
    row = await scene.question(Secret())
    if state != RunState.RUNNING:  # what a process that died has left in the row
        await in_store(waiters.wait, row.pk, "dead#1", Lock("q").public)
    await in_store(Run.objects.filter(pk=run_of(row)).update, state=state, lease_until=None)
    answer = asyncio.create_task(web.deliver(row.pk, CANARY, decider(scene.ada)))
    if state == RunState.PARKED:
        await eventually(lambda: found(wire.woken))
    await looks.wait()
    assert wire.woken == ([run_of(row)] if state == RunState.PARKED else [])
    assert wire.secrets() == []
    if state != RunState.RUNNING:
        assert await in_store(leases.take, run_of(row), WORKER, 60)
    call = await waiting(row, desk.wait_for_secret)
    await done(answer)
    assert await done(call) == CANARY


@pytest.mark.usefixtures("impatient")
async def test_a_run_that_does_not_come_in_time_drops_the_secret(
    scene: Scene, wire: Wire, web: Courier
):
    row = await scene.question(Secret())
    await parked(row)
    with pytest.raises(NobodyWaits):
        await web.deliver(row.pk, CANARY, decider(scene.ada))
    assert wire.woken == [run_of(row)], "woken once"
    assert (await scene.reload(row)).state == "open"


async def test_for_a_run_that_is_over_nobody_waits(
    scene: Scene, wire: Wire, web: Courier, looks: Looks
):
    row = await scene.question(Secret())
    await in_store(Run.objects.filter(pk=run_of(row)).update, state=RunState.LOST)
    before = looks.count
    with pytest.raises(NobodyWaits):
        await web.deliver(row.pk, CANARY, decider(scene.ada))
    assert looks.count == before + 1
    assert (wire.woken, wire.sent) == ([], [])


async def test_a_process_that_died_is_not_waited_for_once_another_waits(
    scene: Scene, wire: Wire, web: Courier, worker: Courier
):
    row = await scene.question(Secret())
    await in_store(waiters.wait, row.pk, "dead#1", Lock("q").public)
    answer = asyncio.create_task(web.deliver(row.pk, CANARY, decider(scene.ada)))
    await eventually(lambda: found(wire.sent))
    call = await waiting(row, desk.wait_for_secret)
    await done(answer)
    assert await done(call) == CANARY
    assert [name for name, data in wire.sent if "sealed" in data] == ["dead#1", WORKER]


async def test_a_run_put_down_while_the_secret_comes_is_woken_and_has_it(
    scene: Scene, wire: Wire, web: Courier, worker: Courier
):
    row = await scene.question(Secret())
    call = await waiting(row, desk.wait_for_secret)

    async def put_down() -> None:
        await parked(row)
        call.cancel()

    tasks: list[asyncio.Task[None]] = []

    def as_it_comes(data: dict[str, Any]) -> list[dict[str, Any]]:
        if "sealed" in data and not tasks:
            tasks.append(asyncio.create_task(put_down()))
        return [data]

    wire.does = as_it_comes
    answer = asyncio.create_task(web.deliver(row.pk, CANARY, decider(scene.ada)))
    await eventually(lambda: found(wire.woken))
    assert await in_store(leases.take, run_of(row), WORKER, 60)
    next_call = await waiting(row, desk.wait_for_secret)
    await done(answer)
    assert await done(next_call) == CANARY
    with pytest.raises((asyncio.CancelledError, NotHolder)):
        await done(call)


@pytest.mark.usefixtures("impatient")
async def test_a_process_that_has_lost_the_run_takes_no_secret(
    scene: Scene, wire: Wire, web: Courier, worker: Courier
):
    """Its call still waits, and another process has the run already."""
    row = await scene.question(Secret())
    late = await waiting(row, desk.wait_for_secret)
    await in_store(Run.objects.filter(pk=run_of(row)).update, state=RunState.QUEUED)
    taken = await in_store(leases.take, run_of(row), "worker#2", 60)
    assert taken is not None
    with pytest.raises(NobodyWaits):
        await web.deliver(row.pk, CANARY, decider(scene.ada))
    with pytest.raises(NotHolder):
        await done(late)
    await eventually(lambda: found(wire.became()))
    assert wire.became() == ["nobody"]
    assert (await scene.reload(row)).state == "open"
