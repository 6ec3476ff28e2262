"""Which person has a large download under way: a lease a person, by the database's clock.

The lease says so to all server processes. A process that ends lets go of its own; one that is
killed leaves a lease that nobody renews, which counts for ``LEASE_SECONDS`` at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models.functions import Now

from jpweb.store.models import Duty
from jpweb.store.running import duties

LEASE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class DownloadLease:
    """``holder`` names the process and the download; ``file_name`` and ``percent`` tell people."""

    person_id: int
    holder: str
    file_name: str
    percent: int = 0

    @property
    def name(self) -> str:
        """The name of the lease, of which there is one a person."""
        return f"download of {self.person_id}"

    @property
    def text(self) -> str:
        """The holder as the row keeps it; a data folder has spaces, and the other parts none."""
        return f"{self.holder} {self.percent} {self.file_name}"


def take(lease: DownloadLease) -> DownloadLease | None:
    """Take a person's lease; returns that of the download that has it, where there is one."""
    while not duties.hold(lease.name, lease.text, LEASE_SECONDS):
        if (other := find(lease.person_id)) is not None:
            return other
    return None


def renew(lease: DownloadLease) -> bool:
    """Renew a lease, with how far the download is; tells whether the download still has it."""
    until = Now() + timedelta(seconds=LEASE_SECONDS)
    own = Duty.objects.filter(name=lease.name, holder__startswith=f"{lease.holder} ")
    return bool(own.update(holder=lease.text, lease_until=until)) or take(lease) is None


def release(lease: DownloadLease) -> None:
    """Let go of a lease."""
    Duty.objects.filter(name=lease.name, holder__startswith=f"{lease.holder} ").delete()


def find(person_id: int) -> DownloadLease | None:
    """Return the lease of a person's download, or None where none is under way."""
    name = DownloadLease(person_id, "", "").name
    rows = Duty.objects.filter(name=name, lease_until__gte=Now())
    text = rows.values_list("holder", flat=True).first()
    if text is None:
        return None
    holder, percent, file_name = text.rsplit(" ", 2)
    return DownloadLease(person_id, holder, file_name, int(percent))
