"""Heartbeats of the processes that execute runs, by the database's clock.

A process is dead where it is known to have ended (a server that holds the lock of its
installation says so of those before it), or where no heartbeat came for several leases.
One lease is too short for that: a process that is starved or paused for a while
resumes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

from django.db.models.functions import Now

from jpweb.store.models import Heartbeat, Run

#: A process without a heartbeat for so many lease durations counts as dead.
DEAD_AFTER_LEASES = 3


def record_heartbeat(process: str) -> None:
    """Record that a process is alive."""
    Heartbeat.objects.bulk_create(
        [Heartbeat(process=process, seen_at=Now())],
        update_conflicts=True,
        unique_fields=["process"],
        update_fields=["seen_at"],
    )


def find_alive(processes: Iterable[str], lease_seconds: float) -> set[str]:
    """Return the processes among these that are alive."""
    since = Now() - timedelta(seconds=DEAD_AFTER_LEASES * lease_seconds)
    alive_processes = Heartbeat.objects.filter(process__in=set(processes), seen_at__gte=since)
    return set(alive_processes.values_list("process", flat=True))


def has_died(run: Run, lease_seconds: float) -> bool:
    """Tell whether the holder of a run whose lease ran out has ended."""
    return run.lease_until is None or run.holder not in find_alive([run.holder], lease_seconds)


def count_deaths(run: Run, lease_seconds: float) -> int:
    """Return the number of processes that died with this run since its last progress."""
    expired_counts = Counter(run.expired_holders.splitlines())
    alive_processes = find_alive(expired_counts, lease_seconds) if expired_counts else set()
    return run.death_count + sum(
        times for name, times in expired_counts.items() if name not in alive_processes
    )
