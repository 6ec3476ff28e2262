"""How long a change takes until the last of many open sockets has got its frame.

The floor is a bare loop in the same daphne that sends the same bytes to as many other sockets;
for ``measure_layer`` it is a group send of Channels' own in-memory layer.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from django.conf import settings
from django.test import Client

from jpweb.store import journal
from jpweb.store.choices import Role
from jpweb.stream.events import ChatRequest, TurnStart
from tests.load.benchmark import BenchRun, Progress, measure_interleaved
from tests.load.crowd import Crowd, run_crowd
from tests.load.databases import use_database
from tests.load.programs import Program, run_program
from tests.store import making

#: People who opened the sockets.
PEOPLE = 50


def measure_loop(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of jpweb and of a bare loop."""
    return _against(bench, "bare", progress, rounds=9)


def measure_layer(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of jpweb and of Channels' own group send."""
    return _against(bench, "layer", progress, rounds=2)


def _against(
    bench: BenchRun, other_way: str, progress: Progress, rounds: int
) -> tuple[float, float]:
    many = bench.size.told_sockets
    with run_daphne(bench) as server, run_crowd() as people:
        port = server.port
        server.enter(people, "ws", many, lambda n: progress(n, 2 * many))
        server.enter(people, other_way, many, lambda n: progress(many + n, 2 * many))
        people.idle(bench.size.settle_ms / 1000)
        value, floor = measure_interleaved(
            bench,
            partial(_told, people, port, many, "ws"),
            partial(_told, people, port, many, other_way),
            progress,
            rounds,
        )
    return value * 1000, floor * 1000


def _told(people: Crowd, port: int, many: int, way: str) -> float:
    """Make a change and return the seconds until the last socket has its frame."""
    PendingRequest(port, "/").answer()
    request = PendingRequest(port, f"/change/{way}")
    last = people.watch(many)
    seconds: float = last - request.answer()["began"]
    return seconds


@dataclass(frozen=True, slots=True)
class Daphne:
    """A server, a conversation on it, and sign-ins that may read it."""

    program: Program
    conversation: int
    cookies: list[str]

    @property
    def port(self) -> int:
        return self.program.port

    def enter(self, people: Crowd, way: str, many: int, on_progress: Callable[[int], None]) -> None:
        """Open sockets; those of jpweb are pages of the conversation that show everything."""
        cookies = [self.cookies[n % len(self.cookies)] if way == "ws" else "" for n in range(many)]
        sockets = people.enter(self.port, f"/{way}", cookies, on_progress)
        if way == "ws":
            for visitor in sockets:
                visitor.say(
                    {
                        "conversation": self.conversation,
                        "entry_count": 2,
                        "metadata": "current",
                        "questions": [],
                    }
                )
            people.watch(many)  # the counter

    def collect_garbage(self) -> None:
        """Have it collect its garbage."""
        PendingRequest(self.port, "/").answer()

    def resident(self) -> int:
        """Return the bytes of memory that it has."""
        status = Path(f"/proc/{self.program.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024


class PendingRequest:
    """A request whose answer is read later."""

    def __init__(self, port: int, path: str) -> None:
        self._line = HTTPConnection("127.0.0.1", port)
        self._line.request("GET", path)

    def answer(self) -> dict[str, Any]:
        fields: dict[str, Any] = json.loads(self._line.getresponse().read())
        self._line.close()
        return fields


@contextmanager
def run_daphne(bench: BenchRun) -> Iterator[Daphne]:
    """Run jpweb and the barest consumers, with as many files as a process may have open."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    try:
        with use_database(bench.make_database()) as path:
            conversation, cookies = _prepare(min(PEOPLE, bench.size.told_sockets))
        with run_program("tests.load.echo", path) as program:
            yield Daphne(program, conversation, cookies)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def _prepare(people: int) -> tuple[int, list[str]]:
    """Make a conversation that many may read; return its key and a sign-in each."""
    workspace = making.workspace()
    conversation = making.conversation(workspace)
    journal.append_events(
        conversation.pk, [making.event(TurnStart()), making.event(ChatRequest("Begin"))]
    )
    cookies = []
    for _ in range(people):
        client = Client()
        client.force_login(making.person("", Role.READER, workspace))
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        cookies.append(f"{settings.SESSION_COOKIE_NAME}={session}")
    return conversation.pk, cookies
