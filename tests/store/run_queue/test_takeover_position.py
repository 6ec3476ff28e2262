"""The length of the journal when a process took the calls of a run over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jpweb.store import runs
from jpweb.store.models import Run
from jpweb.store.run_queue import leases
from jpweb.stream.inquiry import Answered
from tests.store import making

pytestmark = pytest.mark.django_db
LEASE_SECONDS = 15


@pytest.fixture
def run() -> Run:
    return making.start_run(making.conversation(making.workspace()))


def expire_and_requeue(run: Run) -> None:
    leases.renew_leases([run.pk], making.HOLDER, -1)
    assert runs.recover_expired(LEASE_SECONDS) == [run]


@pytest.mark.parametrize(
    "requeue",
    [expire_and_requeue, leases.release_lease, leases.postpone_run],
    ids=["expired", "released", "postponed"],
)
def test_acquire_lease_saves_the_length_of_the_journal(run: Run, requeue: Callable[[Run], object]):
    making.settle(making.question(run), Answered(True))
    row = making.question(run)
    requeue(run)
    length = making.count_entries(run.conversation_id)
    acquired_run = making.acquire_run(run, "other")
    assert acquired_run.takeover_position == length
    making.settle(row, Answered(True))
    assert Run.objects.get(pk=run.pk).takeover_position == length


def test_acquire_lease_of_a_parked_run_keeps_the_position(run: Run):
    Run.objects.update(takeover_position=2)
    row = making.question(run)
    assert runs.park_run(run, [row.pk], [])
    making.settle(row, Answered(True))
    first_run = making.acquire_run(run, "first")
    assert first_run.takeover_position == 2
    leases.release_lease(first_run)
    second_run = making.acquire_run(run, "second")
    assert second_run.takeover_position == 2, "the first began no call"
    leases.begin_calls(second_run)
    leases.release_lease(second_run)
    third_run = making.acquire_run(run, "third")
    assert third_run.takeover_position == making.count_entries(run.conversation_id)
