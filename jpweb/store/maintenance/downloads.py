"""Leases of large downloads: one per person, by the database's clock.

The lease is shared by all server processes. A process that ends releases its leases;
one that is killed leaves a lease that expires after ``LEASE_SECONDS``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from django.db.models import Max
from django.db.models.functions import Now

from jpweb.store.maintenance import task_leases
from jpweb.store.models import Membership, Redaction, SuspectedSecret, TaskLease

#: Characters of the column.
_MAX_HOLDER_CHARS = 150
LEASE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class DownloadLease:
    """A download's lease; ``holder`` names its process and itself, the rest is shown to people."""

    person_id: int
    holder: str
    file_name: str
    percent: int = 0

    @property
    def name(self) -> str:
        """Name of the lease; one for each person."""
        return f"download of {self.person_id}"

    @property
    def holder_text(self) -> str:
        """The row's ``holder`` column; of its parts only ``holder`` may contain spaces.

        The end of a long file name is cut.
        """
        return f"{self.holder} {self.percent} {self.file_name}"[:_MAX_HOLDER_CHARS]


class ContentVersion(NamedTuple):
    """Versions that a download's bytes depend on, besides the journal.

    While it is the same, nothing was hidden since, and the person's roles are what they were.
    """

    redaction_id: int
    suspicion_id: int
    roles: tuple[tuple[int, int], ...]


def load_content_version(person_id: int) -> ContentVersion:
    """Return the version of the content that a person may download now; three queries."""
    memberships = Membership.objects.filter(person_id=person_id).order_by("workspace_id")
    return ContentVersion(
        Redaction.objects.aggregate(last=Max("pk"))["last"] or 0,
        SuspectedSecret.objects.aggregate(last=Max("pk"))["last"] or 0,
        tuple(memberships.values_list("workspace_id", "role")),
    )


def acquire_lease(lease: DownloadLease) -> DownloadLease | None:
    """Acquire a person's lease; returns the lease of another download that holds it, or None."""
    while not task_leases.acquire_or_renew(lease.name, lease.holder_text, LEASE_SECONDS):
        if (existing_lease := find_lease(lease.person_id)) is not None:
            return existing_lease
    return None


def renew_lease(lease: DownloadLease) -> bool:
    """Renew a lease with the download's progress; tells whether the download still has it."""
    until = Now() + timedelta(seconds=LEASE_SECONDS)
    lease_row = TaskLease.objects.filter(name=lease.name, holder__startswith=f"{lease.holder} ")
    return (
        bool(lease_row.update(holder=lease.holder_text, lease_until=until))
        or acquire_lease(lease) is None
    )


def release_lease(lease: DownloadLease) -> None:
    """Release a lease; does nothing where another download holds it."""
    TaskLease.objects.filter(name=lease.name, holder__startswith=f"{lease.holder} ").delete()


def find_lease(person_id: int) -> DownloadLease | None:
    """Return the lease of a person's download, or None where none is under way."""
    name = DownloadLease(person_id, "", "").name
    rows = TaskLease.objects.filter(name=name, lease_until__gte=Now())
    text = rows.values_list("holder", flat=True).first()
    if text is None:
        return None
    holder, percent, file_name = text.rsplit(" ", 2)
    return DownloadLease(person_id, holder, file_name, int(percent))
