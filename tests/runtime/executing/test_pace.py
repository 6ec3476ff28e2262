"""A process takes what it can manage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Event

import pytest
from django.conf import settings

from jpweb.runtime.crossing import in_store
from jpweb.runtime.executing import pace
from jpweb.runtime.executing.pace import ADMITTED_PER_SAMPLE, Pace
from tests.runtime.playing import eventually


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "SAMPLE_INTERVAL_SECONDS", 0.01)
    monkeypatch.setattr(settings, "LEASE", 4.0)


@asynccontextmanager
async def measured() -> AsyncIterator[Pace]:
    made = Pace()
    measuring = asyncio.create_task(made.measure(lambda: False))
    yield made
    measuring.cancel()
    await asyncio.gather(measuring, return_exceptions=True)


@asynccontextmanager
async def store_stuck() -> AsyncIterator[None]:
    """Keep the thread that store calls share from doing anything else."""
    go_on = Event()
    stuck = asyncio.create_task(in_store(go_on.wait, 30))
    try:
        yield
    finally:
        go_on.set()
        await stuck


async def eventually_busy(made: Pace) -> None:
    async def is_busy() -> bool:
        return made.is_busy()

    await eventually(is_busy)


async def test_admit_while_the_store_is_stuck_waits_until_it_is_not(db: None):
    async with measured() as made:
        async with store_stuck():
            await eventually_busy(made)
            admitting = asyncio.create_task(made.admit(lambda: False))
            await asyncio.sleep(0)
            assert not admitting.done()
        await asyncio.wait_for(admitting, 10)
        assert not made.is_busy()


async def test_admit_of_an_idle_process_never_waits(db: None):
    async with measured() as made, store_stuck():
        await eventually_busy(made)
        await made.admit(lambda: True)


async def test_admit_lets_in_some_between_two_samples():
    made = Pace()
    for _ in range(ADMITTED_PER_SAMPLE):
        await made.admit(lambda: False)
    more = asyncio.create_task(made.admit(lambda: False))
    await asyncio.sleep(0)
    assert not more.done()
    made._note(0.0)
    await more


async def test_measure_of_an_idle_process_begins_once_it_wakes(monkeypatch: pytest.MonkeyPatch):
    trips, executed = 0, False

    async def count_trip(_function: object) -> None:
        nonlocal trips
        trips += 1

    async def have_begun() -> bool:
        return trips > 1

    monkeypatch.setattr(pace, "in_store", count_trip)
    made = Pace()
    measuring = asyncio.create_task(made.measure(lambda: not executed))
    for _ in range(10):
        await asyncio.sleep(0)
    assert trips == 0
    executed = True
    made.wake()
    await eventually(have_begun)
    measuring.cancel()
    await asyncio.gather(measuring, return_exceptions=True)
