from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from threading import Event
from typing import Any, NoReturn

import pytest
from django.db.models.functions import Now

from jpweb.runtime import process_identity, supervisor
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.periodic import scheduler
from jpweb.runtime.periodic.scheduler import LeaderScheduler, PeriodicTask
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.maintenance import task_leases
from jpweb.store.models import TaskLease as Row
from tests.runtime.playing import SOON, cut_off, eventually, wait_for_task

pytestmark = pytest.mark.django_db(transaction=True)
#: Seconds: a lease that no test sees the end of; one that a test waits for; between two looks;
#: a lease that ends within a test, but not because the machine is slow.
LONG, SHORT, BEAT, PATIENT = 3600.0, 0.6, 0.02, 3.0


@pytest.fixture(autouse=True)
def short_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "MIN_BACKOFF_SECONDS", 0.001)


class Work:
    """What a duty does: counts how often it began, and which processes are at it now."""

    def __init__(self) -> None:
        self.at_it: list[str] = []
        self.most = 0
        self.began: list[str] = []

    def of(self, process: str) -> PeriodicTask:
        async def work() -> None:
            self.began.append(process)
            self.at_it.append(process)
            self.most = max(self.most, len(self.at_it))
            try:
                await asyncio.Event().wait()
            finally:
                self.at_it.remove(process)

        return PeriodicTask("works", work, interval_seconds=0)

    async def is_left(self) -> bool:
        return not self.at_it

    async def by(self, process: str) -> None:
        """Return once this process is at it."""

        async def does_work() -> bool:
            return self.at_it == [process]

        await eventually(does_work)


@asynccontextmanager
async def run_scheduler(
    name: str, *tasks: PeriodicTask, lease: float = LONG
) -> AsyncIterator[tuple[LeaderScheduler, asyncio.Task[None]]]:
    """Run a process that keeps these duties until the block ends, where it is cut off."""
    keeper = LeaderScheduler(name, tasks, lease)
    keeper._renewal_seconds = BEAT
    task = asyncio.create_task(keeper.run_until_stopped())
    try:
        yield keeper, task
    finally:
        await cut_off(task)


async def holder() -> str:
    return (await run_in_db_thread(Row.objects.get)).holder


async def test_scheduler_runs_a_task_in_one_process_at_a_time(monkeypatch: pytest.MonkeyPatch):
    work, refusals, hold = Work(), [], task_leases.acquire_or_renew

    def note_refusal(name: str, process: str, lease_seconds: float) -> bool:
        lease = hold(name, process, lease_seconds)
        if not lease:
            refusals.append(process)
        return lease

    async def often() -> bool:
        return len(refusals) > 5

    monkeypatch.setattr(task_leases, "acquire_or_renew", note_refusal)
    async with run_scheduler("one", work.of("one")):
        await work.by("one")
        async with run_scheduler("two", work.of("two")):
            await eventually(often)
            assert work.at_it == ["one"]
    assert set(refusals) == {"two"}
    assert (work.began, work.most, work.at_it) == (["one"], 1, [])


async def test_the_second_takes_over_when_the_first_is_killed():
    work = Work()
    async with run_scheduler("one", work.of("one")) as (keeper, first):
        await work.by("one")
        async with run_scheduler("two", work.of("two")):
            await cut_off(first)
            await keeper._finish_renewal()  # a thread outlives the task, but no killed process
            assert await holder() == "one"
            await run_in_db_thread(Row.objects.update, lease_until=Now() - timedelta(seconds=1))
            await work.by("two")
    assert work.began == ["one", "two"]


async def test_the_second_takes_over_at_once_when_the_first_leaves():
    work = Work()
    async with run_scheduler("one", work.of("one")) as (keeper, task):
        await work.by("one")
        async with run_scheduler("two", work.of("two")):
            await keeper.stop()
            assert "one" not in work.at_it
            await wait_for_task(task)
            await work.by("two")
    assert work.most == 1


async def test_renewal_under_way_does_not_outlive_the_lease_that_is_released(
    monkeypatch: pytest.MonkeyPatch,
):
    renew = task_leases.acquire_or_renew_all
    may_renew, renewing, renewed = Event(), Event(), Event()
    may_renew.set()

    def renew_late(*args: Any) -> set[str]:
        is_late = not may_renew.is_set()
        if is_late:
            renewing.set()
            may_renew.wait(10)
        names = renew(*args)
        if is_late:
            renewed.set()
        return names

    monkeypatch.setattr(task_leases, "acquire_or_renew_all", renew_late)
    work = Work()
    async with run_scheduler("one", work.of("one")) as (keeper, _):
        await work.by("one")
        may_renew.clear()
        await asyncio.to_thread(renewing.wait, 10)
        stopping = asyncio.create_task(keeper.stop())
        await eventually(work.is_left)
        may_renew.set()
        await asyncio.to_thread(renewed.wait, 10)
        await stopping
        assert not await run_in_db_thread(Row.objects.exists)


async def test_leaving_without_having_run_asks_no_database(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(task_leases, "release_all", raise_unavailable)
    await LeaderScheduler("nobody", ()).stop()


async def test_work_ends_when_another_holds_the_duty():
    work = Work()
    async with run_scheduler("one", work.of("one")):
        await work.by("one")
        await run_in_db_thread(
            Row.objects.update, holder="two"
        )  # its lease was over, and it did not know
        await eventually(work.is_left)


def raise_unavailable(*_args: Any) -> NoReturn:
    raise DATABASE_UNAVAILABLE[0]("the server closed the connection")


async def test_scheduler_task_ends_with_its_lease_during_a_database_outage(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.WARNING)
    work = Work()
    async with run_scheduler("one", work.of("one"), lease=SHORT):
        await work.by("one")
        with monkeypatch.context() as patch:
            patch.setattr(task_leases, "acquire_or_renew_all", raise_unavailable)
            await eventually(work.is_left)
        await work.by("one")
    assert set(work.began) == {"one"}
    assert {record.getMessage() for record in caplog.records} == {
        "Process one stops works: its leases have expired"
    }


async def test_a_renewal_that_fails_after_its_deadline_is_no_error_of_the_server(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    work, fail_event = Work(), asyncio.Event()

    async def fail_late(*_args: Any) -> bool:
        has_lease = bool(work.at_it)
        await eventually(work.is_left)
        if has_lease:
            fail_event.set()
        return raise_unavailable()

    gc.collect()  # tasks of earlier tests report theirs now
    caplog.clear()
    async with run_scheduler("one", work.of("one"), lease=SHORT):
        await work.by("one")
        monkeypatch.setattr(scheduler, "run_in_background_thread", fail_late)
        await asyncio.wait_for(fail_event.wait(), SOON)
    gc.collect()  # asyncio reports a forgotten error when its task is freed
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_work_ends_with_its_lease_while_the_database_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
):
    work = Work()

    async def silent(*_args: Any) -> bool:
        await asyncio.Event().wait()
        return True

    async with run_scheduler("one", work.of("one"), lease=SHORT):
        await work.by("one")
        monkeypatch.setattr(scheduler, "run_in_background_thread", silent)
        await eventually(work.is_left)


async def test_scheduler_task_continues_during_a_short_database_outage(
    monkeypatch: pytest.MonkeyPatch,
):
    work, hold, calls = Work(), task_leases.acquire_or_renew_all, 0

    def sometimes(*args: Any) -> set[str]:
        nonlocal calls
        calls += 1
        return raise_unavailable() if calls % 2 else hold(*args)

    async def outlived() -> bool:
        return (await run_in_db_thread(Row.objects.get)).lease_until > lease_end + timedelta(
            seconds=PATIENT
        )

    async with run_scheduler("one", work.of("one"), lease=PATIENT):
        await work.by("one")
        lease_end = (await run_in_db_thread(Row.objects.get)).lease_until
        monkeypatch.setattr(task_leases, "acquire_or_renew_all", sometimes)
        await eventually(outlived)
        assert work.at_it == ["one"]
    assert calls > 4
    assert work.began == ["one"]


async def test_a_duty_that_raises_is_tried_again_and_ends_no_other(
    caplog: pytest.LogCaptureFixture,
):
    work, tries = Work(), 0

    async def breaks() -> None:
        nonlocal tries
        tries += 1
        raise ZeroDivisionError("broken")

    async def several() -> bool:
        return tries > 2

    async with run_scheduler(
        "one", PeriodicTask("breaks", breaks, interval_seconds=0.01), work.of("one")
    ):
        await eventually(several)
        await work.by("one")
    assert work.began == ["one"]
    assert "breaks failed" in caplog.text
    assert "ZeroDivisionError: broken" in caplog.text


async def test_scheduler_retries_a_lease_that_raises(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    work, tries = Work(), 0

    def broken(*_args: Any) -> bool:
        nonlocal tries
        tries += 1
        raise ZeroDivisionError("broken")

    async def several() -> bool:
        return tries > 1

    keeper = LeaderScheduler("one", [work.of("one")], LONG)
    keeper._renewal_seconds = BEAT
    task = asyncio.create_task(supervisor.run_with_restart("duties", keeper.run_until_stopped))
    await work.by("one")
    with monkeypatch.context() as patch:
        patch.setattr(task_leases, "acquire_or_renew_all", broken)
        await eventually(several)
        assert work.at_it == [], "nobody knows whether the lease is held"
    await work.by("one")
    await cut_off(task)
    assert "duties failed" in caplog.text


async def test_work_that_is_done_in_passes_begins_again():
    passes = 0

    async def work() -> int:
        nonlocal passes
        passes += 1
        if passes == 2:
            raise_unavailable()
        return passes

    async def several() -> bool:
        return passes > 3

    async with run_scheduler("one", PeriodicTask("works", work, interval_seconds=0.01)):
        await eventually(several)


@pytest.mark.parametrize(("way", "other_names"), [("embedded", set()), ("workers", {"tidy"})])
async def test_a_server_takes_over_at_once_from_its_own_that_was_killed(
    monkeypatch: pytest.MonkeyPatch, settings: Any, way: str, other_names: set[str]
):
    """Where others may live beside it, it waits for the end of their leases."""
    settings.RUN_MODE = way
    monkeypatch.setattr(scheduler, "_scheduler", LeaderScheduler("here", [Work().of("here")]))
    await run_in_db_thread(
        task_leases.acquire_or_renew,
        "tidy",
        f"{process_identity.get_installation_name()}#killed",
        60,
    )
    task = asyncio.create_task(scheduler.run_scheduler())

    async def does_work() -> bool:
        return await run_in_db_thread(Row.objects.filter(name="works").exists)

    await eventually(does_work)
    names = await run_in_db_thread(list, Row.objects.values_list("name", flat=True))
    assert set(names) == {"works"} | other_names
    await cut_off(task)


async def test_beginning_without_a_database_is_no_problem(
    monkeypatch: pytest.MonkeyPatch, settings: Any
):
    settings.RUN_MODE = "embedded"
    work = Work()
    monkeypatch.setattr(scheduler, "_scheduler", LeaderScheduler("one", [work.of("one")]))
    monkeypatch.setattr(task_leases, "expire_installation", raise_unavailable)
    task = asyncio.create_task(scheduler.run_scheduler())
    await work.by("one")
    await cut_off(task)


async def test_the_duties_of_a_process_are_done_and_left(monkeypatch: pytest.MonkeyPatch):
    async def look() -> bool:
        rows = await run_in_db_thread(list, Row.objects.values_list("name", flat=True))
        return set(rows) == {task.name for task in scheduler.PERIODIC_TASKS}

    keeper = LeaderScheduler("here", scheduler.PERIODIC_TASKS)
    monkeypatch.setattr(scheduler, "_scheduler", keeper)
    log_lines: list[str] = []
    duties = supervisor.run_with_restart(
        "duties", scheduler.run_scheduler, log_line=log_lines.append
    )
    task = asyncio.create_task(duties)
    await eventually(look)
    await scheduler.stop_scheduler()
    assert await run_in_db_thread(Row.objects.count) == 0
    for _ in range(10):
        await asyncio.sleep(0)
    await cut_off(task)
    assert log_lines == []


async def test_duties_of_a_process_are_held_in_one_trip(monkeypatch: pytest.MonkeyPatch):
    name_sets: list[set[str]] = []

    def note_names(names: set[str], *_args: Any) -> set[str]:
        name_sets.append(set(names))
        return set(names)

    async def rounds() -> bool:
        return len(name_sets) > 2

    monkeypatch.setattr(task_leases, "acquire_or_renew_all", note_names)
    async with run_scheduler(
        "one", *(PeriodicTask(name, asyncio.Event().wait, interval_seconds=0) for name in "abc")
    ):
        await eventually(rounds)
    assert name_sets[:3] == [{"a", "b", "c"}] * 3
