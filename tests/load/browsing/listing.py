"""The list of conversations where there are a million of them, against a thousand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from statistics import median
from time import perf_counter

from django.db import connection
from django.test import Client

from jpweb.store.choices import Origin, Role
from jpweb.store.models import Conversation, Membership, Person, Workspace
from tests.load.benchmark import BenchRun, Progress, measure_interleaved
from tests.load.databases import use_database
from tests.store import making

#: Conversations that the many are compared with, and the workspaces that they are in.
FEW = 1000
WORKSPACE_COUNT = 20
ROUNDS = 15
#: Of few and of many, so many are pinned; every so many stands in the first workspace.
PINNED, FIRST = 100, 4
_BATCH = 5000
_START = datetime(2020, 1, 1, tzinfo=UTC)
#: Pages that are as full with few as with many, and how many of each are read.
_PAGES = {"/conversations": 2, "/conversations?sort=length": 2, "/conversations?origin=native": 1}
_NEXT = re.compile(r'rel="next" href="([^"]+)"')


def measure_pages(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of a page of the list among many, and among few."""
    counts = (bench.size.listed_conversations, FEW)
    many, few = (ListingDatabase(bench, count, progress) for count in counts)
    value, floor = measure_interleaved(bench, many.time_pages, few.time_pages, progress, ROUNDS)
    return value * 1000, floor * 1000


class ListingDatabase:
    """A database of conversations, and people who look at their list."""

    def __init__(self, bench: BenchRun, count: int, progress: Progress) -> None:
        self._path = bench.make_database()
        with use_database(self._path):
            people = _filled(count, progress)
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE")
        self._people = people

    def time_pages(self) -> float:
        """Open each page as each person; return the middle of the seconds."""
        times: list[float] = []
        with use_database(self._path):
            for person in self._people:
                client = Client(SERVER_NAME="localhost")
                client.force_login(person)
                for page, parts in _PAGES.items():
                    times += _walked(client, page, parts)
        return median(times)


def _walked(client: Client, page: str, parts: int) -> Iterator[float]:
    """Yield the seconds of a page and of those that follow."""
    for part in range(parts):
        start_time = perf_counter()
        response = client.get(page)
        yield perf_counter() - start_time
        html = response.content.decode()
        assert (response.status_code, html.count("row-link") >= 100) == (200, True)
        if part + 1 < parts:
            page = "/conversations" + unescape(_NEXT.findall(html)[0])


def _filled(count: int, progress: Progress) -> list[Person]:
    workspaces = [making.workspace(f"Workspace {n}") for n in range(WORKSPACE_COUNT)]
    everywhere, somewhere = making.person("everywhere"), making.person("somewhere")
    Membership.objects.bulk_create(
        Membership(person=person, workspace=workspace, role=Role.RESPONDER)
        for person, member_workspaces in ((everywhere, workspaces), (somewhere, workspaces[:1]))
        for workspace in member_workspaces
    )
    for first in range(0, count, _BATCH):
        progress(first, count)
        numbers = range(first, min(first + _BATCH, count))
        Conversation.objects.bulk_create(_row(workspaces, number) for number in numbers)
    return [everywhere, somewhere]


def _row(workspaces: list[Workspace], number: int) -> Conversation:
    at = _START + timedelta(seconds=number)
    return Conversation(
        workspace=workspaces[number % WORKSPACE_COUNT if number % FIRST else 0],
        jp_id=number,
        origin=Origin.NATIVE if number % (2 * FIRST) < FIRST else Origin.MIRRORED,
        title=f"Talk {number} about one thing and another",
        last_activity=at,
        pinned_at=at if number < PINNED else None,
        entry_count=number * 7919 % 5000,
        turns=number % 40,
    )
