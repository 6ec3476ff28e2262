"""Decisions of all kinds in one order: each once, of audited workspaces alone."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import accounts, approvals
from jpweb.store.choices import Act, ApprovalKind, DecisionKind, Role
from jpweb.store.decision_filters import decision_matches
from jpweb.store.errors import ExportBroken
from jpweb.store.ledger import entry_macs, newest_entries
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Approval, Inquiry, LedgerEntry, Membership, Person, Run
from jpweb.store.reviews import decisions
from jpweb.store.reviews.decisions import DecisionFilters
from jpweb.store.transcript import call_anchors
from jpweb.stream.answer_type import Boolean
from jpweb.stream.inquiry import Answered
from tests.machine.sizes import mark_proof
from tests.machine.suite.row_copies import RowCopies
from tests.store import making

pytestmark = pytest.mark.django_db
AT = datetime(2026, 10, 8, tzinfo=UTC)
#: Parameters of a statement of SQLite, in tests; its own limit is 32,766 or higher.
MAX_PARAMETERS = 1000


def make_auditor() -> Person:
    """Return the auditor of a workspace: each kind has two rows, or one ledger entry."""
    run = making.start_run(making.conversation(making.workspace()))
    person = making.person("auditor", Role.AUDITOR, run.conversation.workspace)
    decider = making.decider(person)
    for allow in (True, False):
        making.settle(making.question(run, Boolean()), Answered(allow), decider)
        for kind in ApprovalKind:
            approvals.decide_approval(making.prompt(run, kind).pk, {"allow": allow}, decider)
    making.prompt(run)
    member = Membership.objects.get(
        person=making.person("bob", Role.READER, run.conversation.workspace)
    )
    place = Place(run.conversation.workspace_id, run.conversation_id)
    acts = (Act.TRUST_GIVEN, Act.REDACTED, Act.REVIEWED, Act.READ)
    for act in (*acts, Act.SETTING_CHANGED, Act.SUSPICION_DISMISSED, Act.CALL_RAN_UNATTENDED):
        record_act(act, Actor.from_person(person), place)
    accounts.change_role(member, Role.RESPONDER, Actor.from_person(person))
    return person


copy_auditor = RowCopies(make_auditor)


@pytest.fixture
def auditor(db: None) -> Person:
    return copy_auditor()


def list_all(viewer: Person, **filters: Any) -> list[tuple[str, int]]:
    """Return the kinds and keys of all decisions, page by page."""
    rows: list[tuple[str, int]] = []
    after = None
    while True:
        page, after = decisions.list_page(viewer.pk, DecisionFilters(**filters), after)
        rows += [(str(decision.kind), decision.row.pk) for decision in page]
        if after is None:
            return rows


@pytest.fixture
def few_parameters() -> Iterator[None]:
    """Let a statement have ``MAX_PARAMETERS`` parameters; PostgreSQL gets them in its text."""
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    limit = sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER
    usual = connection.connection.setlimit(limit, MAX_PARAMETERS)
    yield
    connection.connection.setlimit(limit, usual)


def forge_reviews(run: Run, number: int) -> None:
    """Insert entries as write access to the database allows, newer than all others."""
    values = {"act": Act.REVIEWED, "workspace_id": run.conversation.workspace_id}
    entries = [
        LedgerEntry(text="{}", text_hash=f"{key:064}", mac="0" * 64, at=AT.replace(2099), **values)
        for key in range(number)
    ]
    LedgerEntry.objects.bulk_create(entries, batch_size=50)


@pytest.mark.parametrize("size", [2, *mark_proof(1, 3, 100)])
@pytest.mark.parametrize("equal", [False, True])
def test_pages_cover_every_decision_once_newest_first(
    auditor: Person, monkeypatch: pytest.MonkeyPatch, size: int, equal: bool
):
    if equal:
        Inquiry.objects.update(settled_at=AT)
        Approval.objects.filter(state="decided").update(settled_at=AT)
        LedgerEntry.objects.update(at=AT)
    whole = list_all(auditor)
    monkeypatch.setattr(decisions, "PAGE_DECISIONS", size)
    assert list_all(auditor) == whole
    kinds = [kind for kind, _ in whole]
    assert Counter(kinds) == {
        "question": 2, "run": 2, "deliver": 2, "trust": 1, "rights": 1, "redaction": 1, "review": 1,
        "setting": 1, "suspicion": 1,
    }  # fmt: skip
    if not equal:
        assert whole[0][0] == "rights"


def test_kind_filters_to_its_rows_alone(auditor: Person):
    rows = list_all(auditor, unattended=True)
    for kind in DecisionKind:
        assert list_all(auditor, kind=str(kind)) == [row for row in rows if row[0] == kind] != []


def test_person_conversation_and_dates_filter(auditor: Person, run: Run):
    assert len(list_all(auditor, person=auditor.pk)) == 12
    assert list_all(auditor, person=making.person().pk) == []
    assert len(list_all(auditor, conversation=run.conversation_id)) == 11
    Inquiry.objects.update(settled_at=AT)
    assert [kind for kind, _ in list_all(auditor, until=AT)] == []
    assert [kind for kind, _ in list_all(auditor, since=AT, until=AT.replace(day=9))] == [
        "question"
    ] * 2


def test_export_reads_every_decision_once_while_the_roles_stay(
    auditor: Person, monkeypatch: pytest.MonkeyPatch
):
    whole = list_all(auditor)
    monkeypatch.setattr(decisions, "PAGE_DECISIONS", 5)
    pages = list(decisions.read_pages(auditor.pk, DecisionFilters()))
    assert [(str(row.kind), row.row.pk) for page, _ in pages for row in page] == whole
    assert [is_last for _, is_last in pages] == [False, False, True]
    broken_pages = decisions.read_pages(auditor.pk, DecisionFilters())
    next(broken_pages)
    Membership.objects.filter(person=auditor).update(role=Role.READER)
    with pytest.raises(ExportBroken):
        next(broken_pages)


def test_decisions_of_other_workspaces_or_lower_roles_are_hidden(auditor: Person, run: Run):
    workspace = run.conversation.workspace
    assert list_all(making.person("eve", Role.AUDITOR, making.workspace())) == []
    assert list_all(making.person("ann", Role.RESPONDER, workspace)) == []
    assert list_all(auditor, workspace=making.workspace().pk) == []
    assert len(list_all(auditor, workspace=workspace.pk)) == 12


def test_decisions_page_queries_do_not_grow_with_decisions(auditor: Person, run: Run):
    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            decisions.list_page(auditor.pk, DecisionFilters(), None)
        return len(captured)

    before = count()
    for _ in range(5):
        row = making.prompt(run)
        approvals.decide_approval(row.pk, {"allow": True}, making.decider(making.person()))
    assert count() == before


def test_approval_leads_to_the_latest_call_of_its_id(run: Run):
    row = making.prompt(run)
    assert call_anchors.find_call_anchor(row) == ""
    Approval.objects.filter(pk=row.pk).update(tool_call_id="call_1")
    row.refresh_from_db()
    call = run.conversation.journal.get(category="call")
    assert call_anchors.find_call_anchor(row) == call.anchor


def test_forged_rows_of_the_ledger_are_no_decisions(auditor: Person):
    rows = list_all(auditor)
    entry = LedgerEntry.objects.get(act=Act.REVIEWED)
    LedgerEntry.objects.filter(pk=entry.pk).update(mac="0" * 64, text="no JSON")
    assert list_all(auditor) == [row for row in rows if row != ("review", entry.pk)]


@pytest.mark.parametrize("size", [2, *mark_proof(1, 3)])
@pytest.mark.parametrize("equal", [False, True])
def test_forged_rows_among_decisions_hide_none_of_them(
    auditor: Person, run: Run, monkeypatch: pytest.MonkeyPatch, size: int, equal: bool
):
    forge_reviews(run, 20)
    if equal:
        LedgerEntry.objects.update(at=AT)
    whole = list_all(auditor)
    assert len(whole) == 12
    monkeypatch.setattr(newest_entries, "MAX_READ_ROWS", 4)
    monkeypatch.setattr(decisions, "PAGE_DECISIONS", size)
    assert list_all(auditor) == whole


@pytest.mark.usefixtures("few_parameters")
def test_decisions_page_survives_more_forged_rows_than_parameters(auditor: Person, run: Run):
    rows, filters = list_all(auditor), DecisionFilters(kind="review")
    forge_reviews(run, MAX_PARAMETERS + 1)
    assert list_all(auditor) == rows
    workspace_ids = [run.conversation.workspace_id]
    assert decisions.list_matching_workspaces(auditor.pk, filters) == workspace_ids
    LedgerEntry.objects.filter(act=Act.REVIEWED).update(mac="0" * 64)
    assert decisions.list_matching_workspaces(auditor.pk, filters) == []


def test_export_checks_the_codes_of_its_own_entries_alone(
    auditor: Person, run: Run, monkeypatch: pytest.MonkeyPatch
):
    for _ in range(20):
        record_act(Act.READ, Actor.from_person(auditor), Place(run.conversation.workspace_id))
    checked_hashes = []

    def check_mac(text_hash: str, mac: str | None) -> bool:
        checked_hashes.append(text_hash)
        return mac is not None

    monkeypatch.setattr(entry_macs, "is_mac_valid", check_mac)
    monkeypatch.setattr(decisions, "PAGE_DECISIONS", 5)
    pages = [page for page, _ in decisions.read_pages(auditor.pk, DecisionFilters())]
    rows = [decision.row for page in pages for decision in page]
    exported_hashes = {row.text_hash for row in rows if isinstance(row, LedgerEntry)}
    assert exported_hashes == {*checked_hashes}


def test_entries_of_each_act_are_read_in_the_order_of_its_index(auditor: Person):
    with CaptureQueriesContext(connection) as captured:
        decisions.list_page(auditor.pk, DecisionFilters(kind="rights"), None)
    statements = [query["sql"] for query in captured]
    sql = next(each for each in statements if LedgerEntry.TABLE in each and "UNION" in each)
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_bitmapscan = off")
            cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(f"{explain} {sql}")
        plan = "\n".join(str(row[-1]) for row in cursor.fetchall())
    assert plan.count("ledger_by_act") == len(decisions.ACTS_BY_KIND[DecisionKind.RIGHTS])
    # The merge alone sorts: a page of each act at most, once its range is read. PostgreSQL sorts
    # either all pages or each one.
    lines = plan.splitlines()
    sorted_nodes = [below for line, below in pairwise(lines) if "Sort Key: store_" in line]
    assert [node for node in sorted_nodes if "->  Limit" not in node] == [], plan
    assert plan.count("TEMP B-TREE FOR ORDER BY") == plan.count("SCAN part\nUSE TEMP B-TREE")


def test_place_of_a_page_bounds_its_rows_before_the_period(
    auditor: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(decisions, "PAGE_DECISIONS", 2)
    filters = DecisionFilters(until=datetime(2100, 1, 1, tzinfo=UTC))
    _, after = decisions.list_page(auditor.pk, filters, None)
    with CaptureQueriesContext(connection) as captured:
        decisions.list_page(auditor.pk, filters, after)
    bounds = [re.findall(r'(?:"at"|"settled_at") <=? .(\d{4})', query["sql"]) for query in captured]
    assert [years for years in bounds if years[:1] == ["2100"]] == []
    assert sum("2100" in years for years in bounds) == 3


def test_workspaces_of_an_export_have_some_of_its_decisions(auditor: Person, run: Run):
    accounts.make_owner(auditor, making.workspace("Elsewhere"))
    workspace_id = run.conversation.workspace_id
    for kind, keys in (("question", [workspace_id]), ("setting", [workspace_id])):
        filters = DecisionFilters(kind=kind, conversation=run.conversation_id)
        assert decisions.list_matching_workspaces(auditor.pk, filters) == keys
    filters = DecisionFilters(since=datetime(2100, 1, 1, tzinfo=UTC))
    assert decisions.list_matching_workspaces(auditor.pk, filters) == []


def test_id_of_more_questions_than_entries_are_looked_up_for_finds_all(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(decision_matches, "_MAX_MATCHED_QUESTIONS", 1)
    workspace = making.workspace()
    auditor = making.person("auditor", Role.AUDITOR, workspace)
    run = making.start_run(making.conversation(workspace))
    rows = [making.settle(making.question(run), making.ANSWER) for _ in range(3)]
    call_id, _, _ = rows[0].inquiry_id.partition(".")
    filters = DecisionFilters(identifier=call_id)
    page, _ = decisions.list_page(auditor.pk, filters, None)
    assert {decision.row.pk for decision in page} == {row.pk for row in rows}
    filters = DecisionFilters(identifier=rows[1].inquiry_id)
    page, _ = decisions.list_page(auditor.pk, filters, None)
    assert [decision.row.pk for decision in page] == [rows[1].pk]
