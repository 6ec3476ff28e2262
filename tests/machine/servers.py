"""A throwaway PostgreSQL cluster and a throwaway Redis, on free ports of loopback."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.machine.ports import LOOPBACK, accepts, end, free_port, wait_until
from tests.machine.programs import POSTGRES, REDIS, Missing, find

_ACCOUNT = "postgres"


@dataclass(slots=True)
class Cluster:
    """A running PostgreSQL; calling it makes an empty database and returns its URL."""

    address: str
    _numbers: Iterator[int] = field(default_factory=count)

    def __call__(self) -> str:
        name = f"jpweb_{os.getpid()}_{next(self._numbers)}"
        with psycopg.connect(f"{self.address}/postgres", autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return f"{self.address}/{name}"


@contextmanager
def postgres() -> Iterator[Cluster]:
    """Run a cluster in a folder of its own that trusts everyone on loopback and syncs nothing."""
    programs = find(POSTGRES).resolve().parent
    with _folder("jpweb-postgres-") as folder:
        account = _unprivileged(folder)
        initdb: list[str | Path] = [programs / "initdb", "-D", folder / "data", "-U", _ACCOUNT]
        initdb += ["-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(initdb, check=True, cwd=folder, **account)
        port = free_port()
        command: list[str | Path] = [programs / "postgres", "-D", folder / "data", "-k", folder]
        command += ["-p", str(port), "-h", LOOPBACK, "-c", "fsync=off"]
        command += ["-c", "full_page_writes=off", "-c", "synchronous_commit=off"]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, **account)
        try:
            address = f"postgres://{_ACCOUNT}@{LOOPBACK}:{port}"
            wait_until(lambda: _serves(process, address, folder), "PostgreSQL answers")
            yield Cluster(address)
        finally:
            process.send_signal(signal.SIGQUIT)  # at once, without a checkpoint
            end(process)


@contextmanager
def redis() -> Iterator[str]:
    """Run a Redis that keeps nothing on disk; yield its URL."""
    with _folder("jpweb-redis-") as folder:
        port = free_port()
        command: list[str | Path] = [find(REDIS), "--port", str(port), "--bind", LOOPBACK]
        command += ["--save", "", "--appendonly", "no", "--dir", folder]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_until(lambda: accepts(port), "Redis answers")
            yield f"redis://{LOOPBACK}:{port}/0"
        finally:
            end(process)


@contextmanager
def _folder(prefix: str) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged(folder: Path) -> dict[str, Any]:
    """Hand the folder to another account when root, as which PostgreSQL refuses to run."""
    if os.geteuid() != 0:
        return {}
    try:
        pwd.getpwnam(_ACCOUNT)
    except KeyError:
        raise Missing(
            f"PostgreSQL does not run as root, and there is no account “{_ACCOUNT}”: "
            "apt-get install postgresql"
        ) from None
    shutil.chown(folder, _ACCOUNT, _ACCOUNT)
    return {"user": _ACCOUNT, "group": _ACCOUNT, "extra_groups": []}


def _serves(process: subprocess.Popen[bytes], address: str, folder: Path) -> bool:
    assert process.poll() is None, (folder / "log").read_text()
    try:
        psycopg.connect(f"{address}/postgres", connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
