"""Workers, as processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command

from tests.machine import servers
from tests.machine.ports import end_process, wait_until
from tests.machine.servers import Cluster
from tests.machine.sizes import choose_size, mark_proof
from tests.machine.templates import ROOT, inherit_environment

#: A turn that waits for somebody, and one that ends by itself.
ASKS = '/call ask_user {"question": "Go on?"}'
ENDS = "/call describe_tools {}"
STARTING_WORKERS = choose_size(2, 4)
_BEGIN = """
import asyncio, sys
from jpweb.runtime import runs
from jpweb.store import accounts, conversations
from jpweb.store.jp_files import mirror
workspace, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
owner = accounts.get_or_create_owner()
conversation = conversations.create_conversation(workspace, "A talk", owner.pk)
print(asyncio.run(runs.start_turn(conversation, owner, {text!r})).pk)
"""


@dataclass
class Works:
    """Workers on one database, and what they print."""

    folder: Path
    database: str
    settings: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        variables = {"DATABASE_URL": self.database, "JPWEB_DATA": str(self.folder / "data")}
        return inherit_environment() | variables | {"JPWEB_RUNS": "workers"} | self.settings

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a worker, and wait until it takes jobs."""
        before = self.queues()
        with self.log(len(self.processes)).open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "manage.py", "work", *arguments],
                cwd=ROOT,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        wait_until(lambda: self.queues() > before, "the worker takes jobs", 60)
        return process

    def log(self, number: int) -> Path:
        return self.folder / f"worker{number}.log"

    def queues(self) -> int:
        """Return how many workers take jobs."""
        with suppress(psycopg.Error):
            return len(self.rows("SELECT id FROM procrastinate_workers"))
        return 0

    def begin(self, text: str) -> int:
        """Begin a turn; return the key of its run."""
        code = _BEGIN.format(text=text)
        result = subprocess.run(
            [sys.executable, "manage.py", "shell", "-v0", "-c", code],
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return int(result.stdout.split()[-1])

    def rows(self, query: str, *values: Any) -> list[Any]:
        with psycopg.connect(self.database) as connection:
            return connection.execute(query, values).fetchall()

    def run(self, key: int) -> tuple[str, str]:
        """Return a run's state and who holds it."""
        ((state, holder),) = self.rows("SELECT state, holder FROM store_run WHERE id=%s", key)
        return state, holder

    def is_waiting(self, key: int) -> bool:
        """Tell whether a run is executed and waits for somebody."""
        rows = self.rows("SELECT id FROM store_inquiry WHERE run_id=%s AND state='open'", key)
        return bool(rows) and self.run(key)[0] == "running"


@pytest.fixture
def make_workers(
    tmp_path: Path, postgres: Cluster, redis_url: str
) -> Iterator[Callable[..., Works]]:
    instances: list[Works] = []

    def make(database: str = "", **settings: str) -> Works:
        settings = {"REDIS_URL": redis_url, "JPWEB_PARK_AFTER_SECONDS": "600"} | settings
        instances.append(Works(tmp_path, database or postgres.make_migrated(), settings))
        return instances[-1]

    try:
        yield make
    finally:
        for process in (process for works in instances for process in works.processes):
            end_process(process)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"DATABASE_URL": ""}, "JPWEB_RUNS=workers needs PostgreSQL (DATABASE_URL=postgres:"),
        # tests/test_text_settings.py reads settings alone, test_entrypoint.py cannot connect.
        *mark_proof(
            ({"JPWEB_RUNS": "many"}, "JPWEB_RUNS must be embedded or workers, not “many”."),
            ({"REDIS_URL": ""}, "JPWEB_RUNS=workers needs Redis (REDIS_URL=redis:"),
            ({"DATABASE_URL": "postgres://x@127.0.0.1:1/x"}, "The database x cannot be used:"),
            ({"REDIS_URL": "localhost:6379"}, "REDIS_URL is not an address such as redis://HOST."),
        ),
    ],
)
def test_bad_settings_are_one_line(tmp_path: Path, settings: dict[str, str], line: str):
    good = {"DATABASE_URL": "postgres://x@127.0.0.1:1/y", "REDIS_URL": "redis://127.0.0.1:1"}
    env = (
        inherit_environment()
        | {"JPWEB_RUNS": "workers", "JPWEB_DATA": str(tmp_path)}
        | good
        | settings
    )
    result = subprocess.run(
        [sys.executable, "manage.py", "work"],
        cwd=ROOT, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 1
    assert line in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("mode", "runs", "problem"),
    [
        (
            "embedded",
            50,
            "Workers need JPWEB_RUNS=workers; without it, the server executes turns itself",
        ),
        ("workers", 0, "^--runs must be at least 1, not 0.$"),
    ],
    ids=["embedded", "no runs"],
)
def test_work_that_cannot_be_done_is_refused(settings: Any, mode: str, runs: int, problem: str):
    settings.RUN_MODE = mode
    with pytest.raises(CommandError, match=problem):
        call_command("work", runs=runs)


@pytest.mark.proof  # 9 s of processor
def test_workers_started_together_on_an_empty_database_all_run(
    make_workers: Callable[..., Works], postgres: Cluster
):
    workers = make_workers(postgres())
    command = [sys.executable, "manage.py", "work"]
    with (workers.folder / "all.log").open("wb") as log:
        processes = [
            subprocess.Popen(command, cwd=ROOT, env=workers.env, stdout=log, stderr=log)
            for _ in range(STARTING_WORKERS)
        ]
    workers.processes += processes
    wait_until(lambda: workers.queues() == STARTING_WORKERS, "all take jobs", 120)
    assert [process.poll() for process in processes] == [None] * STARTING_WORKERS


@pytest.mark.chaos
@pytest.mark.parametrize(
    "by",
    [
        pytest.param(signal.SIGTERM, id="SIGTERM"),
        pytest.param(signal.SIGINT, id="SIGINT", marks=pytest.mark.proof),
    ],
)
def test_runs_released_by_a_worker_continue_in_another_at_once(
    make_workers: Callable[..., Works], by: signal.Signals
):
    workers = make_workers(JPWEB_LEASE_SECONDS="600")
    first = workers.start()
    key = workers.begin(ASKS)
    wait_until(lambda: workers.is_waiting(key), "the question waits", 60)
    before = workers.run(key)[1]
    workers.start("--runs", "3")
    first.send_signal(by)
    assert first.wait(30) == 0
    wait_until(
        lambda: workers.is_waiting(key) and workers.run(key)[1] != before, "another has it", 30
    )
    log_lines = workers.log(0).read_text().splitlines()
    lines = [line for line in log_lines if "Other processes" not in line]  # Redis was slow
    assert lines == [
        "Executing up to 50 turns at once. Press Ctrl-C to stop.",
        "Stopped. Unfinished turns left to other workers: 1.",
    ]


@pytest.mark.proof  # silence counts as death after 12 s; tests/chaos kills workers in any case
def test_runs_of_a_killed_worker_continue_and_leave_no_job(
    make_workers: Callable[..., Works],
):
    workers = make_workers(JPWEB_LEASE_SECONDS="3")
    first = workers.start()
    key = workers.begin(ASKS)
    wait_until(lambda: workers.is_waiting(key), "the question waits", 60)
    before = workers.run(key)[1]
    workers.start()
    os.kill(first.pid, signal.SIGKILL)
    wait_until(
        lambda: workers.is_waiting(key) and workers.run(key)[1] != before, "another has it", 60
    )
    wait_until(lambda: workers.queues() == 1, "the dead is forgotten", 60)
    jobs = "SELECT worker_id = (SELECT id FROM procrastinate_workers) FROM procrastinate_jobs"
    wait_until(lambda: set(workers.rows(jobs)) == {(True,)}, "every job is the other's", 60)


@pytest.mark.chaos
@pytest.mark.parametrize(
    "service",
    [
        # tests/chaos kills PostgreSQL under workers in any case.
        pytest.param("postgres", marks=pytest.mark.proof),
        pytest.param("redis"),
    ],
)
def test_worker_recovers_when_database_and_redis_are_back(
    make_workers: Callable[..., Works], service: str, request: pytest.FixtureRequest
):
    with ExitStack() as stack:
        signals = stack.enter_context(servers.run_redis())
        if service == "postgres":
            cluster = stack.enter_context(servers.run_postgres())
        else:
            cluster = request.getfixturevalue("postgres")
        workers = make_workers(cluster.make_migrated(), REDIS_URL=signals.url)
        worker = workers.start()
        server = cluster if service == "postgres" else signals
        server.kill()
        server.start()
        key = workers.begin(ENDS)
        wait_until(lambda: workers.run(key)[0] == "done", "a run is executed", 90)
        assert worker.poll() is None
        worker.terminate()
        assert worker.wait(30) == 0
