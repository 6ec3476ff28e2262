"""Which process executes which run (design.md, sections 5 and 6).

A run is executed by whoever holds it: until the lease is over, by the database's clock. Each
taking raises the fence, and what somebody with an older fence writes is refused, so that a process
that was taken for dead can do no harm.

A lease that ran out is no death: a process that is starved, paused or cut off from the database
lets it run out as well. ``heartbeats`` tells which of them have ended.

Locks are taken in one order: the conversation's row, then the run's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Concat, Now

from jpweb.store.errors import NotHolder
from jpweb.store.models import Run
from jpweb.store.rows import single
from jpweb.store.running import jobs
from jpweb.store.terms import RunPhase, RunState

#: Runs that one look brings to light; more come with the next.
_AT_ONCE = 500


def take(run_id: int, holder: str, seconds: float) -> Run | None:
    """Take a queued run for a process; None where there is nothing to take.

    Of two processes that try at once one has it. The run's ``phase`` is the one it was left in.
    """
    queued = Run.objects.filter(pk=run_id, state=RunState.QUEUED)
    taken = queued.update(
        state=RunState.RUNNING,
        holder=holder,
        lease_until=Now() + timedelta(seconds=seconds),
        fence=F("fence") + 1,
        queued_at=None,
    )
    if not taken:
        return None
    run = Run.objects.select_related("conversation__workspace").get(pk=run_id)
    # Told to the caller, and to nobody later: from here on it is not put down any more.
    Run.objects.filter(pk=run_id, phase=RunPhase.WAITING).update(phase=RunPhase.CALLING)
    return run


def guard(run: Run, phase: RunPhase | None = None) -> None:
    """Let a holder write, in the transaction that it writes in. Raises NotHolder.

    The run has got somewhere with it: what ended processes before is forgiven.
    """
    changes: dict[str, Any] = {"deaths": 0, "left_by": ""}
    if phase is not None:
        changes["phase"] = phase
    held = {"id": run.pk, "fence": run.fence, "state": RunState.RUNNING}
    if not single.update(Run, held, **changes):
        raise NotHolder(f"Run {run.pk} is executed by another process, or is over.")


@transaction.atomic
def renew(run_ids: Iterable[int], holder: str, seconds: float) -> set[int]:
    """Make leases of a process last from now on; returns the keys of those runs that it holds.

    A row that another connection has locked is left for the next time, so that one transaction
    that hangs costs one lease and not all of them.
    """
    held = Run.objects.filter(pk__in=list(run_ids), holder=holder, state=RunState.RUNNING)
    free = list(held.select_for_update(skip_locked=True).values_list("pk", flat=True))
    Run.objects.filter(pk__in=free).update(lease_until=Now() + timedelta(seconds=seconds))
    return set(held.values_list("pk", flat=True))


def held(run_ids: Iterable[int], holder: str) -> set[int]:
    """Return which of these runs a process holds."""
    found = Run.objects.filter(pk__in=list(run_ids), holder=holder, state=RunState.RUNNING)
    return set(found.values_list("pk", flat=True))


@transaction.atomic
def release(run: Run) -> bool:
    """Let go of a run so that others go on with it; tells whether it was held."""
    held = Run.objects.filter(pk=run.pk, fence=run.fence, state=RunState.RUNNING)
    return _queue(held, run.pk, resumed=F("resumed") + 1)


@transaction.atomic
def wake(run_id: int) -> bool:
    """Queue a run that is parked; tells whether it was."""
    return _queue(Run.objects.filter(pk=run_id, state=RunState.PARKED), run_id)


def abandon(installation: str, besides: str = "") -> None:
    """Say that no process of an installation is alive, besides this one: what they held is free."""
    own = Q(holder=installation) | Q(holder__startswith=f"{installation}#")
    held = Run.objects.filter(own, state=RunState.RUNNING).exclude(holder=besides)
    held.update(lease_until=None)


def over(besides: Collection[int] = ()) -> list[Run]:
    """Return runs whose holder has let its lease run out, but for those with these keys."""
    lapsed = Q(lease_until__isnull=True) | Q(lease_until__lt=Now())
    found = Run.objects.filter(lapsed, state=RunState.RUNNING).exclude(pk__in=besides)
    return list(found.select_related("conversation").order_by("id")[:_AT_ONCE])


@transaction.atomic
def bury(run: Run, *, died: bool) -> bool:
    """Queue a run whose lease ran out, for others to go on with; tells whether this did it.

    ``died``: its holder is known to have ended. Otherwise its name is kept, to be looked at later.
    """
    lapsed = Q(lease_until__isnull=True) | Q(lease_until__lt=Now())
    found = Run.objects.filter(lapsed, pk=run.pk, fence=run.fence, state=RunState.RUNNING)
    changes: dict[str, Any] = {"resumed": F("resumed") + 1, "fence": F("fence") + 1}
    if died:
        changes["deaths"] = F("deaths") + 1
    else:
        changes["left_by"] = Concat("left_by", Value(f"{run.holder}\n"))
    return _queue(found, run.pk, **changes)


def untaken(seconds: float = 0) -> list[int]:
    """Return the keys of runs that have been queued for so long, the oldest first."""
    found = Run.objects.filter(state=RunState.QUEUED)
    if seconds:
        found = found.filter(queued_at__lt=Now() - timedelta(seconds=seconds))
    return list(found.order_by("id").values_list("pk", flat=True)[:_AT_ONCE])


@transaction.atomic
def remind(run_ids: Iterable[int]) -> None:
    """Let the job engine know of queued runs again: a job may have gone with its worker."""
    keys = set(run_ids)
    for key in sorted(keys - jobs.waiting(keys)):
        _queue(Run.objects.filter(pk=key, state=RunState.QUEUED), key)


def _queue(found: QuerySet[Run], run_id: int, **changes: Any) -> bool:
    """Queue what is found of a run, and enqueue its job; tells whether anything was found."""
    queued = found.update(
        state=RunState.QUEUED, holder="", lease_until=None, queued_at=Now(), **changes
    )
    if queued:
        jobs.enqueue(run_id)
    return bool(queued)
