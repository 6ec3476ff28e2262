"""Leases of runs: which process executes which run (docs/decisions.md, Runs).

A run is executed by the holder of its lease, until another process requeues it: it may, once the
lease has expired by the database's clock. Until then a holder that is late still writes and renews.
``acquire_lease`` and ``requeue_expired`` raise the fence (fencing token). A write with an older
fence is refused. Until its next write the last holder may still run a tool, or call a model.

If a worker dies, its leases expire, ``settings.LEASE_SECONDS`` (15) after the last renewal. Every
third of that, each other process polls for expired leases (``runtime/execution/run_executor.py``).
``requeue_expired`` queues their runs, and the process whose ``acquire_lease`` succeeds rebuilds the
turn from the journal (``runtime/execution/turn_runner.py``). A server that runs turns itself ends
the leases of its predecessor when it starts (``expire_installation``). Questions to people stay
open meanwhile.

An expired lease does not mean a dead process: one that is starved, paused or cut off from
the database also lets it expire. ``heartbeats`` tells which processes have ended. After several
deaths without progress a run is lost instead of queued (``store/runs.py``).

Locks are taken in one order: the conversation's row, then the run's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Concat, Now

from jpweb.store.choices import RunPhase, RunState
from jpweb.store.errors import LeaseLost
from jpweb.store.models import Conversation, Run
from jpweb.store.run_queue import jobs
from jpweb.store.sql import compiled_write

#: Runs that one listing returns at most; the next periodic pass lists the rest.
_MAX_ROWS = 500

_ENTRY_COUNT = Conversation.objects.filter(pk=OuterRef("conversation_id")).values("entry_count")
#: Calls of a run that was parked were not in progress, so nobody takes them over.
_TAKEOVER_POSITION = Case(
    When(phase=RunPhase.WAITING, then=F("takeover_position")), default=Subquery(_ENTRY_COUNT)
)


def acquire_lease(run_id: int, holder: str, seconds: float) -> Run | None:
    """Acquire the lease of a queued run for a process and raise the fence; return the run, or None.

    Of two processes that try at once one gets it. Unless the run was parked, the length of its
    journal is saved: later answers have not reached a call of the last holder, which no longer
    holds the run.
    """
    queued_run = Run.objects.filter(pk=run_id, state=RunState.QUEUED)
    updated_count = queued_run.update(
        state=RunState.RUNNING,
        holder=holder,
        lease_until=Now() + timedelta(seconds=seconds),
        fence=F("fence") + 1,
        queued_at=None,
        takeover_position=_TAKEOVER_POSITION,
    )
    if not updated_count:
        return None
    return Run.objects.select_related("conversation__workspace").get(pk=run_id)


def begin_calls(run: Run) -> None:
    """Note that the calls of a run that was parked execute from now on. Raises LeaseLost.

    Until this is called, a process that releases the run, or ends, has interrupted none of them.
    """
    held_run = Run.objects.filter(pk=run.pk, fence=run.fence, state=RunState.RUNNING)
    if not held_run.update(phase=RunPhase.CALLING):
        raise _make_lease_lost(run)


def assert_held(run: Run, phase: RunPhase | None = None) -> None:
    """Assert that the holder has the lease, in the transaction of its write. Raises LeaseLost.

    The write is progress of the run: its count of deaths is reset.
    """
    changes: dict[str, Any] = {"death_count": 0, "expired_holders": ""}
    if phase is not None:
        changes["phase"] = phase
    held_filter = {"id": run.pk, "fence": run.fence, "state": RunState.RUNNING}
    if not compiled_write.update_rows(Run, held_filter, **changes):
        raise _make_lease_lost(run)


@transaction.atomic
def renew_leases(run_ids: Iterable[int], holder: str, seconds: float) -> set[int]:
    """Renew leases of a process; returns which of these runs it still holds.

    The turns of the others are to be cancelled. A row that another connection has locked is
    skipped, though held, so that one transaction that hangs costs one lease and not all of them.
    """
    held_runs = Run.objects.filter(pk__in=list(run_ids), holder=holder, state=RunState.RUNNING)
    unlocked_ids = list(held_runs.select_for_update(skip_locked=True).values_list("pk", flat=True))
    Run.objects.filter(pk__in=unlocked_ids).update(lease_until=Now() + timedelta(seconds=seconds))
    return set(held_runs.values_list("pk", flat=True))


def find_held(run_ids: Iterable[int], holder: str) -> set[int]:
    """Return the runs among these whose lease the process holds."""
    held_runs = Run.objects.filter(pk__in=list(run_ids), holder=holder, state=RunState.RUNNING)
    return set(held_runs.values_list("pk", flat=True))


@transaction.atomic
def release_lease(run: Run) -> bool:
    """Release a run's lease, and queue the run; tells whether the lease was held."""
    held_run = Run.objects.filter(pk=run.pk, fence=run.fence, state=RunState.RUNNING)
    return _requeue(held_run, run.pk, resume_count=F("resume_count") + 1)


def postpone_run(run: Run) -> bool:
    """Queue a run that its holder could not begin, as it was; tells whether the lease was held.

    No job is enqueued, so that no worker tries it at once: that is left to the next poll.
    """
    held_run = Run.objects.filter(pk=run.pk, fence=run.fence, state=RunState.RUNNING)
    return bool(
        held_run.update(state=RunState.QUEUED, holder="", lease_until=None, queued_at=Now())
    )


@transaction.atomic
def requeue_parked(run_id: int) -> bool:
    """Queue a parked run; tells whether it was parked."""
    return _requeue(Run.objects.filter(pk=run_id, state=RunState.PARKED), run_id)


def expire_installation(installation: str, except_holder: str = "") -> None:
    """Expire the leases of all processes of an installation, except of ``except_holder``."""
    installation_filter = Q(holder=installation) | Q(holder__startswith=f"{installation}#")
    held_runs = Run.objects.filter(installation_filter, state=RunState.RUNNING).exclude(
        holder=except_holder
    )
    held_runs.update(lease_until=None)


def list_expired(except_ids: Collection[int] = ()) -> list[Run]:
    """Return the running runs with an expired lease, except ``except_ids``."""
    is_expired = Q(lease_until__isnull=True) | Q(lease_until__lt=Now())
    expired_runs = Run.objects.filter(is_expired, state=RunState.RUNNING).exclude(pk__in=except_ids)
    return list(expired_runs.select_related("conversation").order_by("id")[:_MAX_ROWS])


@transaction.atomic
def requeue_expired(run: Run, *, has_died: bool) -> bool:
    """Queue a run whose lease expired and raise its fence; tells whether this call did.

    Its last holder, if alive, can write no more: it would have to acquire the lease again.
    ``has_died``: its holder is known to have ended. Otherwise the holder's name is kept, to
    be checked later.
    """
    is_expired = Q(lease_until__isnull=True) | Q(lease_until__lt=Now())
    expired_runs = Run.objects.filter(
        is_expired, pk=run.pk, fence=run.fence, state=RunState.RUNNING
    )
    changes: dict[str, Any] = {"resume_count": F("resume_count") + 1, "fence": F("fence") + 1}
    if has_died:
        changes["death_count"] = F("death_count") + 1
    else:
        changes["expired_holders"] = Concat("expired_holders", Value(f"{run.holder}\n"))
    return _requeue(expired_runs, run.pk, **changes)


def list_queued(seconds: float = 0) -> list[int]:
    """Return the keys of runs that have been queued for so long, the oldest first."""
    queued_runs = Run.objects.filter(state=RunState.QUEUED)
    if seconds:
        queued_runs = queued_runs.filter(queued_at__lt=Now() - timedelta(seconds=seconds))
    return list(queued_runs.order_by("id").values_list("pk", flat=True)[:_MAX_ROWS])


@transaction.atomic
def reenqueue_jobs(run_ids: Iterable[int]) -> None:
    """Enqueue the jobs of queued runs again: a job may be lost with its worker."""
    keys = set(run_ids)
    for key in sorted(keys - jobs.find_waiting(keys)):
        _requeue(Run.objects.filter(pk=key, state=RunState.QUEUED), key)


def _requeue(runs: QuerySet[Run], run_id: int, **changes: Any) -> bool:
    """Queue runs of this key, and enqueue the job; tells whether there were any."""
    updated_count = runs.update(
        state=RunState.QUEUED, holder="", lease_until=None, queued_at=Now(), **changes
    )
    if updated_count:
        jobs.enqueue_job(run_id)
    return bool(updated_count)


def _make_lease_lost(run: Run) -> LeaseLost:
    return LeaseLost(f"Run {run.pk} is no longer held by this process.")
