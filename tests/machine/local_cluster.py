"""A team's jpweb as people try it: ``manage.py team`` in a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import psycopg

from tests.machine.ports import free_port
from tests.machine.serving import Server
from tests.machine.templates import inherit_environment

NAMES = ("postgres", "redis", "web1", "web2", "worker1", "worker2")


class Team(Server):
    """Everything at once; the kernel of a Server is the first web server's port and the log."""

    COMMAND = "team"
    LINK = re.compile(r"(?<=team     \|     )http://\S+/sign-in#\S+")

    def start(self, seconds: float = 180) -> Self:
        """Start everything. Raises AssertionError with what it said where that does not come."""
        try:
            return super().start(seconds)
        except AssertionError as problem:
            raise AssertionError(f"{problem}\n{self.log_text()[-8000:]}") from None

    def forget(self) -> None:
        """End it, and remove what it kept outside its folder."""
        with suppress(subprocess.TimeoutExpired, AssertionError):
            self.stop(seconds=60)
        self.close()
        cluster = self.data / "team" / "postgres"
        shutil.rmtree(cluster.resolve(), ignore_errors=True)

    @property
    def database(self) -> str:
        """The address of its database."""
        return f"postgres://postgres@/jpweb?host={self.data}/team/sockets/postgres"

    def environment(self) -> dict[str, str]:
        """Return the environment of its processes, for others that work on the same data."""
        return (
            inherit_environment()
            | self.settings
            | {
                "JPWEB_DATA": str(self.data),
                "JPWEB_RUNS": "workers",
                "DATABASE_URL": self.database,
                "REDIS_URL": f"unix://{self.data}/team/sockets/redis/socket",
            }
        )

    @property
    def ports(self) -> list[int]:
        """The ports of its web servers."""
        served = re.findall(
            r"^(web\d) +\| Serving on http://[\d.]+:(\d+)", self.log_text(), re.MULTILINE
        )
        return [int(port) for _, port in sorted(dict(served).items())]

    def process(self, name: str) -> int:
        """Return the process that has this name now."""
        pids = re.findall(rf"^{name} +\| Process (\d+)\.$", self.log_text(), re.MULTILINE)
        assert pids, f"{name} was never started"
        return int(pids[-1])

    def strike(self, name: str) -> bool:
        """Kill one of its processes, and all that it has started, as a power cut would.

        Tells whether it ran: it may be about to be started again.
        """
        pid = self.process(name)
        if pid not in _children(self.pid):
            return False
        for process_id in (pid, *_descendants(pid)):
            with suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        return True

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Ask the database."""
        with psycopg.connect(self.database, connect_timeout=5) as connection:
            return connection.execute(query, values).fetchall()

    def rows_later(self, query: str, *values: Any) -> list[tuple[Any, ...]] | None:
        """Ask the database, unless it is away."""
        with suppress(psycopg.OperationalError):
            return self.rows(query, *values)
        return None


@contextmanager
def run_team(data: Path, workspace: Path | None = None, **settings: str) -> Iterator[Team]:
    """Run a team's jpweb; what it kept outside its folder is gone afterwards."""
    running_team = Team(data, free_port(), workspace, settings, copies_template=False)
    try:
        yield running_team.start()
    finally:
        running_team.forget()


def _children(pid: int) -> list[int]:
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except OSError:
        return []


def _descendants(pid: int) -> list[int]:
    return [process_id for child in _children(pid) for process_id in (child, *_descendants(child))]
