"""Duties: what one process at a time does for all that share this database, by leases.

The time is the database's, so that processes whose clocks differ agree on who holds what.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from jpweb.store.models import Duty


def hold(name: str, process: str, lease_seconds: float) -> bool:
    """Take a duty that nobody holds, or renew one's own; tells whether the process holds it now.

    Of processes that try at once one has it. Those that only find it held write nothing.
    """
    duty = Duty.objects.filter(name=name)
    if duty.filter(~Q(holder=process), lease_until__gte=Now()).exists():
        return False
    until = Now() + timedelta(seconds=lease_seconds)
    mine_or_over = Q(holder=process) | Q(lease_until__lt=Now())
    if duty.filter(mine_or_over).update(holder=process, lease_until=until):
        return True
    try:
        with transaction.atomic():
            Duty.objects.create(name=name, holder=process, lease_until=until)
    except IntegrityError:
        return False
    return True


def hold_all(names: Iterable[str], process: str, lease_seconds: float) -> set[str]:
    """Take or renew duties as ``hold`` does; return the names of those that the process holds."""
    return {name for name in sorted(names) if hold(name, process, lease_seconds)}


def leave(process: str) -> None:
    """Let go of every duty of a process, so that another has them at once."""
    Duty.objects.filter(holder=process).delete()


def abandon(installation: str) -> None:
    """Say that no process of an installation is alive: its duties may be taken at once."""
    own = Q(holder=installation) | Q(holder__startswith=f"{installation}#")
    Duty.objects.filter(own).delete()


def is_any_held() -> bool:
    """Tell whether some process holds a duty, which every jpweb that executes runs does."""
    return Duty.objects.filter(lease_until__gte=Now()).exists()
