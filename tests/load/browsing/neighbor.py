"""What one person costs another: a page, while somebody else asks for all that the server gives.

That person downloads every inquiry, and floods three sockets with hellos that name thousands of
cards. The floor is the same page of the same reader in the quiet blocks of the same run.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

from django.conf import settings
from django.db import connection

from jpweb.store.choices import Role
from jpweb.store.models import Inquiry, Workspace
from jpweb.store.search import indexer
from tests.load.answers.answering import get_slowest
from tests.load.answers.parked import park_run
from tests.load.benchmark import BenchRun, Progress
from tests.load.databases import use_database
from tests.load.page import PATIENCE, Browser, PageSocket, make_cookie
from tests.load.sizes import Size
from tests.load.synthetic import import_conversation
from tests.machine.serving import Server
from tests.store import making

#: Pairs of a quiet and a busy block, and pages opened in each.
BLOCKS, PAGES = 5, 60
#: Events of the conversation that the neighbour reads.
READ_EVENTS = 1000
#: Sockets that are flooded, and seconds between two hellos on each.
FLOODED_SOCKETS, HELLO_SECONDS = 3, 1.0
READ_BYTES = 1 << 16

#: Copies of an inquiry, a second apart.
_COPY_INQUIRIES = """
WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < %s)
INSERT INTO store_inquiry ({columns}) SELECT {values} FROM store_inquiry, number
"""


def measure_p95(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of the neighbour's page while the other is busy, and in quiet."""
    server = bench.share(_serve_both, progress)
    blocks, pages = bench.size.limit_rounds(BLOCKS), bench.size.limit_rounds(PAGES)
    quiet: list[float] = []
    busy: list[float] = []
    with Browser.at(server.port, server.neighbor_cookie) as browser:
        browser.time_page(server.page)
        for block in range(blocks):
            progress(block, blocks)
            quiet += [browser.time_page(server.page) for _ in range(pages)]
            with _busy_person(server):
                busy += [browser.time_page(server.page) for _ in range(pages)]
    progress(blocks, blocks)
    return get_slowest(busy, 0.95) * 1000, get_slowest(quiet, 0.95) * 1000


@dataclass(frozen=True, slots=True)
class _BusyServer:
    port: int
    page: str
    neighbor_cookie: str
    auditor_cookie: str
    #: What the auditor's pages say that they show.
    hello: dict[str, object]


@contextmanager
def _busy_person(server: _BusyServer) -> Iterator[None]:
    """Let the auditor download and flood until the context ends; both have begun before it does."""
    stop_event = threading.Event()
    start_events = [threading.Event() for _ in range(1 + FLOODED_SOCKETS)]
    work = [
        threading.Thread(target=_download, args=(server, stop_event, start_events[0])),
        *(
            threading.Thread(target=_flood, args=(server, stop_event, start_event))
            for start_event in start_events[1:]
        ),
    ]
    for thread in work:
        thread.start()
    try:
        for start_event in start_events:
            assert start_event.wait(PATIENCE), "the auditor could not begin"
        yield
    finally:
        stop_event.set()
        for thread in work:
            thread.join()


def _download(
    server: _BusyServer, stop_event: threading.Event, start_event: threading.Event
) -> None:
    """Download all inquiries, again and again, and leave in the middle at the end."""
    while not stop_event.is_set():
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as line:
            line.request("GET", "/audit.csv", headers={"Cookie": server.auditor_cookie})
            response = line.getresponse()
            if response.status != 200:  # the one before is ending
                stop_event.wait(0.05)
                continue
            with suppress(HTTPException):
                while response.read(READ_BYTES) and not stop_event.is_set():
                    start_event.set()


def _flood(server: _BusyServer, stop_event: threading.Event, start_event: threading.Event) -> None:
    """Say hello once a second on a socket; one that the server closes is opened anew."""
    while not stop_event.is_set():
        # The server may refuse the socket, or what is said on it.
        with ExitStack() as stack, suppress(ConnectionError, TimeoutError):
            page = stack.enter_context(PageSocket(server.port, server.auditor_cookie))
            while not stop_event.is_set():
                page.say(server.hello)
                start_event.set()
                stop_event.wait(HELLO_SECONDS)
        stop_event.wait(HELLO_SECONDS)


@contextmanager
def _serve_both(bench: BenchRun, progress: Progress) -> Iterator[_BusyServer]:
    progress(0, 1)
    with use_database(bench.make_database()) as path:
        prepared = _fill_database(bench.size)
    variables = {"JPWEB_SECRET_KEY": settings.SECRET_KEY}
    server = Server(path.parent, settings=variables)
    try:
        server.start()
        yield _BusyServer(server.port, *prepared)
    finally:
        server.close()


def _fill_database(size: Size) -> tuple[str, str, str, dict[str, object]]:
    """Make both people; return the neighbour's page, both sign-ins, and the auditor's hello."""
    workspace = making.workspace("Neighbour's")
    neighbor = making.person("neighbour", Role.READER, workspace)
    page = f"/conversations/{import_conversation(workspace, READ_EVENTS).pk}"
    audited_workspace = making.workspace("Auditor's")
    auditor = making.person("auditor", Role.OWNER, audited_workspace)
    conversation = park_run(audited_workspace, auditor)
    _copy_inquiries(audited_workspace, size.reviewed_inquiries)
    cards = Inquiry.objects.filter(conversation_id=conversation).values_list("pk", flat=True)
    card_ids = list(cards[: size.named_cards])
    while indexer.index_next() is not None:  # as a server has done long since
        pass
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    hello: dict[str, object] = {
        "conversation": conversation,
        "entry_count": 4,
        "inbox": True,
        "questions": card_ids,
    }
    return page, make_cookie(neighbor), make_cookie(auditor), hello


def _copy_inquiries(workspace: Workspace, count: int) -> None:
    """Copy the one inquiry of a workspace, answered and without its run."""
    columns = {str(field.column): str(field.column) for field in Inquiry._meta.concrete_fields}
    del columns["id"]
    columns |= {
        "anchor": "'e-' || printf('%%x', n)",
        "asked_at": "strftime('%%Y-%%m-%%d %%H:%%M:%%f', asked_at, '-' || n || ' seconds')",
        "state": "'answered'",
        "answer": "'true'",
        "run_id": "NULL",
        "decider_name": "'Auditor'",
    }
    statement = _COPY_INQUIRIES.format(
        columns=", ".join(columns), values=", ".join(columns.values())
    )
    condition = (
        " WHERE conversation_id IN (SELECT id FROM store_conversation WHERE workspace_id = %s)"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement + condition, [count, workspace.pk])
