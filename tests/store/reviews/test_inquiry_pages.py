"""Pages of the audit table: each order complete and by its index, on both databases."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import audit
from jpweb.store.audit import AuditFilters
from jpweb.store.choices import Role
from jpweb.store.models import Inquiry, Membership, Person
from jpweb.store.reviews import inquiry_pages, inquiry_ranges
from jpweb.store.reviews.inquiry_ranges import SORT_COLUMNS, Order
from jpweb.store.sql import keyset_merge
from tests.machine.sizes import mark_proof
from tests.machine.suite.row_copies import RowCopies
from tests.store import making
from tests.store.reviews import audited_rows

pytestmark = pytest.mark.django_db
#: In the order of their code points, which is not that of a language.
PEOPLE = ["Zoe", "ada", "ben", "Ä"]
DAY = timedelta(days=1)


def make_auditor() -> Person:
    """Return an auditor of two workspaces of three; some values of their questions are equal."""
    workspaces = [making.workspace(name) for name in ("Garden", "Kitchen", "Cellar")]
    person = making.person("auditor", Role.AUDITOR, workspaces[0])
    Membership.objects.create(person=person, workspace=workspaces[1], role=Role.AUDITOR)
    conversations = [making.conversation(workspace) for workspace in workspaces]
    for number in range(24):
        asked_at = audited_rows.BEGIN + DAY * (number // 4)
        is_settled = number % 5 > 0
        audited_rows.save_inquiry(
            conversations[number % 3],
            asked_at=asked_at,
            settled_at=asked_at + timedelta(seconds=number // 6) if is_settled else None,
            asker=f"tool {number % 2}",
            source="tool" if number % 7 else "assistant",
            state=("cancelled" if number % 4 else "answered") if is_settled else "open",
            reason="user" if is_settled and number % 4 else "",
            decider_name=PEOPLE[number % 4] if is_settled else "",
            question={"text": f"Go on with {number}?"},
        )
    return person


copy_auditor = RowCopies(make_auditor)


@pytest.fixture
def auditor(db: None, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Return an auditor who sees pages of two rows."""
    monkeypatch.setattr(inquiry_pages, "PAGE_ROWS", 2)
    return copy_auditor()


def list_all(
    person: Person,
    order: Order,
    filters: AuditFilters = AuditFilters(),  # noqa: B008  frozen
) -> list[Inquiry]:
    rows: list[Inquiry] = []
    key = 0
    while True:
        page = audited_rows.load_page(person, filters, order, key)
        rows += page.rows
        key = page.next_key
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
            Inquiry.objects.exclude(workspace__name="Cellar"),
            key=lambda row: (VALUES[name](row), row.pk),
            reverse=is_descending,
        )
        assert [row.pk for row in rows] == [row.pk for row in expected]


@pytest.mark.parametrize("name", SORT_COLUMNS)
def test_inquiry_page_from_a_row_continues_in_its_order(auditor: Person, name: str):
    for is_descending in (True, False):
        order = Order(name, is_descending)
        keys = [row.pk for row in list_all(auditor, order)]
        for number, key in enumerate(keys):
            page = audited_rows.load_page(auditor, AuditFilters(), order, key, has_first=True)
            assert [row.pk for row in page.rows] == keys[number : number + 2]


@pytest.mark.parametrize("has_first", [False, True], ids=["before", "at"])
@pytest.mark.parametrize(
    "name", ["asked", *mark_proof(*(name for name in SORT_COLUMNS if name != "asked"))]
)
def test_inquiry_page_from_a_row_of_others_is_that_of_a_missing_row(
    auditor: Person, name: str, has_first: bool
):
    missing_key = Inquiry.objects.latest("pk").pk + 1
    for foreign_row in Inquiry.objects.filter(workspace__name="Cellar"):
        for is_descending in (True, False):
            foreign_page, missing_page = (
                audited_rows.load_page(
                    auditor, AuditFilters(), Order(name, is_descending), key, has_first=has_first
                )
                for key in (foreign_row.pk, missing_key)
            )
            assert foreign_page == missing_page


FILTERS: dict[str, Any] = {
    "tool": "tool 1",
    "outcome": "cancelled",
    "reason": "user",
    "source": "tool",
    "person": "ada",
    "words": "with 1",
    "since": audited_rows.BEGIN + DAY,
    "until": audited_rows.BEGIN + DAY * 5,
    "decided": "person",
}


#: Each filter alone, and some with the next one.
_FILTER_NAMES = [(name,) for name in FILTERS] + list(pairwise(FILTERS))[::2]


@pytest.mark.parametrize("scan_limit", [2, *mark_proof(2000)])
def test_filters_find_the_same_rows_in_every_order_and_page_size(
    auditor: Person, monkeypatch: pytest.MonkeyPatch, scan_limit: int
):
    monkeypatch.setattr(inquiry_pages, "PAGE_ROWS", 5)
    monkeypatch.setattr(inquiry_ranges, "MAX_SCANNED_ROWS", scan_limit)
    monkeypatch.setattr(keyset_merge, "_MIN_SCANNED_ROWS", 2)
    for names in _FILTER_NAMES:
        filters = AuditFilters(**{name: FILTERS[name] for name in names})
        expected = [row.pk for row in audit.list_inquiries(auditor.pk, filters)]
        assert [row.pk for row in list_all(auditor, Order(), filters)] == expected, names
        by_other = list_all(auditor, Order("decider", is_descending=False), filters)
        assert sorted(row.pk for row in by_other) == sorted(expected), names


def test_page_that_scans_no_further_says_so(auditor: Person, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inquiry_ranges, "MAX_SCANNED_ROWS", 4)
    monkeypatch.setattr(keyset_merge, "_MIN_SCANNED_ROWS", 1)
    nothing = AuditFilters(words="nothing like it")
    page = audited_rows.load_page(auditor, nothing, Order(), 0)
    assert (page.rows, page.is_truncated, page.next_key > 0) == ([], True, True)
    monkeypatch.setattr(inquiry_ranges, "MAX_SCANNED_ROWS", 2000)
    assert audited_rows.load_page(auditor, nothing, Order(), 0) == ([], 0, False)


def test_text_with_nul_matches_nothing(auditor: Person):
    for name in ("words", "tool"):
        text: dict[str, Any] = {name: "a\x00"}
        filters = AuditFilters(**text)
        assert audited_rows.load_page(auditor, filters, Order(), 0) == ([], 0, False)


def drop_other_indexes(index: str, cursor: Any) -> None:
    """Drop the table's other indexes until the test's transaction is rolled back.

    Of so few rows every index costs PostgreSQL the same, and it may filter those of another one.
    """
    cursor.execute("SET LOCAL enable_seqscan = off")
    cursor.execute("SET LOCAL enable_sort = off")
    cursor.execute(
        "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = %s::regclass"
        " AND NOT indisunique AND indexrelid <> %s::regclass",
        [Inquiry.TABLE, index],
    )
    for (name,) in cursor.fetchall():
        cursor.execute(f"DROP INDEX {name}")


@pytest.mark.parametrize(
    ("order", "filters", "index"),
    [
        ("asked", {}, "audit_by_time"),
        ("asker", {}, "audit_by_asker"),
        ("outcome", {}, "audit_by_state"),
        ("decider", {}, "audit_by_decider"),
        ("waited", {}, "audit_by_waiting_time"),
        ("asked", {"tool": "tool 1"}, "audit_of_asker"),
        ("asked", {"outcome": "open"}, "audit_of_state"),
        ("asked", {"reason": "user"}, "audit_of_reason"),
        ("asked", {"source": "tool"}, "audit_of_source"),
        ("asked", {"person": "ada"}, "audit_of_decider"),
        ("asked", {"conversation": 1}, "audit_of_conversation"),
    ],
)
def test_order_is_that_of_an_index_which_alone_is_read(
    auditor: Person, order: str, filters: dict[str, Any], index: str
):
    with CaptureQueriesContext(connection) as captured:
        audited_rows.load_page(auditor, AuditFilters(**filters), Order(order, True), 0)
    statements = [query["sql"] for query in captured]
    sql = next(each for each in statements if Inquiry.TABLE in each and "ORDER BY" in each)
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            drop_other_indexes(index, cursor)
        cursor.execute(f"{explain} {sql}")
        plan = "\n".join(str(row[-1]) for row in cursor.fetchall())
    assert index in plan
    assert "TEMP B-TREE" not in plan
    assert "Sort" not in plan
    has_expression = order == "waited"  # SQLite reads the columns of an expression from the row
    assert connection.vendor != "sqlite" or has_expression or f"COVERING INDEX {index}" in plan


def test_account_of_a_name_is_looked_for_among_the_rows_of_the_name(auditor: Person):
    with CaptureQueriesContext(connection) as captured:
        filters = AuditFilters(person="ada", account=auditor.pk)
        audited_rows.load_page(auditor, filters, Order(), 0)
    statements = [query["sql"] for query in captured]
    sql = next(each for each in statements if Inquiry.TABLE in each and "ORDER BY" in each)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            drop_other_indexes("audit_of_decider", cursor)
        cursor.execute(
            f"{'EXPLAIN QUERY PLAN' if connection.vendor == 'sqlite' else 'EXPLAIN'} {sql}"
        )
        assert "audit_of_decider" in "\n".join(str(row[-1]) for row in cursor.fetchall())


def test_attempt_is_the_last_part_of_an_id_of_three():
    ids = ("call_1.bees.2", "a.b.c.12", "free", "free.2", "call.bees.x", "call.bees.99999", "")
    assert [inquiry_pages.parse_attempt(text) for text in ids] == ["2", "12", *[""] * 5]


def test_a_page_reads_no_more_of_a_question_than_the_text_begins(auditor: Person):
    options = [{"value": number} for number in range(10_000)]
    text = "Go on?\n" + "x" * 5_000
    Inquiry.objects.update(question={"text": text, "answer_type": {"options": options}})
    rows: list[Any] = list_all(auditor, Order())
    assert {row.question_text for row in rows} == {text[:1_000]}
    assert not [row for row in rows if "question" in vars(row)]
