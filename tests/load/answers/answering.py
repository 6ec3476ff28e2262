"""How long a tool waits that asks somebody who answers at once.

From the tool's question over the browser and its page's card until the tool is resumed. Sent over
the page's socket, the floor is an echo over a bare socket of the same daphne, without commits or
between two of them; sent by the card's form, it is what anything in Django has to do that takes a
form and outlives a kill. The values are
those that one round in a hundred is slower than, with many other pages open and many other
questions waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import TypeAlias

from django.db import connection

from jpweb.store.choices import Role
from jpweb.store.models import Inquiry
from jpweb.store.search import indexer
from jpweb.web.websocket import conversation_updates
from tests.load.answers.parked import DONE, copy_conversation, index_and_scan, park_run
from tests.load.benchmark import BenchRun, Progress
from tests.load.crowd import Crowd, run_crowd
from tests.load.databases import use_database
from tests.load.fanout import PendingRequest
from tests.load.page import Browser, PageSocket, make_cookie
from tests.load.programs import run_program
from tests.load.sizes import Size
from tests.store import making

#: Benchmarks of this module; each has conversations of its own, as long as those of the others.
BENCHMARKS_THAT_ASK = 3


def measure_p99(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of an answer over the socket, and of the echo."""
    return _measure_rounds(bench, progress, _by_socket, _echoed)


def measure_form(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of an answer by its form, and of a bare form between two commits."""
    return _measure_rounds(bench, progress, _by_form, _formed)


def measure_durable(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of an answer over the socket, and of an echo between two commits."""
    return _measure_rounds(bench, progress, _by_socket, _committed)


def get_slowest(times: list[float], of: float = 0.99) -> float:
    """Return the time that so many rounds keep."""
    return sorted(times)[ceil(of * len(times)) - 1]


def _measure_rounds(
    bench: BenchRun, progress: Progress, send: Send, bare: BarePath
) -> tuple[float, float]:
    """Return the slowest milliseconds of jpweb and of a floor; the first turns warm up."""
    server = bench.share(_serve_askers, progress)
    turns, conversations = bench.size.asking_turns, 1 + bench.size.asking_conversations
    own_times: list[float] = []
    floor: list[float] = []
    with Browser.at(server.port, server.cookie) as browser, run_crowd() as other_sockets:
        server.enter(other_sockets, progress)
        other_sockets.idle(bench.size.settle_ms / 1000)
        for done in range(conversations):
            progress(done, conversations)
            own_times += _asked(server, browser, other_sockets, turns, send)
            floor += _answer_floor(server, browser, other_sockets, turns, bare)
    progress(conversations, conversations)
    return get_slowest(own_times[turns:]) * 1000, get_slowest(floor[turns:]) * 1000


def _asked(
    server: _Server, browser: Browser, other_sockets: Crowd, turns: int, send: Send
) -> list[float]:
    """Let turn after turn ask, and answer as the page of the conversation does."""
    conversation = server.conversations.pop()
    times: list[float] = []
    with PageSocket(server.port, server.cookie) as page:
        page.say(
            {"conversation": conversation, "metadata": server.facts, "inbox": True, "questions": []}
        )
        page.text()
        for _ in range(turns):
            other_sockets.idle(0.002)
            status, _ = browser.send(f"/conversations/{conversation}/turns", text="/call ask_once")
            assert status == 302, status
            request = PendingRequest(server.port, "/ask")
            send(page, browser)
            times.append(request.answer()["seconds"])
            page.until(DONE)
    return times


def _answer_floor(
    server: _Server, browser: Browser, other_sockets: Crowd, turns: int, bare: BarePath
) -> list[float]:
    """Let a bare socket ask as often, and answer as the floor does."""
    times: list[float] = []
    with PageSocket(server.port, path="/bare") as page:
        for _ in range(turns):
            other_sockets.idle(0.002)
            request = PendingRequest(server.port, bare.path)
            bare.answer(page, browser)
            times.append(request.answer()["seconds"])
    return times


def _by_socket(page: PageSocket, _browser: Browser) -> None:
    page.answer("true")


def _by_form(page: PageSocket, browser: Browser) -> None:
    status, _ = browser.send(page.card(), answer="true")
    assert status == 200, status


def _echo(page: PageSocket, _browser: Browser) -> None:
    page.reply(page.text())


def _send_plain_form(page: PageSocket, browser: Browser) -> None:
    page.text()
    status, _ = browser.send("/plain", answer="true")
    assert status == 200, status


#: How the next card that comes is answered.
Send: TypeAlias = Callable[[PageSocket, Browser], None]


@dataclass(frozen=True, slots=True)
class BarePath:
    """A floor: the path that has the server ask, and how its question is answered."""

    path: str
    answer: Send


_echoed = BarePath("/echo", _echo)
_committed = BarePath("/durable", _echo)
_formed = BarePath("/form", _send_plain_form)


@dataclass(frozen=True, slots=True)
class _Server:
    """A server, who answers and where, and the pages of everybody else."""

    port: int
    cookie: str
    conversations: list[int]
    pages: list[tuple[str, int, int]]
    facts: str

    def enter(self, other_sockets: Crowd, progress: Progress) -> None:
        """Open the pages of the others: of a conversation each, with its question."""
        cookies = [cookie for cookie, _, _ in self.pages]
        total = len(cookies)
        sockets = other_sockets.enter(self.port, "/ws", cookies, lambda n: progress(n, total))
        for visitor, (_, conversation, question) in zip(sockets, self.pages, strict=True):
            hello = {
                "entry_count": 4,
                "metadata": self.facts,
                "inbox": True,
                "questions": [question],
            }
            visitor.say({"conversation": conversation} | hello)
        other_sockets.watch(2 * total)  # the foot, since the run is news to them, and the counter


@contextmanager
def _serve_askers(bench: BenchRun, progress: Progress) -> Iterator[_Server]:
    progress(0, 1)
    with use_database(bench.make_database()) as path:
        prepared = _prepare(bench.size)
    with run_program("tests.load.answers.asking", path) as program:
        yield _Server(program.port, *prepared)


def _prepare(size: Size) -> tuple[str, list[int], list[tuple[str, int, int]], str]:
    """Make who answers, the conversations that ask them, and the others with their questions."""
    workspace = making.workspace()
    places = [making.workspace() for _ in range(min(size.other_workspaces, size.other_pages))]
    people = [making.person("", Role.RESPONDER, place) for place in places]
    cookies = {place.pk: make_cookie(person) for place, person in zip(places, people, strict=True)}
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE bench_floor (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
    source = park_run(places[0], people[0])
    index_and_scan(source)
    copy_conversation(source, range(1, size.other_pages), [place.pk for place in places])
    rows = Inquiry.objects.values_list("conversation__workspace_id", "conversation_id", "pk")
    pages = [(cookies[place], conversation, question) for place, conversation, question in rows]
    ada = making.person("ada", Role.RESPONDER, workspace)
    conversation_count = BENCHMARKS_THAT_ASK * (1 + size.asking_conversations)
    conversations = [making.conversation(workspace, starter=ada) for _ in range(conversation_count)]
    facts = conversation_updates.make_metadata_key(
        conversations[0]
    )  # those of all: they have the same title
    while indexer.index_next() is not None:  # as a server has done long since
        pass
    return make_cookie(ada), [conversation.pk for conversation in conversations], pages, facts
