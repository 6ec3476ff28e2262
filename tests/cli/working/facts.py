"""Facts about jobs and workers: run by ``test_work``, in a process with PostgreSQL and workers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Status
from procrastinate.manager import JobManager
from psycopg import OperationalError

from jpweb.cli import worker
from jpweb.cli.worker import Worker, WorkerCallbacks
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.run_queue import job_engine, jobs

pytestmark = pytest.mark.django_db(transaction=True)
SOON = 20


def rows(query: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchall() if cursor.description else []


def states() -> list[str]:
    """Return the state of each job."""
    return [state for (state,) in rows("SELECT status::text FROM procrastinate_jobs ORDER BY id")]


@pytest.fixture(autouse=True)
def empty(transactional_db: None):
    rows("DELETE FROM procrastinate_jobs")
    rows("DELETE FROM procrastinate_workers")
    connection.close()


@dataclass
class Hands:
    """Executes runs by waiting for a word; notes what happens to them."""

    started_ids: list[int] = field(default_factory=list)
    end_notes: list[str] = field(default_factory=list)
    word: asyncio.Event = field(default_factory=asyncio.Event)
    at_once: int = 0
    max_running: int = 0

    async def see_through(self, run_id: int) -> None:
        if f"{run_id} done" in self.end_notes:
            return  # there is nothing to take
        self.started_ids.append(run_id)
        self.at_once += 1
        self.max_running = max(self.max_running, self.at_once)
        try:
            await self.word.wait()
            self.end_notes.append(f"{run_id} done")
        except asyncio.CancelledError:
            self.end_notes.append(f"{run_id} let go")
            raise
        finally:
            self.at_once -= 1

    async def let_go(self) -> None:
        self.end_notes.append("left")


@asynccontextmanager
async def working(hands: Hands, limit: int = 5, **background: Any) -> AsyncIterator[Worker]:
    """Let a worker work, and stop it."""
    stop = asyncio.Event()
    executor = WorkerCallbacks(hands.see_through, hands.let_go, background)
    worker = Worker(executor, limit)
    task = asyncio.create_task(worker.run_until_stopped(stop))
    try:
        yield worker
    finally:
        stop.set()
        async with asyncio.timeout(SOON):
            await task


async def eventually(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(SOON):
        while not await run_in_db_thread(condition):  # noqa: ASYNC110  the database cannot set an event
            await asyncio.sleep(0.02)


def listens() -> list[Any]:
    """Tell whether somebody hears of new jobs."""
    return rows(
        "SELECT pid FROM pg_stat_activity "
        "WHERE datname = current_database() AND strpos(query, 'LISTEN') = 1"
    )


@pytest.fixture
def told_only(monkeypatch: pytest.MonkeyPatch):
    """Nobody looks by himself: what is heard was told."""
    monkeypatch.setattr(worker, "QUEUE_POLL_SECONDS", 3600.0)


def test_a_job_comes_with_its_transaction_or_not_at_all():
    with transaction.atomic():
        jobs.enqueue_job(1)
        assert states() == ["todo"]
        transaction.set_rollback(True)
    assert states() == []
    jobs.enqueue_job(1)
    assert rows("SELECT args, lock, queueing_lock FROM procrastinate_jobs") == [
        ('{"run_id": 1}', None, None)
    ]


async def test_worker_receives_a_job_and_deletes_it_when_the_run_ends(told_only: None):
    hands = Hands()
    async with working(hands):
        await eventually(listens)
        await run_in_db_thread(jobs.enqueue_job, 7)
        await eventually(lambda: hands.started_ids == [7])
        assert await run_in_db_thread(states) == ["doing"]
        hands.word.set()
        await eventually(lambda: hands.end_notes and not states())
    assert await run_in_db_thread(rows, "SELECT id FROM procrastinate_workers") == []


async def test_worker_executes_at_most_its_concurrency():
    hands = Hands()
    for key in range(6):
        await run_in_db_thread(jobs.enqueue_job, key)
    async with working(hands, limit=2):
        await eventually(lambda: len(hands.started_ids) == 2)
        hands.word.set()
        await eventually(lambda: len(hands.end_notes) == 6)
    assert hands.max_running == 2


async def test_stopped_worker_releases_and_requeues_its_jobs():
    hands, other_hands = Hands(), Hands()
    await run_in_db_thread(jobs.enqueue_job, 7)
    async with working(hands):
        await eventually(lambda: hands.started_ids)
    assert hands.end_notes == ["7 let go", "left"], "let go of before it leaves"
    assert await run_in_db_thread(states) == ["todo"]
    async with working(other_hands):
        await eventually(lambda: other_hands.started_ids == [7])
        other_hands.word.set()
        await eventually(lambda: not states())


async def test_a_job_whose_worker_is_silent_is_offered_again():
    async def execute_never(_run_id: int) -> None:
        raise AssertionError

    await run_in_db_thread(jobs.enqueue_job, 7)
    async with job_engine.open_engine(execute_never) as queue:
        dead = await queue.job_manager.register_worker()
        job = await queue.job_manager.fetch_job(queues=None, worker_id=dead)
        assert job is not None
        assert job.status == Status.DOING.value
        assert await job_engine.retry_stalled_jobs(queue, 10) == 0, "it may live"
        await run_in_db_thread(
            rows, "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '11 s'"
        )
        assert await job_engine.retry_stalled_jobs(queue, 10) == 1
        assert await run_in_db_thread(states) == ["todo"]
        assert await run_in_db_thread(rows, "SELECT id FROM procrastinate_workers") == []
        assert await job_engine.retry_stalled_jobs(queue, 10) == 0


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Tells that the queue has lost the connection on which it hears of jobs, for good."""
    listen, lost_event = JobManager.listen_for_jobs, threading.Event()

    async def listen_and_note(*args: Any, **options: Any) -> None:
        try:
            await listen(*args, **options)
        except ConnectorException:
            lost_event.set()
            raise

    monkeypatch.setattr(JobManager, "listen_for_jobs", listen_and_note)
    return lost_event


def refuse_connections(lost_event: threading.Event) -> None:
    """Let nobody into the database until its queue has noticed."""
    params, name = connection.get_connection_params(), connection.settings_dict["NAME"]
    server_params = {key: params[key] for key in ("host", "port", "user")} | {"dbname": "postgres"}
    with psycopg.connect(**server_params, autocommit=True) as admin:
        statement = "ALTER DATABASE {} ALLOW_CONNECTIONS {}"
        admin.execute(statement.format(name, "false"))
        try:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )
            assert lost_event.wait(SOON)
        finally:
            admin.execute(statement.format(name, "true"))


async def test_a_worker_hears_of_runs_again_after_an_outage(deaf: threading.Event, told_only: None):
    hands = Hands()
    async with working(hands):
        await eventually(listens)
        await run_in_db_thread(jobs.enqueue_job, 7)
        await eventually(lambda: hands.started_ids == [7])
        await asyncio.to_thread(refuse_connections, deaf)
        await eventually(listens)
        await run_in_db_thread(jobs.enqueue_job, 8)
        await eventually(lambda: 8 in hands.started_ids)
        assert hands.end_notes == [], "the first goes on"
        hands.word.set()
        await eventually(lambda: not states())


async def test_runs_go_on_when_their_worker_is_taken_for_dead():
    hands = Hands()
    async with working(hands):
        await run_in_db_thread(jobs.enqueue_job, 7)
        await eventually(lambda: hands.started_ids == [7])
        await run_in_db_thread(rows, "DELETE FROM procrastinate_workers")
        await run_in_db_thread(jobs.enqueue_job, 8)
        await eventually(lambda: 8 in hands.started_ids)
        assert hands.end_notes == [], "the first goes on"
        assert hands.started_ids == [7, 8], "and was not begun twice"
        hands.word.set()
        await eventually(lambda: not states())
    assert sorted(hands.end_notes) == ["7 done", "8 done", "left"]


async def test_a_run_that_was_being_put_down_when_its_job_came_is_taken_up_then():
    hands, put_down = Hands(), asyncio.Event()
    hands.word.set()

    async def see_through(run_id: int) -> None:
        if put_down.is_set():
            await hands.see_through(run_id)
        else:
            hands.started_ids.append(run_id)
            await put_down.wait()

    stop = asyncio.Event()
    worker = Worker(WorkerCallbacks(see_through, hands.let_go, {}), 5)
    task = asyncio.create_task(worker.run_until_stopped(stop))
    await run_in_db_thread(jobs.enqueue_job, 7)
    await eventually(lambda: hands.started_ids == [7])
    await run_in_db_thread(jobs.enqueue_job, 7)
    await eventually(lambda: states() == ["doing", "doing"])
    put_down.set()
    await eventually(lambda: "7 done" in hands.end_notes)
    stop.set()
    await asyncio.wait_for(task, SOON)
    assert hands.started_ids == [7, 7]


async def test_a_job_ends_on_record_however_long_the_database_is_away(
    monkeypatch: pytest.MonkeyPatch,
):
    finish, failures = JobManager.finish_job, [OperationalError("away"), OperationalError("still")]

    async def away_at_first(*args: Any) -> None:
        if failures:
            raise ConnectorException from failures.pop()
        await finish(*args)

    monkeypatch.setattr(JobManager, "finish_job", away_at_first)
    monkeypatch.setattr(job_engine, "RETRY_DELAY_SECONDS", 0.01)
    hands = Hands()
    hands.word.set()
    async with working(hands):
        await run_in_db_thread(jobs.enqueue_job, 7)
        await eventually(lambda: hands.started_ids == [7] and not states())
    assert failures == []


async def test_worker_leaves_a_job_that_another_worker_has():
    hands = Hands()
    async with working(hands):
        await run_in_db_thread(jobs.enqueue_job, 7)
        await eventually(lambda: hands.started_ids == [7])
        await run_in_db_thread(rows, "UPDATE procrastinate_jobs SET status = 'failed'")
        hands.word.set()
        await run_in_db_thread(jobs.enqueue_job, 8)
        await eventually(lambda: hands.end_notes == ["7 done", "8 done"] and states() == ["failed"])


@pytest.mark.parametrize(
    ("error", "level", "message"),
    [
        (ValueError("broken"), "ERROR", "Run 7 failed in this worker and is left to other workers"),
        # An outage is expected: one line, without a traceback.
        (DATABASE_UNAVAILABLE[0]("gone"), "WARNING", "Run 7 is left to other workers: gone"),
    ],
)
async def test_a_run_that_breaks_is_logged_and_its_job_does_not_come_back(
    caplog: pytest.LogCaptureFixture, error: Exception, level: str, message: str
):
    class BrokenHands(Hands):
        async def see_through(self, run_id: int) -> None:
            self.started_ids.append(run_id)
            raise error

    hands = BrokenHands()
    async with working(hands):
        await run_in_db_thread(jobs.enqueue_job, 7)
        await eventually(lambda: hands.started_ids and not states())
    assert hands.started_ids == [7]
    records = [record for record in caplog.records if record.name == worker.__name__]
    assert [(record.levelname, record.getMessage()) for record in records] == [(level, message)]
    assert bool(records[0].exc_info) is (level == "ERROR")


async def test_side_tasks_end_with_the_worker():
    steps: list[str] = []

    async def beat() -> None:
        steps.append("began")
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("ended")

    async with working(Hands(), beat=beat):
        await eventually(lambda: steps)
    assert steps == ["began", "ended"]


async def test_worker_cancels_side_tasks_at_the_shutdown_timeout(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(worker, "SHUTDOWN_TIMEOUT_SECONDS", 0.0)
    end_event = asyncio.Event()

    async def beat() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            end_event.set()

    async with working(Hands(), beat=beat):
        await eventually(listens)
    async with asyncio.timeout(SOON):
        await end_event.wait()


async def test_worker_does_not_wait_for_tasks_that_do_not_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(worker, "SHUTDOWN_TIMEOUT_SECONDS", 0.5)

    class Stubborn(Hands):
        async def let_go(self) -> None:
            await asyncio.Event().wait()

    async with working(Stubborn()):
        pass  # so that the queue, which has not begun, ends at once
    assert "did not stop in time" in caplog.text
