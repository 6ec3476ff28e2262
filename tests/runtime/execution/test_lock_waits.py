"""How long a run waits for files that another process of jpweb has locked."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings

from jpweb.runtime.execution.lock_waits import MAX_WAIT_LEASES, LockWaits
from jpweb.store.errors import StoreError
from jpweb.store.jp_files.locks import LockHeld, LockHolder
from jpweb.store.models import Conversation, Run

HELD = LockHeld(LockHolder(pid=7, session="jpweb"))
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def make_run(key: int = 1, last_activity: datetime = AT) -> Run:
    return Run(pk=key, conversation=Conversation(last_activity=last_activity))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list whose one number is the time in seconds."""
    seconds = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: seconds[0])
    return seconds


def test_run_waits_for_eight_leases_and_then_no_longer(clock: list[float]):
    waits = LockWaits()
    assert waits.can_wait(make_run(), HELD)
    clock[0] += MAX_WAIT_LEASES * settings.LEASE_SECONDS
    assert waits.can_wait(make_run(), HELD)
    clock[0] += 1
    assert not waits.can_wait(make_run(), HELD)
    assert waits.can_wait(make_run(2), HELD), "each run waits for itself"


def test_run_that_recorded_an_event_since_begins_another_wait(clock: list[float]):
    waits = LockWaits()
    assert waits.can_wait(make_run(), HELD)
    clock[0] += MAX_WAIT_LEASES * settings.LEASE_SECONDS + 1
    assert waits.can_wait(make_run(last_activity=AT + timedelta(seconds=1)), HELD)


def test_waits_of_long_ago_are_forgotten(clock: list[float]):
    waits = LockWaits()
    for key in range(10):
        waits.can_wait(make_run(key), HELD)
        clock[0] += 100 * settings.LEASE_SECONDS
    assert len(waits._start_times) == 1


@pytest.mark.parametrize(
    "error",
    [
        LockHeld(LockHolder(pid=7, session="terminal")),
        LockHeld(LockHolder()),
        StoreError("jp deleted this conversation."),
        OSError("No locks available"),
    ],
    ids=["jp", "unknown", "store", "system"],
)
def test_run_does_not_wait_for_locks_of_other_programs(error: Exception):
    assert not LockWaits().can_wait(make_run(), error)
