"""The audit table where there are a million inquiries, against a thousand.

Each operation is a whole page by Django's test client. The value is that of the operation with the
worst ratio: the audit is as slow as its slowest filter. The worst of so many is the unluckiest,
too, so those with the worst ratios are measured again, three times as long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from html import unescape
from time import perf_counter

from django.db import connection
from django.test import Client

from jpweb.store.choices import Role
from jpweb.store.models import Conversation, Inquiry, Membership, Person
from jpweb.web.security import rate_limits
from tests.load.benchmark import BenchRun, Progress, measure_interleaved
from tests.load.databases import use_database
from tests.store import making

#: Inquiries that the many are compared with.
FEW = 1000
ROUNDS, REPEATED_ROUNDS = 9, 27
#: Operations that are measured again.
REPEATED = 4
WORKSPACE_COUNT = 5
CONVERSATIONS = 100
#: Filters, orders and both; each is opened, and then the page that follows, where there is one.
#: Among the few, too, each of them fills a page, or finds nothing.
PATHS = (
    "", "sort=asked", "sort=asker", "sort=-outcome", "sort=decider", "sort=-waited",
    "outcome=answered", "outcome=unanswered", "tool=tool%203", "person=Person%201", "reason=user",
    "source=assistant", "conversation=1", "workspace=2", "since=2022-01-01", "words=on%20with",
    "words=nowhere", "tool=tool%203&outcome=cancelled", "person=nobody",
    "tool=tool%203&sort=-waited", "outcome=open&reason=user",
)  # fmt: skip
_NEXT = re.compile(r'class="more-link"><a class="button" href="([^"]+)"')
#: Copies of one row with what the filters and orders look at made different.
_FILL = """
INSERT INTO store_inquiry ({columns})
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
SELECT {values} FROM numbers, store_inquiry AS first WHERE first.id = {first}
"""
_VALUES = {
    "conversation_id": "CASE n % 3 WHEN 0 THEN 1 ELSE 1 + n * 7919 % {conversations} END",
    "workspace_id": "{first_workspace_id} + CASE n % 3 WHEN 0 THEN 0"
    " ELSE n * 7919 % {conversations} % {workspace_count} END",
    "anchor": "'e-' || n",
    "position": "n",
    "inquiry_id": "'call_' || n || '.go.1'",
    "asker": "'tool ' || (n % 5)",
    "source": "CASE n % 4 WHEN 0 THEN 'assistant' ELSE 'tool' END",
    "question": "json_set(question, '$.text', 'Go on with number ' || n)",
    "state": "CASE WHEN n % 10 < 7 THEN 'answered' WHEN n % 10 < 9 THEN 'cancelled'"
    " WHEN n < 1000 AND n % 50 = 9 THEN 'open' ELSE 'unanswered' END",
    "reason": "CASE n % 10 WHEN 7 THEN 'user' WHEN 8 THEN 'expired' ELSE '' END",
    "decider_name": "CASE WHEN n % 10 < 7 THEN 'Person ' || (n % 5) ELSE '' END",
    "asked_at": "datetime('2020-01-01', '+' || (n * {step}) || ' seconds')",
    "settled_at": "CASE WHEN n % 10 < 9 THEN"
    " datetime('2020-01-01', '+' || (n * {step} + n * 31 % 900) || ' seconds') END",
}
#: The inquiries of both databases fill the same years, so a filter by date takes the same share.
_SECONDS = int(timedelta(days=6 * 365).total_seconds())


def measure_table(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of the operation with the worst ratio, among many and among few."""
    return max(compare_worst_pages(bench, progress).values(), key=_get_ratio)


def compare_worst_pages(bench: BenchRun, progress: Progress) -> dict[str, tuple[float, float]]:
    """Return the milliseconds of the operations with the worst ratios, among many and few."""
    many, few = (AuditDatabase(bench, count) for count in (bench.size.audited_inquiries, FEW))
    paths = PATHS[: bench.size.audit_operations]

    def compare(paths: Sequence[str], rounds: int) -> dict[str, tuple[float, float]]:
        pairs: dict[str, tuple[float, float]] = {}
        for path in paths:
            value, floor = measure_interleaved(
                bench,
                partial(many.time_pages, path),
                partial(few.time_pages, path),
                lambda done, total: progress(len(pairs) * total + done, len(paths) * total),
                rounds,
            )
            pairs[path] = value * 1000, floor * 1000
        return pairs

    pairs = compare(paths, ROUNDS)
    worst_paths = sorted(pairs, key=lambda path: _get_ratio(pairs[path]))[-REPEATED:]
    return compare(worst_paths, REPEATED_ROUNDS)


def _get_ratio(pair: tuple[float, float]) -> float:
    return pair[0] / pair[1]


class AuditDatabase:
    """A database of inquiries, and an auditor of all of them."""

    def __init__(self, bench: BenchRun, count: int) -> None:
        self._path = bench.make_database()
        with use_database(self._path):
            self._auditor = _fill(count)

    def time_pages(self, query: str) -> float:
        """Return the seconds of a page and of the one that follows, if there is one."""
        rate_limits.SEARCH_LIMIT.clear()  # nobody looks for words so often
        with use_database(self._path):
            client = Client(SERVER_NAME="localhost")
            client.force_login(self._auditor)
            client.get("/help")  # opens the database
            first, html = _time_page(client, f"?{query}")
            following = _NEXT.search(html)
            return (
                first
                if following is None
                else max(first, _time_page(client, unescape(following[1]))[0])
            )


def _time_page(client: Client, query: str) -> tuple[float, str]:
    start_time = perf_counter()
    response = client.get(f"/audit{query}")
    seconds = perf_counter() - start_time
    assert response.status_code == 200
    return seconds, response.content.decode()


def _fill(count: int) -> Person:
    workspaces = [making.workspace(f"Workspace {n}") for n in range(WORKSPACE_COUNT)]
    auditor = making.person("auditor")
    Membership.objects.bulk_create(
        Membership(person=auditor, workspace=workspace, role=Role.AUDITOR, direct_role=Role.AUDITOR)
        for workspace in workspaces
    )
    conversations = [
        making.conversation(workspaces[n % WORKSPACE_COUNT]) for n in range(CONVERSATIONS)
    ]
    question = making.question(making.start_run(conversations[0]))
    columns = [
        column for field in Inquiry._meta.concrete_fields if (column := str(field.column)) != "id"
    ]
    expressions = {
        column: text.format(
            conversations=CONVERSATIONS,
            first_workspace_id=workspaces[0].pk,
            workspace_count=WORKSPACE_COUNT,
            step=max(_SECONDS // count, 1),
        )
        for column, text in _VALUES.items()
    }
    assert Conversation.objects.order_by("pk")[0].pk == 1
    with connection.cursor() as cursor:
        cursor.execute(
            _FILL.format(
                columns=", ".join(columns),
                values=", ".join(expressions.get(name, f"first.{name}") for name in columns),
                count=count,
                first=question.pk,
            )
        )
    return auditor
