"""Pages of the audit table: each order complete and by its index, on both databases."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store.audit import AuditFilters
from jpweb.store.choices import Role
from jpweb.store.models import Inquiry, Person
from jpweb.store.reviews import inquiry_pages
from jpweb.store.reviews.inquiry_pages import SORT_COLUMNS, Order
from jpweb.stream.inquiry import Answered
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def auditor(monkeypatch: pytest.MonkeyPatch) -> Person:
    """Return an auditor of seven questions, in pages of two; some values are equal."""
    run = making.start_run(making.conversation(making.workspace()))
    person = making.person("auditor", Role.AUDITOR, run.conversation.workspace)
    for number in range(7):
        row = making.question(run)
        if number < 5:
            making.settle(row, Answered(True), making.decider(person))
            settled_at = row.asked_at + timedelta(seconds=number // 2)
            Inquiry.objects.filter(pk=row.pk).update(settled_at=settled_at)
        Inquiry.objects.filter(pk=row.pk).update(asker=f"tool {number % 3}")
    monkeypatch.setattr(inquiry_pages, "PAGE_ROWS", 2)
    return person


def list_all(person: Person, order: Order) -> list[Inquiry]:
    rows: list[Inquiry] = []
    key = 0
    while True:
        page, key = inquiry_pages.load_page(person.pk, AuditFilters(), order, key)
        rows += page
        if not key:
            return rows


def get_waited(row: Inquiry) -> float:
    return (row.settled_at - row.asked_at).total_seconds() if row.settled_at else -1


VALUES: dict[str, Any] = {
    "asked": lambda row: row.asked_at,
    "asker": lambda row: row.asker,
    "outcome": lambda row: row.state,
    "decider": lambda row: row.decider_name,
    "waited": get_waited,
}


@pytest.mark.parametrize("name", SORT_COLUMNS)
def test_pages_of_an_order_have_each_question_once_in_it(auditor: Person, name: str):
    for is_descending in (True, False):
        rows = list_all(auditor, Order(name, is_descending))
        expected = sorted(
            Inquiry.objects.all(),
            key=lambda row: (VALUES[name](row), row.pk),
            reverse=is_descending,
        )
        assert [row.pk for row in rows] == [row.pk for row in expected]


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("asker", "inquiries_by_asker"),
        ("outcome", "inquiries_by_state"),
        ("decider", "inquiries_by_decider"),
        ("waited", "inquiries_by_waiting_time"),
    ],
)
def test_order_is_that_of_an_index(auditor: Person, name: str, index: str):
    with CaptureQueriesContext(connection) as captured:
        inquiry_pages.load_page(auditor.pk, AuditFilters(), Order(name, True), 0)
    sql = next(query["sql"] for query in captured if "ORDER BY" in query["sql"])
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # it would sort so few rows
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(f"{explain} {sql}")
        plan = "\n".join(str(row[-1]) for row in cursor.fetchall())
    assert index in plan
    assert "TEMP B-TREE" not in plan


def test_attempt_is_the_last_part_of_an_id_of_three():
    ids = ("call_1.bees.2", "a.b.c.12", "free", "free.2", "call.bees.x", "call.bees.99999", "")
    assert [inquiry_pages.parse_attempt(text) for text in ids] == ["2", "12", *[""] * 5]
