"""A process takes what it can manage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Event

import pytest
from django.conf import settings

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import admission_control
from jpweb.runtime.execution.admission_control import MAX_RUNS_PER_SAMPLE, AdmissionControl
from tests.runtime.playing import eventually


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission_control, "SAMPLE_INTERVAL_SECONDS", 0.01)
    monkeypatch.setattr(settings, "LEASE_SECONDS", 4.0)


@asynccontextmanager
async def measured() -> AsyncIterator[AdmissionControl]:
    admission = AdmissionControl()
    measuring = asyncio.create_task(admission.measure_delays(lambda: False))
    yield admission
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


async def eventually_busy(admission: AdmissionControl) -> None:
    async def is_busy() -> bool:
        return admission.is_busy()

    await eventually(is_busy)


async def test_admit_while_the_store_is_stuck_waits_until_it_is_not(db: None):
    async with measured() as admission:
        async with store_stuck():
            await eventually_busy(admission)
            admitting = asyncio.create_task(admission.wait_for_admission(lambda: False))
            await asyncio.sleep(0)
            assert not admitting.done()
        await asyncio.wait_for(admitting, 10)
        assert not admission.is_busy()


async def test_admit_of_an_idle_process_never_waits(db: None):
    async with measured() as admission, store_stuck():
        await eventually_busy(admission)
        await admission.wait_for_admission(lambda: True)


async def test_wait_for_admission_admits_a_limited_number_between_samples():
    admission = AdmissionControl()
    for _ in range(MAX_RUNS_PER_SAMPLE):
        await admission.wait_for_admission(lambda: False)
    waiter = asyncio.create_task(admission.wait_for_admission(lambda: False))
    await asyncio.sleep(0)
    assert not waiter.done()
    admission._note_delay(0.0)
    await waiter


async def test_measure_of_an_idle_process_begins_once_it_wakes(monkeypatch: pytest.MonkeyPatch):
    trips, executed = 0, False

    async def count_trip(_function: object) -> None:
        nonlocal trips
        trips += 1

    async def have_begun() -> bool:
        return trips > 1

    monkeypatch.setattr(admission_control, "run_in_db_thread", count_trip)
    admission = AdmissionControl()
    measuring = asyncio.create_task(admission.measure_delays(lambda: not executed))
    for _ in range(10):
        await asyncio.sleep(0)
    assert trips == 0
    executed = True
    admission.start_measuring()
    await eventually(have_begun)
    measuring.cancel()
    await asyncio.gather(measuring, return_exceptions=True)
