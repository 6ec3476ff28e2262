"""A lease that ran out is no death, as long as its holder gives signs of life."""

from __future__ import annotations

import pytest

from jpweb.store import journal, runs
from jpweb.store.choices import RunState
from jpweb.store.maintenance import cleanup
from jpweb.store.models import Conversation, Heartbeat, Run
from jpweb.store.run_queue import heartbeats, leases
from jpweb.stream.events import ChatResponse
from tests.store import making

pytestmark = pytest.mark.django_db
LEASE_SECONDS = 15
OVER = -1


@pytest.fixture
def run() -> Run:
    conversation: Conversation = making.conversation(making.workspace())
    return making.start_run(conversation)


def fresh(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


def let_run_out(run: Run, holder: str) -> None:
    """Let a process take a run if need be, and its lease run out."""
    if fresh(run).state == RunState.QUEUED:
        assert leases.acquire_lease(run.pk, holder, LEASE_SECONDS) is not None
    leases.renew_leases([run.pk], holder, OVER)


def stay_away(process: str) -> None:
    Heartbeat.objects.filter(process=process).update(seen_at="2020-01-01T00:00:00Z")


def test_run_that_bounces_between_living_processes_is_never_lost(run: Run):
    for process in (making.HOLDER, "other"):
        heartbeats.record_heartbeat(process)
    for turn in range(4 * runs.MAX_DEATHS):
        let_run_out(run, (making.HOLDER, "other")[turn % 2])
        assert runs.recover_expired(LEASE_SECONDS) == [run]
        assert (fresh(run).state, fresh(run).death_count) == (RunState.QUEUED, 0)
    assert heartbeats.count_deaths(fresh(run), LEASE_SECONDS) == 0


def test_run_whose_processes_stayed_away_since_is_lost(run: Run):
    names = [making.HOLDER, *(f"worker{number}" for number in range(runs.MAX_DEATHS))]
    for name in names:
        heartbeats.record_heartbeat(name)
        let_run_out(run, name)
        assert runs.recover_expired(LEASE_SECONDS) == [run]
        assert fresh(run).state == RunState.QUEUED
        stay_away(name)
    assert heartbeats.count_deaths(fresh(run), LEASE_SECONDS) == len(names)
    let_run_out(run, "last")
    assert runs.recover_expired(LEASE_SECONDS) == [run]
    lost_run = fresh(run)
    assert (lost_run.state, lost_run.problem) == (
        "lost",
        "The server stopped 7 times while this turn was running.",
    )


def test_run_of_a_living_process_is_not_lost_for_those_before_it(run: Run):
    Run.objects.update(death_count=10 * runs.MAX_DEATHS)
    heartbeats.record_heartbeat(making.HOLDER)
    let_run_out(run, making.HOLDER)
    assert runs.recover_expired(LEASE_SECONDS) == [run]
    assert fresh(run).state == RunState.QUEUED


def test_process_that_ended_for_certain_counts_at_once(run: Run):
    heartbeats.record_heartbeat(making.HOLDER)
    leases.expire_installation(making.HOLDER)
    assert runs.recover_expired(LEASE_SECONDS) == [run]
    assert fresh(run).death_count == 1


def test_progress_clears_the_expired_holders_of_a_run(run: Run):
    heartbeats.record_heartbeat(making.HOLDER)
    let_run_out(run, making.HOLDER)
    runs.recover_expired(LEASE_SECONDS)
    assert fresh(run).expired_holders == f"{making.HOLDER}\n"
    leased_run = making.acquire_run(run, "other")
    event = making.event(ChatResponse("message", "A word"))
    journal.append_events(leased_run.conversation_id, [event], leased_run)
    assert fresh(run).expired_holders == ""


def test_process_takes_no_run_away_from_itself(run: Run):
    let_run_out(run, making.HOLDER)
    assert runs.recover_expired(LEASE_SECONDS, [run.pk]) == []
    assert fresh(run).holder == making.HOLDER
    assert runs.recover_expired(LEASE_SECONDS) == [run]


def test_tidy_removes_heartbeats_of_long_ago():
    for name in ("old", "new"):
        heartbeats.record_heartbeat(name)
    stay_away("old")
    cleanup.delete_old_rows()
    assert list(Heartbeat.objects.values_list("process", flat=True)) == ["new"]
