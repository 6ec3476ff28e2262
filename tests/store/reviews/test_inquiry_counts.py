"""What charts count: the same as counting the rows by hand, on both databases."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import pytest

from jpweb.store import approvals
from jpweb.store.audit import AuditFilters
from jpweb.store.choices import ApprovalKind, Role
from jpweb.store.database import clock
from jpweb.store.jp_files import mirror
from jpweb.store.models import Approval, Conversation, Inquiry, Membership, Person
from jpweb.store.reviews import inquiry_counts
from tests.store import making
from tests.store.reviews.audited_rows import BEGIN, save_inquiry, save_many, take_sample

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("days", "unit"), [(1, "day"), (59, "day"), (61, "week"), (420, "month"), (3000, "year")]
)
def test_count_by_period_has_every_row_once(
    auditor: Person, conversations: list[Conversation], days: int, unit: str
):
    save_many(conversations, 60, days)
    save_inquiry(conversations[0], asked_at=BEGIN + timedelta(days=days))
    save_inquiry(conversations[0])
    periods, *undrawn_counts = inquiry_counts.count_by_period(take_sample(auditor))
    assert undrawn_counts == [0, 0]
    assert {period.unit for period in periods} == {unit}
    assert periods[0].first_day <= BEGIN.date() <= periods[0].last_day
    for period, following in pairwise(periods):
        assert following.first_day - period.last_day == timedelta(days=1)
    for period in periods:
        asked = Inquiry.objects.filter(
            asked_at__date__gte=period.first_day, asked_at__date__lte=period.last_day
        )
        assert period.counts == Counter(asked.values_list("state", flat=True))
    assert sum(sum(period.counts.values()) for period in periods) == 62


def test_count_by_period_of_millennia_has_the_last_periods(
    auditor: Person, conversations: list[Conversation]
):
    for year in (1, 1950, 2026):
        save_inquiry(conversations[0], asked_at=BEGIN.replace(year=year))
    periods, *undrawn_counts = inquiry_counts.count_by_period(take_sample(auditor))
    assert (len(periods), periods[-1].counts) == (60, {"answered": 1})
    assert undrawn_counts == [2, 0]
    assert sum(len(period.counts) for period in periods) == 1
    Inquiry.objects.exclude(asked_at__year=1).delete()
    save_inquiry(conversations[0], asked_at=BEGIN.replace(year=9))
    first = inquiry_counts.count_by_period(take_sample(auditor)).periods[0]
    assert (first.first_day, first.counts) == (date(1, 1, 1), {"answered": 1})


@pytest.mark.parametrize("year", [2099, 9999])
def test_question_of_a_clock_years_ahead_leaves_the_others_drawn(
    auditor: Person, conversations: list[Conversation], year: int
):
    save_inquiry(conversations[0])
    save_inquiry(conversations[0], asked_at=BEGIN + timedelta(days=2))
    save_inquiry(conversations[0], asked_at=BEGIN.replace(year=year))
    counts = inquiry_counts.count_by_period(take_sample(auditor))
    assert [period.unit for period in counts.periods] == ["day"] * 3
    assert sum(sum(period.counts.values()) for period in counts.periods) == 2
    assert (counts.earlier_count, counts.later_count) == (0, 1)


def test_grids_count_the_rest_together(auditor: Person, conversations: list[Conversation]):
    save_many(conversations, 500, 9)
    sample, rows = take_sample(auditor), list(Inquiry.objects.all())
    cancelled = Counter(row.asker for row in rows if row.state == "cancelled")
    grid = inquiry_counts.count_reasons_by_tool(sample)
    top = sorted(cancelled, key=lambda name: (-cancelled[name], name))[:12]
    assert grid.rows == [*top, None]
    assert grid.columns == ["user", "expired", None]
    assert sum(grid.counts.values()) == sum(cancelled.values())
    assert grid.counts[top[0], "user"] == sum(
        (row.asker, row.reason) == (top[0], "user") for row in rows
    )
    people = inquiry_counts.count_tools_by_person(sample)
    assert (len(people.rows), len(people.columns), people.columns[-1]) == (2, 7, None)
    assert sum(people.counts.values()) == sum(bool(row.decider_name) for row in rows)
    deciders = inquiry_counts.count_states_by_decider(sample)
    assert deciders.rows == ["person", "configuration", "memory", "system", None]
    settled = Counter(row.decided_by for row in rows if row.state != "open")
    assert settled["memory"] == deciders.counts["memory", "answered"]
    assert sum(deciders.counts.values()) == sum(settled.values())


def test_open_questions_are_counted_by_age_beyond_the_sample(
    auditor: Person, conversations: list[Conversation], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(inquiry_counts, "MAX_COUNTED_ROWS", 1)
    ages = [timedelta(hours=-1), *(timedelta(seconds=s) for s in (50, 70, 3700, 90_000, 900_000))]
    for age in ages:
        save_inquiry(conversations[0], state="open", asked_at=clock.now() - age, settled_at=None)
    save_inquiry(conversations[0])
    counts = inquiry_counts.count_open_by_age(auditor.pk, AuditFilters())
    assert counts == ([2, 1, 1, 1, 1], [0] * 5)
    sample = take_sample(auditor)
    assert (sample.is_limited, sample.rows.count()) == (True, 1)


OF_QUESTIONS = ("words", "reason", "source", "person", "decided")


def test_open_approvals_are_counted_by_age_within_the_filters(
    auditor: Person, conversations: list[Conversation]
):
    run = making.start_run(conversations[0])
    prompts = [making.prompt(run, kind) for kind in (*ApprovalKind, ApprovalKind.RUN)]
    asked_at = clock.now() - timedelta(hours=30)
    Approval.objects.exclude(pk=prompts[0].pk).update(asked_at=asked_at)
    approvals.decide_approval(prompts[2].pk, {"allow": True}, making.decider(auditor))
    making.prompt(making.start_run(making.conversation(making.workspace("Elsewhere"))))

    def count(**filters: Any) -> list[int]:
        return inquiry_counts.count_open_by_age(auditor.pk, AuditFilters(**filters)).approvals

    assert count() == [1, 0, 0, 1, 0]
    assert count(tool="vault", outcome="open", conversation=run.conversation_id) == count()
    assert count(until=asked_at + timedelta(hours=1)) == [0, 0, 0, 1, 0]
    assert count(identifier=prompts[0].tool_call_id) == [1, 0, 0, 0, 0]
    no_approvals: list[dict[str, Any]] = [
        {"tool": "other"}, {"tool": "a\x00"}, {"outcome": "cancelled"}, {"workspace": 10**6},
        *({name: "x"} for name in OF_QUESTIONS),
    ]  # fmt: skip
    assert [count(**filters) for filters in no_approvals] == [[0] * 5] * len(no_approvals)


def test_charts_count_questions_of_audited_workspaces(
    auditor: Person, conversations: list[Conversation]
):
    demo, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    Membership.objects.create(person=auditor, workspace=demo, role=Role.AUDITOR)
    save_inquiry(conversations[0], asker="seen")
    save_inquiry(making.conversation(making.workspace("Elsewhere")), asker="hidden")
    assert [row.asker for row in take_sample(auditor).rows] == ["seen"]
    assert take_sample(auditor, demo=True).rows.count() > 1
    assert not take_sample(auditor, tool="hidden").rows.exists()
    Membership.objects.update(role=Role.RESPONDER)
    assert not take_sample(auditor).rows.exists()
    assert inquiry_counts.count_open_by_age(auditor.pk, AuditFilters(demo=True)) == (
        [0] * 5,
        [0] * 5,
    )
