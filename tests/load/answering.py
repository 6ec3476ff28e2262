"""How long a tool waits that asks somebody who answers at once.

From the tool's question over the browser and its page's card until the tool is resumed. Sent over
the page's socket, the floor is an echo over a bare socket of the same daphne; sent by the card's
form, it is what anything in Django has to do that takes a form and outlives a kill. The values are
those that one round in a hundred is slower than, with many other pages open and many other
questions waiting.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TypeAlias

from django.conf import settings
from django.core.management import call_command

from jpweb.store.finding import index
from jpweb.store.models import Inquiry
from jpweb.store.terms import Role
from jpweb.web import changes
from tests.load.benchmark import Progress
from tests.load.crowd import Crowd, crowd
from tests.load.fanout import Request
from tests.load.importing import database
from tests.load.page import Browser, Page, cookie
from tests.load.parked import DONE, copied, parked
from tests.machine.ports import end, free_port
from tests.machine.serving import ROOT
from tests.store import making

#: Other pages that are open, each with a question of its own, and how many workspaces they are in.
OTHERS = int(os.environ.get("JPWEB_BENCH_OTHERS", "1000"))
HOMES = min(50, OTHERS)
#: Turns of a conversation, each of which asks once, and conversations that are measured.
EACH = 20
TALKS = int(os.environ.get("JPWEB_BENCH_TALKS", "15"))
#: Whether the other pages are of the same workspace, which is another thing to measure.
TOGETHER = bool(os.environ.get("JPWEB_BENCH_TOGETHER"))


def p99(progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of an answer over the socket, and of the echo."""
    value, floor = (slowest(times) for times in rounds(progress, _by_socket, _echoed))
    return value * 1000, floor * 1000


def form(progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of an answer by its form, and of a bare form between two commits."""
    value, floor = (slowest(times) for times in rounds(progress, _by_form, _formed))
    return value * 1000, floor * 1000


def slowest(times: list[float], of: float = 0.99) -> float:
    """Return the time that so many rounds keep."""
    return sorted(times)[ceil(of * len(times)) - 1]


def rounds(progress: Progress, send: Send, bare: Bare) -> tuple[list[float], list[float]]:
    """Return the seconds of each round of jpweb and of a floor; the first ones warm up."""
    ours: list[float] = []
    floor: list[float] = []
    with _serving() as server, crowd() as others:
        server.enter(others, progress)
        browser = Browser.at(server.port, server.cookie)
        for done, talk in enumerate(server.talks):
            progress(done, len(server.talks))
            ours += _asked(server, browser, talk, others, send)
            floor += bare(server, browser, others)
    progress(1, 1)
    return ours[EACH:], floor[EACH:]


def _asked(server: _Server, browser: Browser, talk: int, others: Crowd, send: Send) -> list[float]:
    """Let turn after turn ask, and answer as the page of the conversation does."""
    times: list[float] = []
    with Page(server.port, server.cookie) as page:
        page.say({"conversation": talk, "facts": server.facts, "desk": True, "shown": []})
        page.text()
        for _ in range(EACH):
            others.idle(0.002)
            status, _ = browser.send(f"/conversations/{talk}/turns", text="/call ask_once")
            assert status == 302, status
            said = Request(server.port, "/ask")
            send(page, browser)
            times.append(said.answer()["seconds"])
            page.until(DONE)
    return times


def _by_socket(page: Page, _browser: Browser) -> None:
    page.answer("true")


def _by_form(page: Page, browser: Browser) -> None:
    status, _ = browser.send(page.card(), answer="true")
    assert status == 200, status


def _echoed(server: _Server, _browser: Browser, others: Crowd) -> list[float]:
    times: list[float] = []
    with Page(server.port, path="/bare") as bare:
        for _ in range(EACH):
            others.idle(0.002)
            said = Request(server.port, "/echo")
            bare.reply(bare.text())
            times.append(said.answer()["seconds"])
    return times


def _formed(server: _Server, browser: Browser, others: Crowd) -> list[float]:
    times: list[float] = []
    with Page(server.port, path="/bare") as bare:
        for _ in range(EACH):
            others.idle(0.002)
            said = Request(server.port, "/form")
            bare.text()
            status, _ = browser.send("/plain", answer="true")
            assert status == 200, status
            times.append(said.answer()["seconds"])
    return times


#: How the next card that comes is answered.
Send: TypeAlias = Callable[[Page, Browser], None]
#: Rounds of a floor.
Bare: TypeAlias = Callable[["_Server", Browser, Crowd], list[float]]


@dataclass(frozen=True, slots=True)
class _Server:
    """A server, who answers and where, and the pages of everybody else."""

    process: subprocess.Popen[bytes]
    port: int
    cookie: str
    talks: list[int]
    pages: list[tuple[str, int, int]]
    facts: str

    def enter(self, others: Crowd, progress: Progress) -> None:
        """Open the pages of the others: of a conversation each, with its question."""
        cookies = [cookie for cookie, _, _ in self.pages]
        came = others.enter(self.port, "/ws", cookies, lambda n: progress(n, OTHERS))
        for visitor, (_, talk, question) in zip(came, self.pages, strict=True):
            shows = {"length": 4, "facts": self.facts, "desk": True, "shown": [question]}
            visitor.say({"conversation": talk} | shows)
        others.watch(2 * OTHERS)  # the foot, since the run is news to them, and the counter
        others.idle(1)


@contextmanager
def _serving() -> Iterator[_Server]:
    with tempfile.TemporaryDirectory(prefix="jpweb-bench-") as scratch:
        path = Path(scratch) / "jpweb.sqlite3"
        with database(path):
            call_command("migrate", verbosity=0)
            prepared = _prepare()
        port = free_port()
        own = {
            "JPWEB_DATA": scratch,
            "DATABASE_URL": f"sqlite:///{path}",
            "REDIS_URL": "",
            "JPWEB_SECRET_KEY": settings.SECRET_KEY,  # its sign-ins were made here
            "JPWEB_SCRIPT_PACE": "0",
        }
        command = [sys.executable, "-m", "tests.load.asking", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=os.environ | own, stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield _Server(process, port, *prepared)
        finally:
            end(process)


def _prepare() -> tuple[str, list[int], list[tuple[str, int, int]], str]:
    """Make who answers, the conversations that ask them, and the others with their questions."""
    home = making.workspace()
    places = [home] * HOMES if TOGETHER else [making.workspace() for _ in range(HOMES)]
    people = [making.person("", Role.RESPONDER, place) for place in places]
    cookies = {place.pk: cookie(person) for place, person in zip(places, people, strict=True)}
    copied(parked(places[0], people[0]), range(1, OTHERS), [place.pk for place in places])
    rows = Inquiry.objects.values_list("conversation__workspace_id", "conversation_id", "pk")
    pages = [(cookies[place], talk, question) for place, talk, question in rows]
    ada = making.person("ada", Role.RESPONDER, home)
    talks = [making.conversation(home, starter=ada) for _ in range(1 + TALKS)]
    facts = changes.facts_key(talks[0])  # those of all: they have the same title
    while index.step() is not None:  # as a server has done long since
        pass
    return cookie(ada), [talk.pk for talk in talks], pages, facts
