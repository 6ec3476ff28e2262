"""Decisions of all kinds in one order: each once, of audited workspaces alone."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import accounts, approvals
from jpweb.store.choices import Act, ApprovalKind, DecisionKind, Role
from jpweb.store.errors import ExportBroken
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Approval, Inquiry, LedgerEntry, Membership, Person, Run
from jpweb.store.reviews import decisions
from jpweb.store.reviews.decisions import DecisionFilters
from jpweb.stream.answer_type import Boolean
from jpweb.stream.inquiry import Answered
from tests.store import making

pytestmark = pytest.mark.django_db
AT = datetime(2026, 10, 8, tzinfo=UTC)


@pytest.fixture
def run() -> Run:
    return making.start_run(making.conversation(making.workspace()))


@pytest.fixture
def auditor(run: Run) -> Person:
    """Return the auditor of a workspace: each kind has two rows, or one ledger entry."""
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


def list_all(viewer: Person, **filters: Any) -> list[tuple[str, int]]:
    """Return the kinds and keys of all decisions, page by page."""
    rows: list[tuple[str, int]] = []
    after = None
    while True:
        page, after = decisions.list_page(viewer.pk, DecisionFilters(**filters), after)
        rows += [(str(decision.kind), decision.row.pk) for decision in page]
        if after is None:
            return rows


@pytest.mark.parametrize("size", [1, 2, 3, 100])
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


@pytest.mark.parametrize("kind", [*DecisionKind])
def test_kind_filters_to_its_rows_alone(auditor: Person, kind: DecisionKind):
    expected = [row for row in list_all(auditor, unattended=True) if row[0] == kind]
    assert list_all(auditor, kind=str(kind)) == expected != []


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


def test_other_workspaces_and_lower_roles_show_nothing(auditor: Person, run: Run):
    home = run.conversation.workspace
    assert list_all(making.person("eve", Role.AUDITOR, making.workspace())) == []
    assert list_all(making.person("ann", Role.RESPONDER, home)) == []
    assert list_all(auditor, workspace=making.workspace().pk) == []
    assert len(list_all(auditor, workspace=home.pk)) == 12


def test_more_decisions_take_no_more_queries(auditor: Person, run: Run):
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
    assert decisions.find_call_anchor(row) == ""
    Approval.objects.filter(pk=row.pk).update(tool_call_id="call_1")
    row.refresh_from_db()
    call = run.conversation.journal.get(category="call")
    assert decisions.find_call_anchor(row) == call.anchor


def test_forged_rows_of_the_ledger_are_no_decisions(auditor: Person):
    rows = list_all(auditor)
    entry = LedgerEntry.objects.get(act=Act.REVIEWED)
    LedgerEntry.objects.filter(pk=entry.pk).update(mac="0" * 64, text="no JSON")
    assert list_all(auditor) == [row for row in rows if row != ("review", entry.pk)]


def test_workspaces_of_an_export_have_some_of_its_decisions(auditor: Person, run: Run):
    accounts.make_owner(auditor, making.workspace("Elsewhere"))
    workspace_id = run.conversation.workspace_id
    for kind, keys in (("question", [workspace_id]), ("setting", [workspace_id])):
        filters = DecisionFilters(kind=kind, conversation=run.conversation_id)
        assert decisions.list_matching_workspaces(auditor.pk, filters) == keys
    filters = DecisionFilters(since=datetime(2100, 1, 1, tzinfo=UTC))
    assert decisions.list_matching_workspaces(auditor.pk, filters) == []
