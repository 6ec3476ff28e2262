"""How long whole pages take over HTTP: a conversation, the list, the audit table.

The floor is a bare Django view that sends the same bytes to the same client: through the same
daphne and middleware, in turn with ours, without a person, templates and queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from jpweb.store.choices import Origin, Role
from jpweb.store.models import Conversation, Workspace
from tests.load.benchmark import BenchRun, Progress, measure_interleaved
from tests.load.databases import use_database
from tests.load.page import Browser, make_cookie
from tests.load.programs import run_program
from tests.load.sizes import Size
from tests.load.synthetic import import_conversation
from tests.store import making

ROUNDS = 50
LIST_PATH, AUDIT_PATH = "/conversations", "/audit"
_START = datetime(2020, 1, 1, tzinfo=UTC)


def measure_conversation(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of the page of a long conversation, and of its bytes alone."""
    server = bench.share(_serve_pages, progress)
    return _compare(bench, progress, server, f"/conversations/{server.conversation_id}")


def measure_list(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of the first page of the list, and of its bytes alone."""
    return _compare(bench, progress, bench.share(_serve_pages, progress), LIST_PATH)


def measure_audit(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of the first page of the audit table, and of its bytes alone."""
    return _compare(bench, progress, bench.share(_serve_pages, progress), AUDIT_PATH)


@dataclass(frozen=True, slots=True)
class PageServer:
    """A running server, the cookie of a person who may open its pages, and a conversation."""

    port: int
    cookie: str
    conversation_id: int


def _compare(
    bench: BenchRun, progress: Progress, server: PageServer, path: str
) -> tuple[float, float]:
    bare_path = f"/bare?page={path}"
    with Browser.at(server.port, server.cookie) as browser:
        status, body = browser.get(path)
        assert status == 200, f"{path} answers {status}"
        browser.line.request("POST", bare_path, body, {"Cookie": server.cookie})
        browser.line.getresponse().read()
        assert browser.get(bare_path) == (200, body)
        value, floor = measure_interleaved(
            bench,
            lambda: browser.time_page(path),
            lambda: browser.time_page(bare_path),
            progress,
            ROUNDS,
        )
    return value * 1000, floor * 1000


@contextmanager
def _serve_pages(bench: BenchRun, progress: Progress) -> Iterator[PageServer]:
    progress(0, 1)
    with use_database(bench.make_database()) as path:
        signed_in, conversation_id = _fill_database(bench.size)
    with run_program("tests.load.browsing.bare", path) as program:
        yield PageServer(program.port, signed_in, conversation_id)


def _fill_database(size: Size) -> tuple[str, int]:
    """Make an auditor, a long conversation and short ones; return the sign-in and the long one."""
    workspace = making.workspace()
    auditor = making.person("auditor", Role.AUDITOR, workspace)
    long = import_conversation(workspace, size.page_events)
    Conversation.objects.bulk_create(
        _make_conversation(workspace, number) for number in range(size.page_conversations)
    )
    Conversation.objects.update(needs_indexing=False)  # the server runs no duties
    return make_cookie(auditor), long.pk


def _make_conversation(workspace: Workspace, number: int) -> Conversation:
    return Conversation(
        workspace=workspace,
        jp_id=number,
        origin=Origin.MIRRORED,
        title=f"Conversation {number} about one bed and another",
        last_activity=_START + timedelta(hours=number),
        entry_count=number * 7919 % 5000,
        turns=number % 40,
    )
