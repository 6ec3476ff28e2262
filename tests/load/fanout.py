"""How long a change takes until the last of many open sockets has got its frame.

The floor is a bare loop in the same daphne that sends the same bytes to as many other sockets;
for ``layer`` it is a group send of Channels' own in-memory layer.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.test import Client

from jpweb.store import journal
from jpweb.store.terms import Role
from jpweb.stream.events import ChatRequest, TurnStart
from tests.load.benchmark import Progress, interleaved
from tests.load.crowd import Crowd, crowd
from tests.load.importing import database
from tests.machine.ports import end, free_port
from tests.machine.serving import ROOT
from tests.store import making

#: Sockets that hear of a change, and the people who opened them.
MANY = int(os.environ.get("JPWEB_BENCH_SOCKETS", "5000"))
PEOPLE = 50


def loop(progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of jpweb and of a bare loop."""
    return _against("bare", progress, rounds=9)


def layer(progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of jpweb and of Channels' own group send."""
    return _against("layer", progress, rounds=2)


def _against(other: str, progress: Progress, rounds: int) -> tuple[float, float]:
    with daphne() as server, crowd() as people:
        port = server.port
        server.enter(people, "ws", MANY, lambda n: progress(n, 2 * MANY))
        server.enter(people, other, MANY, lambda n: progress(MANY + n, 2 * MANY))
        people.idle(2)
        value, floor = interleaved(
            partial(_told, people, port, "ws"),
            partial(_told, people, port, other),
            progress,
            rounds,
        )
    return value * 1000, floor * 1000


def _told(people: Crowd, port: int, way: str) -> float:
    """Make a change and return the seconds until the last socket has its frame."""
    Request(port, "/").answer()
    said = Request(port, f"/change/{way}")
    last = people.watch(MANY)
    seconds: float = last - said.answer()["began"]
    return seconds


@dataclass(frozen=True, slots=True)
class Daphne:
    """A server, a conversation on it, and sign-ins that may read it."""

    process: subprocess.Popen[bytes]
    port: int
    talk: int
    cookies: list[str]

    def enter(self, people: Crowd, way: str, many: int, told: Callable[[int], None]) -> None:
        """Open sockets; those of jpweb are pages of the conversation that show everything."""
        every = [self.cookies[n % PEOPLE] if way == "ws" else "" for n in range(many)]
        came = people.enter(self.port, f"/{way}", every, told)
        if way == "ws":
            for visitor in came:
                visitor.say({"conversation": self.talk, "length": 2, "facts": "there", "shown": []})
            people.watch(many)  # the counter

    def rest(self) -> None:
        """Have it collect its garbage."""
        Request(self.port, "/").answer()

    def resident(self) -> int:
        """Return the bytes of memory that it has."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024


class Request:
    """A request whose answer is read later."""

    def __init__(self, port: int, path: str) -> None:
        self._line = HTTPConnection("127.0.0.1", port)
        self._line.request("GET", path)

    def answer(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._line.getresponse().read())
        self._line.close()
        return found


@contextmanager
def daphne() -> Iterator[Daphne]:
    """Run jpweb and the barest consumers, with as many files as a process may have open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="jpweb-bench-") as scratch:
        path = Path(scratch) / "bench.sqlite3"
        with database(path):
            call_command("migrate", verbosity=0)
            talk, cookies = _prepare()
        port = free_port()
        own = {
            "JPWEB_DATA": scratch,
            "DATABASE_URL": f"sqlite:///{path}",
            "REDIS_URL": "",
            "JPWEB_SECRET_KEY": settings.SECRET_KEY,  # its sign-ins were made here
        }
        command = [sys.executable, "-m", "tests.load.echo", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=os.environ | own, stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield Daphne(process, port, talk, cookies)
        finally:
            end(process)


def _prepare() -> tuple[int, list[str]]:
    """Make a conversation that many may read; return its key and a sign-in each."""
    home = making.workspace()
    talk = making.conversation(home)
    journal.append(talk.pk, [making.event(TurnStart()), making.event(ChatRequest("Begin"))])
    cookies = []
    for _ in range(PEOPLE):
        client = Client()
        client.force_login(making.person("", Role.READER, home))
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        cookies.append(f"{settings.SESSION_COOKIE_NAME}={session}")
    return talk.pk, cookies
