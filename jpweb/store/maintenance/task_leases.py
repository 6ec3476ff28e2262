"""Leases of periodic tasks: for each task, one leader among the processes of a database.

Servers and workers also hold a lease of their own each, by which they count as running.

Leases expire by the database's clock, so that processes whose clocks differ agree on the holder.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from jpweb.store.models import TaskLease

#: Name of the table, which a database of an older jpweb may lack.
TABLE = TaskLease._meta.db_table  # noqa: SLF001  Django's documented model API


def acquire_or_renew(name: str, process: str, lease_seconds: float) -> bool:
    """Acquire a free task lease, or renew the process's lease; tells whether the process holds it.

    Of processes that try at once one gets it. Where another process holds it, nothing is written.
    """
    lease = TaskLease.objects.filter(name=name)
    if lease.filter(~Q(holder=process), lease_until__gte=Now()).exists():
        return False
    until = Now() + timedelta(seconds=lease_seconds)
    is_available = Q(holder=process) | Q(lease_until__lt=Now())
    if lease.filter(is_available).update(holder=process, lease_until=until):
        return True
    try:
        with transaction.atomic():
            TaskLease.objects.create(name=name, holder=process, lease_until=until)
    except IntegrityError:
        return False
    return True


def acquire_or_renew_all(names: Iterable[str], process: str, lease_seconds: float) -> set[str]:
    """Acquire or renew task leases; return the names of those that the process holds.

    Those that it holds are renewed together: one commit instead of one for each task.
    """
    requested_names = set(names)
    own_leases = TaskLease.objects.filter(name__in=requested_names, holder=process)
    if own_leases.update(lease_until=Now() + timedelta(seconds=lease_seconds)) == len(
        requested_names
    ):
        return requested_names
    held_names = set(own_leases.values_list("name", flat=True))
    return held_names | {
        name
        for name in sorted(requested_names - held_names)
        if acquire_or_renew(name, process, lease_seconds)
    }


def release_all(process: str) -> None:
    """Release every task lease of a process, so that another can acquire it at once."""
    TaskLease.objects.filter(holder=process).delete()


def expire_installation(installation: str) -> None:
    """Delete the task leases of all processes of an installation, which have ended."""
    installation_filter = Q(holder=installation) | Q(holder__startswith=f"{installation}#")
    TaskLease.objects.filter(installation_filter).delete()


def is_any_held() -> bool:
    """Tell whether a process holds a task lease: each server and worker holds one of its own."""
    return TaskLease.objects.filter(lease_until__gte=Now()).exists()
