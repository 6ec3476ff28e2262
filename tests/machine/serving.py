"""jpweb as people run it: ``manage.py serve`` in a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import ClassVar, Self

from tests.machine import templates
from tests.machine.ports import LOOPBACK, end_process, free_port, wait_until
from tests.machine.templates import copy_migrated_sqlite, inherit_environment

ROOT = templates.ROOT
_LINK = re.compile(r"https?://\S+/sign-in#\S+")
_SESSION_COOKIE = "jpweb_session"
#: What a server prints that prints no link.
_SERVING = re.compile(r"^Serving on http", re.MULTILINE)


@dataclass(slots=True)
class Server:
    """One installation: its data folder, its port, and the process while it runs."""

    COMMAND: ClassVar = "serve"
    LINK: ClassVar = _LINK

    data: Path
    port: int = field(default_factory=free_port)
    workspace: Path | None = None
    settings: dict[str, str] = field(default_factory=dict)
    #: Whether an empty data folder gets a migrated database first, which saves 2.3 s of processor.
    copies_template: bool = True
    #: A command that runs the server's, such as one that limits it first.
    wrapper: tuple[str, ...] = ()
    link: str = ""
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def log(self) -> Path:
        """The file that everything the processes print goes to."""
        return self.data.with_name(f"{self.data.name}.log")

    def log_text(self) -> str:
        """Return what was printed so far, by every start."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    @property
    def pid(self) -> int:
        """The process that serves."""
        assert self._process is not None
        return self._process.pid

    def start(self, seconds: float = 180) -> Self:
        """Start, and wait for the sign-in link. Raises AssertionError with the log's end."""
        log_length = len(self.log_text())
        self.begin()

        def has_link() -> bool:
            text = self.log_text()
            if _SERVING.search(text[log_length:]):  # beside workers: a link is asked for
                text, printed_to = self._asked_for_link(), 0
            else:
                printed_to = log_length
            match = self.LINK.search(text, printed_to)
            self.link = match[0] if match else ""
            return bool(match) or self._process is None or self._process.poll() is not None

        wait_until(has_link, "the server prints its link", seconds)
        assert self.link, f"the server did not start:\n{self.log_text()[-4000:]}"
        return self

    def begin(self) -> None:
        """Start, and wait for nothing."""
        if self.copies_template and "DATABASE_URL" not in self.settings:
            copy_migrated_sqlite(self.data)
        self._process = self._spawn()

    def run(self, seconds: float = 60) -> tuple[int, str]:
        """Run where it is expected to refuse; return the exit code and what it printed."""
        log_length = len(self.log_text())
        self._process = self._spawn()
        try:
            code = self._process.wait(seconds)
        finally:
            end_process(self._process)
        return code, self.log_text()[log_length:]

    def stop(self, by: signal.Signals = signal.SIGTERM, seconds: float = 60) -> int:
        """Send a signal and return the exit code. Raises TimeoutExpired if it stays."""
        assert self._process is not None
        self._process.send_signal(by)
        return self._process.wait(seconds)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.stop(signal.SIGKILL)

    def restart(self) -> Self:
        """Start again on the same data and port, after a clean stop if it still runs."""
        if self._process is not None and self._process.poll() is None:
            self.stop()
        return self.start()

    def close(self) -> None:
        """End it, whatever state it is in."""
        if self._process is not None:
            end_process(self._process)

    def ask_for_link(self) -> str:
        """Return another sign-in link of the first owner."""
        match = self.LINK.search(self._asked_for_link())
        assert match, "no link was printed"
        return match[0]

    def _asked_for_link(self) -> str:
        command = [sys.executable, "manage.py", "sign_in_link"]
        result = subprocess.run(
            command,
            cwd=ROOT,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        return result.stdout

    def _environment(self) -> dict[str, str]:
        variables = {
            "JPWEB_DATA": str(self.data),
            "JPWEB_PORT": str(self.port),
            "JPWEB_UNDO_SECONDS": "0",  # most tests are about something else
            "PYTHONUNBUFFERED": "1",
        }
        return inherit_environment() | variables | self.settings

    def _spawn(self) -> subprocess.Popen[bytes]:
        command = [*self.wrapper, sys.executable, "manage.py", self.COMMAND]
        if self.workspace is not None:
            command += ["--workspace", str(self.workspace)]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=ROOT,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


def is_serving(port: int) -> bool:
    """Tell whether a web server has its database and answers."""
    # Without a session the page reads nothing from the database.
    headers = {"Cookie": f"{_SESSION_COOKIE}={'0' * 32}"}
    try:
        with closing(HTTPConnection(LOOPBACK, port, timeout=20)) as connection:
            connection.request("GET", "/sign-in", headers=headers)
            return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False


@contextmanager
def run_server(data: Path, **settings: str) -> Iterator[Server]:
    """Run a server for the tests of a module; ``settings`` are environment variables."""
    server = Server(data, settings=settings)
    try:
        yield server.start()
    finally:
        server.close()
