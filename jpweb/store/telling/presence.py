"""Who has a page open with which they may answer: a row a person, workspace and process.

A row counts while it was refreshed a short while ago, by the database's clock, and while the
person may answer there; so nothing that a dead process left behind counts for long.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from jpweb.store.models import Membership, Person, Presence
from jpweb.store.rows.prepared import Prepared
from jpweb.store.terms import Role

#: The keys of a person and of a workspace.
Pair = tuple[int, int]
#: How long a row counts that nobody refreshes.
FRESH = timedelta(seconds=45)


def arrive(process: str, pairs: Collection[Pair]) -> None:
    """Note that people have pages of a process open, or still have them.

    Those who are no members are left out.
    """
    for _ in range(2):
        members = Membership.objects.filter(
            person_id__in={person for person, _ in pairs},
            workspace_id__in={workspace for _, workspace in pairs},
        )
        there = set(members.values_list("person_id", "workspace_id"))
        rows = [
            Presence(person_id=pair[0], workspace_id=pair[1], process=process, seen_at=Now())
            for pair in sorted(there.intersection(pairs))
        ]
        try:
            with transaction.atomic():
                Presence.objects.bulk_create(
                    rows,
                    update_conflicts=True,
                    unique_fields=["workspace", "person", "process"],
                    update_fields=["seen_at"],
                )
        except IntegrityError:
            continue  # a person or a workspace went between the look and the record
        return


def leave(process: str, pairs: Collection[Pair] | None = None) -> None:
    """Note that the last page of each pair is gone; None: all pages of the process are."""
    rows = Presence.objects.filter(process=process)
    if pairs is not None:
        people, workspaces = {person for person, _ in pairs}, {home for _, home in pairs}
        near = rows.filter(person_id__in=people, workspace_id__in=workspaces)
        found = near.values_list("pk", "person_id", "workspace_id")
        rows = Presence.objects.filter(pk__in=[key for key, *pair in found if tuple(pair) in pairs])
    rows.delete()


def reachable(workspace_id: int) -> bool:
    """Tell whether somebody who may answer in the workspace has a page open."""
    return bool(_somebody([workspace_id]))


def people(workspace_id: int) -> list[Person]:
    """Return who may answer in the workspace and has a page open, by name."""
    keys = _present([workspace_id]).values("person_id")
    return list(Person.objects.filter(pk__in=keys).order_by("username"))


def _present(workspace_ids: list[int]) -> QuerySet[Presence]:
    """Return who is there; the list is of one workspace."""
    return Presence.objects.filter(
        workspace_id__in=workspace_ids,
        seen_at__gt=Now() - FRESH,
        person__memberships__workspace_id__in=workspace_ids,
        person__memberships__role__gte=Role.RESPONDER,
    )


_somebody = Prepared(lambda homes: _present(homes).values_list("pk")[:1])
