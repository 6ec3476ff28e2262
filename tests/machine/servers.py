"""A throwaway PostgreSQL cluster and a throwaway Redis, on free ports of loopback."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import LiteralString

import psycopg
from psycopg import sql

from jpweb.cli.local_cluster import postgres_redis
from tests.machine.faults.disks import HeldDisk, hold_disk
from tests.machine.ports import LOOPBACK, end_process, free_port, is_accepting, wait_until
from tests.machine.programs import POSTGRES, REDIS, ensure_program
from tests.machine.templates import make_once, migrate_database

#: What makes a cluster quick that need not outlive anything.
QUICK = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
#: What makes one lose nothing that was committed, whenever it is killed.
DURABLE = ("fsync=on", "full_page_writes=on", "synchronous_commit=on")

#: The database of every cluster that has all migrations.
MIGRATED = "migrated"


@dataclass(slots=True)
class Cluster:
    """A PostgreSQL in a folder of its own; calling it makes an empty database, returns its URL."""

    folder: Path
    settings: Sequence[str] = QUICK
    port: int = field(default_factory=free_port)
    #: A command that runs PostgreSQL's, such as one that shows it another disk.
    wrapper: tuple[str, ...] = ()
    _numbers: Iterator[int] = field(default_factory=count)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """The URL without a database."""
        return f"postgres://{postgres_redis.POSTGRES_ACCOUNT}@{LOOPBACK}:{self.port}"

    def __call__(self) -> str:
        return self._create("CREATE DATABASE {}")

    def make_migrated(self, prefix: str = "") -> str:
        """Make a migrated database by copying one that is migrated once; return its URL.

        It has the tables of a team, which a single server ignores. ``prefix`` begins its name.
        """
        return self._create("CREATE DATABASE {} TEMPLATE {}", MIGRATED, prefix=prefix)

    def _create(self, statement: LiteralString, *names: str, prefix: str = "") -> str:
        name = f"{prefix}jpweb_{os.getpid()}_{next(self._numbers)}"
        identifiers = [sql.Identifier(part) for part in (name, *names)]
        with psycopg.connect(f"{self.address}/postgres", autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*identifiers))
        return f"{self.address}/{name}"

    def make(self) -> None:
        """Make the cluster, which trusts everyone on loopback, as a copy of the template."""
        postgres_redis.give_to_account(self.folder)
        template = make_once("postgres", _make_cluster)
        subprocess.run(["cp", "--archive", template, self.folder / "data"], check=True)

    def initialize(self) -> None:
        """Make the cluster without any database of ours."""
        postgres_redis.give_to_account(self.folder)
        command = [
            *postgres_redis.build_initdb_command(self._programs, self.folder / "data"),
            "--no-sync",
        ]
        subprocess.run(command, check=True, cwd=self.folder, **postgres_redis.get_account_options())

    def migrate(self) -> None:
        """Make and migrate the database that ``make_migrated`` copies."""
        with psycopg.connect(f"{self.address}/postgres", autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(MIGRATED)))
        environment = {"JPWEB_RUNS": "workers", "REDIS_URL": "redis://127.0.0.1:1"}
        secrets = {"JPWEB_SECRET_KEY": "template", "JPWEB_DATA": str(self.folder)}
        url = {"DATABASE_URL": f"{self.address}/{MIGRATED}"}
        migrate_database(url | environment | secrets)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = (f"listen_addresses={LOOPBACK}", f"port={self.port}", *self.settings)
        command = postgres_redis.build_postgres_command(
            self._programs, self.folder / "data", self.folder, options
        )
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self.wrapper, *command],
                cwd=self.folder,
                stdout=log,
                stderr=log,
                **postgres_redis.get_account_options(),
            )
        wait_until(self._serves, "PostgreSQL answers", 60)

    def kill(self) -> None:
        """End it as a power cut would, all of its processes; returns once none is left."""
        assert self._process is not None
        children = _children(self._process.pid)
        for pid in (self._process.pid, *children):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        wait_until(lambda: not any(map(_lives, children)), "PostgreSQL's processes are gone")

    def stop(self) -> None:
        """End it with everything on disk."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        self._process.wait(60)

    def wait_for_end(self, seconds: float = 60) -> None:
        """Return once it has ended by itself. Raises TimeoutExpired where it goes on."""
        assert self._process is not None
        self._process.wait(seconds)

    def close(self) -> None:
        """End it at once, without a checkpoint."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            end_process(self._process)

    @property
    def _programs(self) -> Path:
        return ensure_program(POSTGRES).resolve().parent

    def _serves(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text()[-4000:]
        try:
            psycopg.connect(f"{self.address}/postgres", connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


@dataclass(slots=True)
class Signals:
    """A Redis that keeps nothing on disk."""

    folder: Path
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address, for REDIS_URL."""
        return f"redis://{LOOPBACK}:{self.port}/0"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        place = ("--port", str(self.port), "--bind", LOOPBACK, "--dir", str(self.folder))
        with (self.folder / "log").open("ab") as log:
            command = postgres_redis.build_redis_command(ensure_program(REDIS), *place)
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(lambda: is_accepting(self.port), "Redis answers")

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            end_process(self._process)


@contextmanager
def run_postgres(settings: Sequence[str] = QUICK) -> Iterator[Cluster]:
    """Run a cluster; what is in it is gone afterwards."""
    with _folder("jpweb-postgres-") as folder:
        cluster = Cluster(folder, settings)
        try:
            cluster.make()
            cluster.start()
            yield cluster
        finally:
            cluster.close()


@contextmanager
def run_postgres_on_disk(size: str) -> Iterator[tuple[Cluster, HeldDisk]]:
    """Run a cluster that loses nothing, with its data on a disk of this size."""
    account = postgres_redis.get_account_options()
    with _folder("jpweb-postgres-") as folder:
        cluster = Cluster(folder, DURABLE)
        cluster.make()
        with hold_disk(folder / "data", account, (f"size={size}", "mode=0700")) as disk:
            cluster.wrapper = disk.wrapper
            try:
                cluster.start()
                yield cluster, disk
            finally:
                cluster.close()


def _make_cluster(folder: Path) -> Path:
    """Make the cluster that others copy; return its data folder."""
    cluster = Cluster(folder)
    try:
        cluster.initialize()
        cluster.start()
        cluster.migrate()
        cluster.stop()
    finally:
        cluster.close()
    return folder / "data"


@contextmanager
def run_redis() -> Iterator[Signals]:
    """Run a Redis."""
    with _folder("jpweb-redis-") as folder:
        running_redis = Signals(folder)
        try:
            running_redis.start()
            yield running_redis
        finally:
            running_redis.close()


@contextmanager
def _folder(prefix: str) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _children(pid: int) -> list[int]:
    """Return the processes that a process has started; where the machine does not say, none."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in listed.split()]


def _lives(pid: int) -> bool:
    """Tell whether a process runs; one that is only not waited for yet does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
