"""A web server and two workers, each with a line to PostgreSQL, and a clock, of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.machine.faults.clocks import shift_clock
from tests.machine.faults.proxy import Proxy, run_proxy
from tests.machine.ports import LOOPBACK, end_process, free_port, wait_until
from tests.machine.templates import ROOT, inherit_environment

#: How many minutes the clock of each process is ahead; the database's is right.
CLOCKS = {"web": -10, "worker1": 0, "worker2": 10}
LEASE_SECONDS = 4
#: Short waits, and calls that come one after the other, so that a reply can be cut between two.
WAITS = {
    "JPWEB_LEASE_SECONDS": str(LEASE_SECONDS),
    "JPWEB_PARK_AFTER_SECONDS": "1",
    "JPWEB_SCRIPT_PACE_SECONDS": "0.1",
    "JPWEB_STATEMENT_SECONDS": "6",
}


@dataclass(slots=True)
class Crew:
    """Processes on one database; ``proxies`` are their lines to it, by their names."""

    folder: Path
    workspace: Path
    database: str
    redis: str
    port: int = field(default_factory=free_port)
    proxies: dict[str, Proxy] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def ports(self) -> list[int]:
        return [self.port]

    def environment(self) -> dict[str, str]:
        """Return the environment of a process with a line and a clock that are in order."""
        return {
            **inherit_environment(),
            **WAITS,
            "JPWEB_DATA": str(self.folder / "data"),
            "JPWEB_SECRET_KEY": "the same everywhere",
            "JPWEB_PORT": str(self.port),
            "JPWEB_RUNS": "workers",
            "DATABASE_URL": self.database,
            "REDIS_URL": self.redis,
            "PYTHONUNBUFFERED": "1",
        }

    def find_address(self, name: str) -> str:
        """Return the database's address by the line of a process."""
        direct = f":{conninfo_to_dict(self.database)['port']}/"
        return self.database.replace(direct, f":{self.proxies[name].port}/")

    def start(self, name: str) -> None:
        """Start a process, or start it again."""
        line = self.find_address(name)
        arguments = ("serve", "--workspace", str(self.workspace)) if name == "web" else ("work",)
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "manage.py", *arguments],
                cwd=ROOT,
                env={**self.environment(), **shift_clock(CLOCKS[name]), "DATABASE_URL": line},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait_until_ready(self) -> None:
        """Return once the web server serves and both workers take jobs."""
        wait_until(lambda: "Serving on" in self.log_text(), "the server serves", 120)
        wait_until(lambda: self.log_text().count("Executing") >= 2, "the workers work", 120)

    def log_text(self) -> str:
        """Return what all of them printed."""
        return "".join(log.read_text(errors="replace") for log in self.folder.glob("*.log"))

    def pid(self, name: str) -> int:
        return self.processes[name].pid

    def kill(self, name: str) -> None:
        """End a process as a power cut would, and start it again."""
        self.processes[name].kill()
        self.processes[name].wait()
        self.start(name)

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Ask the database, past the proxies."""
        with psycopg.connect(self.database, connect_timeout=5) as connection:
            return connection.execute(query, values).fetchall()

    def rows_later(self, query: str, *values: Any) -> list[tuple[Any, ...]] | None:
        """Ask the database, unless it is away."""
        with suppress(psycopg.OperationalError):
            return self.rows(query, *values)
        return None


@contextmanager
def run_crew(folder: Path, workspace: Path, database: str, redis: str) -> Iterator[Crew]:
    """Run a web server and two workers on a migrated database."""
    running_crew = Crew(folder, workspace, database, redis)
    port = int(conninfo_to_dict(database)["port"] or 0)
    with ExitStack() as stack:
        for name in CLOCKS:
            running_crew.proxies[name] = stack.enter_context(run_proxy(port))
        try:
            for name in CLOCKS:
                running_crew.start(name)
            running_crew.wait_until_ready()
            yield running_crew
        finally:
            for process in running_crew.processes.values():
                end_process(process)
