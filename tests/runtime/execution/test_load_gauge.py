"""A process takes what it can manage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Event

import pytest
from django.conf import settings

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import load_gauge
from jpweb.runtime.execution.load_gauge import MAX_RUNS_PER_SAMPLE, AdmissionControl
from tests.runtime.playing import eventually


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_gauge, "SAMPLE_INTERVAL_SECONDS", 0.01)
    monkeypatch.setattr(settings, "LEASE", 4.0)


@asynccontextmanager
async def measured() -> AsyncIterator[AdmissionControl]:
    made = AdmissionControl()
    measuring = asyncio.create_task(made.measure_delays(lambda: False))
    yield made
    measuring.cancel()
    await asyncio.gather(measuring, return_exceptions=True)


@asynccontextmanager
async def store_stuck() -> AsyncIterator[None]:
    """Keep the thread that store calls share from doing anything else."""
    go_on = Event()
    stuck = asyncio.create_task(run_in_db_thread(go_on.wait, 30))
    try:
        yield
    finally:
        go_on.set()
        await stuck


async def eventually_busy(made: AdmissionControl) -> None:
    async def is_busy() -> bool:
        return made.is_busy()

    await eventually(is_busy)


async def test_admit_while_the_store_is_stuck_waits_until_it_is_not(db: None):
    async with measured() as made:
        async with store_stuck():
            await eventually_busy(made)
            admitting = asyncio.create_task(made.wait_for_admission(lambda: False))
            await asyncio.sleep(0)
            assert not admitting.done()
        await asyncio.wait_for(admitting, 10)
        assert not made.is_busy()


async def test_admit_of_an_idle_process_never_waits(db: None):
    async with measured() as made, store_stuck():
        await eventually_busy(made)
        await made.wait_for_admission(lambda: True)


async def test_admit_lets_in_some_between_two_samples():
    made = AdmissionControl()
    for _ in range(MAX_RUNS_PER_SAMPLE):
        await made.wait_for_admission(lambda: False)
    more = asyncio.create_task(made.wait_for_admission(lambda: False))
    await asyncio.sleep(0)
    assert not more.done()
    made._note_delay(0.0)
    await more


async def test_measure_of_an_idle_process_begins_once_it_wakes(monkeypatch: pytest.MonkeyPatch):
    trips, executed = 0, False

    async def count_trip(_function: object) -> None:
        nonlocal trips
        trips += 1

    async def have_begun() -> bool:
        return trips > 1

    monkeypatch.setattr(load_gauge, "run_in_db_thread", count_trip)
    made = AdmissionControl()
    measuring = asyncio.create_task(made.measure_delays(lambda: not executed))
    for _ in range(10):
        await asyncio.sleep(0)
    assert trips == 0
    executed = True
    made.start_measuring()
    await eventually(have_begun)
    measuring.cancel()
    await asyncio.gather(measuring, return_exceptions=True)
