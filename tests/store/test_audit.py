from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

import pytest

from jpweb.store import audit
from jpweb.store.audit import AuditFilters
from jpweb.store.choices import Role
from jpweb.store.errors import ExportBroken
from jpweb.store.jp_files import mirror
from jpweb.store.models import Inquiry, Membership, Person, Workspace
from tests.machine.sizes import choose_size
from tests.store import making

pytestmark = pytest.mark.django_db
DAY = datetime(2026, 10, 8, tzinfo=UTC)
#: One value each, and what it means for a row.
EACH: dict[str, tuple[Any, Any]] = {
    "outcome": ("cancelled", lambda row: row.state == "cancelled"),
    "reason": ("user", lambda row: row.reason == "user"),
    "tool": ("git_tag", lambda row: row.asker == "git_tag"),
    "words": ("apply", lambda row: "apply" in row.question["text"].lower()),
    "source": ("assistant", lambda row: row.source == "assistant"),
    "person": ("Ada", lambda row: row.decider_name == "Ada"),
    "since": (DAY, lambda row: row.asked_at >= DAY),
    "until": (DAY + timedelta(days=6), lambda row: row.asked_at < DAY + timedelta(days=6)),
}


@pytest.fixture
def demo() -> Workspace:
    return mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")[0]


@pytest.fixture
def auditor(demo: Workspace) -> Person:
    return making.person("auditor", Role.AUDITOR, demo)


def test_conversation_is_a_filter_that_the_demo_answers_too(auditor: Person):
    other_row = making.question(making.start_run(making.conversation(making.workspace())))
    membership = Membership.objects.get(person=auditor)
    membership.pk, membership.workspace = None, other_row.conversation.workspace
    membership.save()
    conversation_id = Inquiry.objects.exclude(pk=other_row.pk).values_list(
        "conversation_id", flat=True
    )[0]
    rows = audit.list_inquiries(auditor.pk, AuditFilters(conversation=conversation_id))
    assert list(rows.values_list("conversation_id", flat=True).distinct().order_by()) == [
        conversation_id
    ]
    assert not audit.list_inquiries(auditor.pk, AuditFilters(conversation=0)).exists()


def test_filters_narrow_alone_and_together(auditor: Person):
    rows = list(Inquiry.objects.all())
    sizes = {*range(choose_size(2, len(EACH)) + 1), len(EACH)}
    for names in (names for n in sorted(sizes) for names in combinations(EACH, n)):
        queryset = audit.list_inquiries(
            auditor.pk, AuditFilters(**{name: EACH[name][0] for name in names})
        )
        expected_keys = [row.pk for row in rows if all(EACH[name][1](row) for name in names)]
        assert sorted(row.pk for row in queryset) == sorted(expected_keys), names
        batches = audit.read_batches(
            auditor.pk, AuditFilters(**{name: EACH[name][0] for name in names})
        )
        assert sorted(row.pk for batch in batches for row in batch.rows) == sorted(expected_keys), (
            names
        )


@pytest.mark.parametrize("name", EACH)
def test_audit_filters_each_match_some_inquiries(auditor: Person, name: str):
    count = audit.list_inquiries(auditor.pk, AuditFilters(**{name: EACH[name][0]})).count()
    assert 0 < count < Inquiry.objects.count()


def test_the_bounds_take_the_first_instant_and_leave_the_last(auditor: Person):
    row = Inquiry.objects.latest("pk")
    Inquiry.objects.filter(pk=row.pk).update(asked_at=DAY)
    assert row in audit.list_inquiries(auditor.pk, AuditFilters(since=DAY))
    assert row not in audit.list_inquiries(auditor.pk, AuditFilters(until=DAY))
    instant = timedelta(microseconds=1)
    assert row not in audit.list_inquiries(auditor.pk, AuditFilters(since=DAY + instant))
    assert row in audit.list_inquiries(auditor.pk, AuditFilters(until=DAY + instant))


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("equal", [False, True])
def test_the_batches_cover_every_row_once_the_newest_first(
    auditor: Person, monkeypatch: pytest.MonkeyPatch, size: int, equal: bool
):
    if equal:
        Inquiry.objects.update(asked_at=DAY)
    all_rows = sorted(Inquiry.objects.all(), key=lambda row: (row.asked_at, row.pk), reverse=True)
    monkeypatch.setattr(audit, "BATCH_ROWS", size)
    batches = list(audit.read_batches(auditor.pk, AuditFilters()))
    assert [row.pk for batch in batches for row in batch.rows] == [row.pk for row in all_rows]
    assert [batch.done < batch.total for batch in batches] == [True] * (len(batches) - 1) + [False]


def test_batches_end_with_an_error_when_the_role_ends(
    auditor: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(audit, "BATCH_ROWS", 1)
    batches = audit.read_batches(auditor.pk, AuditFilters())
    assert next(batches).rows
    Membership.objects.filter(person=auditor).update(role=Role.READER)
    with pytest.raises(ExportBroken):
        next(batches)


@pytest.mark.parametrize("role", [None, Role.READER, Role.RESPONDER])
def test_audit_is_empty_for_roles_below_auditor(demo: Workspace, role: Role | None):
    person = making.person("somebody", role, demo)
    assert not audit.list_inquiries(person.pk, AuditFilters()).exists()
    assert audit.list_filter_values(audit.list_workspaces(person.pk)) == audit.FilterValues(
        [], [], [], []
    )


def test_demo_is_left_out_beside_another_workspace(demo: Workspace, auditor: Person):
    other_workspace = making.workspace("Other")
    Membership.objects.create(person=auditor, workspace=other_workspace, role=Role.AUDITOR)
    row = making.question(making.start_run(making.conversation(other_workspace)))
    assert list(audit.list_inquiries(auditor.pk, AuditFilters())) == [row]
    assert in_batches(auditor) == {row.pk}
    everything = audit.list_inquiries(auditor.pk, AuditFilters(demo=True))
    of_demo = audit.list_inquiries(auditor.pk, AuditFilters(workspace=demo.pk))
    assert everything.count() == of_demo.count() + 1 > 2
    assert [workspace.name for workspace in audit.list_workspaces(auditor.pk)] == ["Other", "Demo"]


def in_batches(person: Person) -> set[int]:
    """Return the keys of the rows that a file for this person holds."""
    batches = audit.read_batches(person.pk, AuditFilters())
    return {row.pk for batch in batches for row in batch.rows}


def test_audit_lists_only_workspaces_of_the_auditor(demo: Workspace, auditor: Person):
    other_workspace = making.workspace("Other")
    row = making.question(making.start_run(making.conversation(other_workspace)))
    assert row.pk not in in_batches(auditor)
    assert row not in audit.list_inquiries(auditor.pk, AuditFilters())
    Membership.objects.create(person=auditor, workspace=other_workspace, role=Role.RESPONDER)
    assert row.pk not in in_batches(auditor)
    assert row not in audit.list_inquiries(auditor.pk, AuditFilters())
    Membership.objects.update(role=Role.OWNER)
    assert row.pk in in_batches(auditor)
    assert row in audit.list_inquiries(auditor.pk, AuditFilters())


def test_list_filter_values_returns_values_that_occur(auditor: Person):
    filter_values = audit.list_filter_values(audit.list_workspaces(auditor.pk))
    for values, column in (
        (filter_values.reasons, "reason"),
        (filter_values.sources, "source"),
        (filter_values.people, "decider_name"),
    ):
        row_values = set(Inquiry.objects.values_list(column, flat=True)) - {""}
        assert values == sorted(row_values)
        assert values


def test_filter_by_a_value_that_never_occurs_finds_nothing(auditor: Person):
    for name in ("reason", "source", "person", "outcome"):
        for value in ("\0", "'", "%", "nothing"):
            filters: dict[str, Any] = {name: value}
            assert not audit.list_inquiries(auditor.pk, AuditFilters(**filters)).exists()
