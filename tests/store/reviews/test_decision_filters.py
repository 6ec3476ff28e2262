"""Filters of decisions that no index answers: by tool, words and kind of decider, in bounded work.

They are tested on the rows of each table, and on the texts of the ledger's entries.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from jpweb.store import approvals
from jpweb.store.choices import Act, Role
from jpweb.store.decision_filters import decision_places
from jpweb.store.inquiries import Decider
from jpweb.store.ledger import sealing
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Approval, Inquiry, LedgerEntry, Person, Run
from jpweb.store.reviews import decisions
from jpweb.store.reviews.decisions import DecisionFilters
from jpweb.store.reviews.state_counts import StateCount
from jpweb.stream.inquiry import Answered
from tests.machine.suite.row_copies import RowCopies
from tests.store import making

pytestmark = pytest.mark.django_db


def make_auditor() -> Person:
    """Return the auditor of decisions by three kinds of deciders, on two tools."""
    run = making.start_run(making.conversation(making.workspace()))
    person = making.person("auditor", Role.AUDITOR, run.conversation.workspace)
    place = Place(run.conversation.workspace_id, run.conversation_id)
    making.settle(making.question(run, text="Plant Écus?"), Answered(True), making.decider(person))
    making.settle(making.question(run), Answered(True), Decider("configuration"))
    Inquiry.objects.update(asker="vault")
    decision = {"allow": False, "reason": "Not 100% [sure] about écus"}
    approvals.decide_approval(making.prompt(run).pk, decision, making.decider(person))
    for actor, tool in (
        (Actor("configuration"), "vault"),
        (Actor("memory", 'An "by" name', person.pk), "git_tag"),
    ):
        record_act(Act.CALL_DECIDED_BY_POLICY, actor, place, tool=tool, policy="skip", allow=True)
    record_act(Act.REDACTED, Actor.from_person(person), place, reason='A "secret" of ÉCUS')
    sealing.seal_entries()
    return person


copy_auditor = RowCopies(make_auditor)


@pytest.fixture
def auditor(db: None) -> Person:
    return copy_auditor()


def list_pages(viewer: Person, **filters: Any) -> list[list[str]]:
    """Return the kinds of all decisions, page by page, oldest first."""
    pages: list[list[str]] = []
    after = None
    while True:
        page, after = decisions.list_page(viewer.pk, DecisionFilters(**filters), after)
        pages.append([str(decision.kind) for decision in page])
        if after is None:
            return pages


def list_kinds(viewer: Person, **filters: Any) -> list[str]:
    return sorted(kind for page in list_pages(viewer, **filters) for kind in page)


#: Filters, and the kinds of the decisions that they let through.
KINDS_BY_FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"tool": "vault"}, ["question", "question", "run", "run"]),
    ({"tool": "git_tag"}, ["run"]),
    ({"tool": "VAULT"}, []),
    ({"tool": 'vault","x":"'}, []),
    ({"words": "écus"}, ["question", "redaction", "run"]),
    ({"words": "go ON"}, ["question"]),
    ({"words": "100% [sure]"}, ["run"]),
    ({"words": '"SECRET"'}, ["redaction"]),
    ({"words": "git_tag"}, []),
    ({"words": "nonce"}, []),
    ({"decided": "person"}, ["question", "redaction", "run"]),
    ({"decided": "configuration"}, ["question", "run"]),
    ({"decided": "memory"}, ["run"]),
    ({"decided": "assistant"}, []),
    ({"decided": "memory", "tool": "vault"}, []),
    ({"decided": "person", "words": "écus", "kind": "run"}, ["run"]),
    ({"words": "a\x00b"}, []),
]


def test_tool_words_and_decider_let_through_rows_of_each_table(auditor: Person):
    for filters, kinds in KINDS_BY_FILTERS:
        assert list_kinds(auditor, **filters) == kinds, filters
        count = decisions.count_decisions(auditor.pk, DecisionFilters(**filters))
        assert count == StateCount(len(kinds), is_least=False), filters


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("Auditor", ["question", "redaction", "run"]),
        ("auditor", []),
        ("Sam (night)", ["question"]),
        ("Sam .night.", []),
        ('An "by" name', ["run"]),
        ("a\x00b", []),
    ],
)
def test_name_of_a_decider_lets_through_rows_of_each_table(
    run: Run, auditor: Person, name: str, kinds: list[str]
):
    making.settle(making.question(run), Answered(True), Decider("person", "Sam (night)"))
    place = Place(run.conversation.workspace_id, run.conversation_id)
    record_act(Act.REDACTED, Actor("person", "Eve", auditor.pk), place, name=name)
    assert list_kinds(auditor, decider=name) == kinds


def test_name_of_a_decider_is_looked_for_in_bounded_work(
    auditor: Person, monkeypatch: pytest.MonkeyPatch
):
    whole = list_kinds(auditor, decider="Auditor")
    monkeypatch.setattr(decision_places, "MAX_SCANNED_ROWS", 1)
    pages = list_pages(auditor, decider="Auditor")
    assert whole == ["question", "redaction", "run"]
    assert sorted(kind for page in pages for kind in page) == whole
    assert len(pages) > 1


@pytest.mark.parametrize("is_sealed", [False, True])
def test_words_find_the_note_of_a_dismissal(run: Run, auditor: Person, is_sealed: bool):
    place = Place(run.conversation.workspace_id, run.conversation_id)
    note = 'A "harmless" sample'
    record_act(Act.SUSPICION_DISMISSED, Actor.from_person(auditor), place, note=note, count=1)
    if is_sealed:
        sealing.seal_entries()
    assert list_kinds(auditor, words='"HARMLESS" s') == ["suspicion"]
    assert list_kinds(auditor, words="sample", kind="suspicion") == ["suspicion"]
    assert list_kinds(auditor, words="count") == []


def test_withdrawn_approval_counts_as_decided_by_jpweb(run: Run, auditor: Person):
    approvals.withdraw_approval(making.prompt(run).pk)
    assert list_kinds(auditor, decided="system") == ["run"]


@pytest.mark.parametrize("equal", [False, True])
def test_scan_of_a_page_stops_at_its_limit_and_goes_on(
    auditor: Person, monkeypatch: pytest.MonkeyPatch, equal: bool
):
    if equal:
        at = LedgerEntry.objects.latest("at").at
        Inquiry.objects.update(settled_at=at)
        Approval.objects.update(settled_at=at)
        LedgerEntry.objects.update(at=at)
    expected = list_kinds(auditor, tool="vault")
    monkeypatch.setattr(decision_places, "MAX_SCANNED_ROWS", 1)
    pages = list_pages(auditor, tool="vault")
    assert sorted(kind for page in pages for kind in page) == expected
    assert len(pages) > 1
    count = decisions.count_decisions(auditor.pk, DecisionFilters(tool="vault"))
    assert count.is_least
    assert list_pages(auditor, decided="assistant")[0] == []


def test_pages_of_a_scan_go_on_with_older_rows(auditor: Person, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(decision_places, "MAX_SCANNED_ROWS", 1)
    cursors = []
    after = None
    while True:
        _, after = decisions.list_page(auditor.pk, DecisionFilters(decided="assistant"), after)
        if after is None:
            break
        assert after.ends_scan
        cursors.append(after)
    assert cursors
    assert all(newer > older for newer, older in pairwise(cursors))


def test_conversation_is_read_without_a_limit(
    auditor: Person, run: Run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(decision_places, "MAX_SCANNED_ROWS", 1)
    assert len(list_pages(auditor, tool="vault", conversation=run.conversation_id)) == 1


def test_count_stops_at_its_limit(auditor: Person, monkeypatch: pytest.MonkeyPatch):
    assert decisions.count_decisions(auditor.pk, DecisionFilters()) == (6, False)
    monkeypatch.setattr(decisions, "MAX_COUNTED_DECISIONS", 4)
    assert decisions.count_decisions(auditor.pk, DecisionFilters()) == (4, True)


def test_calls_that_ran_without_asking_are_counted_within_the_filters(
    auditor: Person, run: Run, monkeypatch: pytest.MonkeyPatch
):
    place = Place(run.conversation.workspace_id, run.conversation_id)
    for tool in ("vault", "vault", "git_tag"):
        record_act(Act.CALL_RAN_UNATTENDED, Actor("configuration"), place, tool=tool)

    def count(**filters: Any) -> StateCount:
        return decisions.count_omitted_calls(auditor.pk, DecisionFilters(**filters))

    assert count(tool="vault") == (2, False)
    assert count(decided="person") == count(words="vault") == (0, False)
    monkeypatch.setattr(decision_places, "MAX_SCANNED_ROWS", 1)
    assert count(tool="git_tag") == (1, True)
