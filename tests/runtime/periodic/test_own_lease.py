"""The lease that tells of each server and worker that it runs."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

import pytest

from jpweb.runtime import process_identity
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.periodic import scheduler
from jpweb.runtime.periodic.scheduler import LeaderScheduler
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.maintenance import task_leases
from jpweb.store.models import TaskLease
from tests.runtime.playing import cut_off, eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def schedulers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the test schedulers that have not run."""
    name = process_identity.get_process_name()
    for attribute in ("_scheduler", "_server_scheduler"):
        fresh_scheduler = LeaderScheduler(name, (scheduler.OWN_LEASE,))
        monkeypatch.setattr(scheduler, attribute, fresh_scheduler)


async def is_any_held() -> bool:
    return await run_in_db_thread(task_leases.is_any_held)


async def test_web_server_beside_workers_holds_a_lease_until_it_stops():
    task = asyncio.create_task(scheduler.hold_own_lease())
    await eventually(is_any_held)
    lease = await run_in_db_thread(TaskLease.objects.get)
    assert (lease.name, lease.holder) == (
        scheduler.OWN_LEASE.name,
        process_identity.get_process_name(),
    )
    await scheduler.stop_scheduler()
    assert not await run_in_db_thread(TaskLease.objects.exists)
    assert not task.done(), "the supervisor would start it again while the server stops"
    await cut_off(task)


async def test_stopping_without_a_database_is_no_problem(monkeypatch: pytest.MonkeyPatch):
    def raise_unavailable(*_args: Any) -> NoReturn:
        raise DATABASE_UNAVAILABLE[0]("the server closed the connection")

    task = asyncio.create_task(scheduler.hold_own_lease())
    await eventually(is_any_held)
    monkeypatch.setattr(task_leases, "release_all", raise_unavailable)
    await scheduler.stop_scheduler()
    await cut_off(task)
