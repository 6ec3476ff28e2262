"""Many processes and one duty, on real connections; run on PostgreSQL too by postgresql/."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from django.db.models.functions import Now

from jpweb.store.errors import AlreadySettled
from jpweb.store.inquiries import Decider
from jpweb.store.maintenance import task_leases
from jpweb.store.models import Inquiry, TaskLease
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled
from tests.store import making
from tests.store.test_races import at_once

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 10


def race() -> list[str]:
    """Let processes try to hold a duty at once; return those that did."""
    holding: list[str] = []

    def attempt(number: int) -> None:
        if task_leases.acquire_or_renew("expiry", f"process {number}", 60):
            holding.append(f"process {number}")

    assert at_once(MANY, attempt) == {"won": MANY}
    return holding


def test_task_lease_has_one_holder_when_many_processes_start():
    (holder,) = race()
    assert TaskLease.objects.get().holder == holder


def test_expired_task_lease_passes_to_one_of_many_processes():
    task_leases.acquire_or_renew("expiry", "dead", 60)
    for _ in range(5):
        TaskLease.objects.update(lease_until=Now() - timedelta(milliseconds=1))
        assert len(race()) == 1


def answer_or_expire(row: Inquiry, number: int) -> None:
    if number:
        making.settle(row, Cancelled(CancellationReason.EXPIRED))
    else:
        making.settle(row, Answered(True), Decider("person", "Ada"))


def test_answer_and_expiry_at_once_settle_a_question_once():
    outcomes = set()
    for _ in range(10):
        row = making.question(making.start_run(making.conversation(making.workspace())))
        before = making.count_entries(row.conversation_id)
        results = at_once(2, partial(answer_or_expire, row))
        assert results == {"won": 1, AlreadySettled.__name__: 1}
        assert making.count_entries(row.conversation_id) == before + 1
        row.refresh_from_db()
        outcomes.add((row.state, row.reason))
    assert outcomes <= {("answered", ""), ("cancelled", "expired")}
