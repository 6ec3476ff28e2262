"""What owners have seen as it would run, and let run."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from django.db import transaction

from jpweb.store.database import clock
from jpweb.store.models import Person, Trust, Workspace


class Standing(StrEnum):
    """How something stands: ``changed`` was trusted as something else."""

    TRUSTED = "trusted"
    NEW = "new"
    CHANGED = "changed"


class Seen(NamedTuple):
    """One thing as somebody saw it."""

    kind: str
    name: str
    fingerprint: str
    shown: str


def given(workspace_id: int) -> dict[tuple[str, str], Trust]:
    """Return what is trusted in a workspace, by kind and name."""
    found = Trust.objects.filter(workspace_id=workspace_id).select_related("trusted_by")
    return {(each.kind, each.name): each for each in found}


def standing(trust: Trust | None, fingerprint: str) -> Standing:
    """Tell how a thing with this fingerprint stands."""
    if trust is None:
        return Standing.NEW
    return Standing.TRUSTED if trust.fingerprint == fingerprint else Standing.CHANGED


@transaction.atomic
def give(workspace: Workspace, things: Iterable[Seen], person: Person) -> None:
    """Trust things exactly as they were seen."""
    for seen in things:
        Trust.objects.update_or_create(
            workspace=workspace,
            kind=seen.kind,
            name=seen.name,
            defaults={
                "fingerprint": seen.fingerprint,
                "shown": seen.shown,
                "trusted_by": person,
                "trusted_at": clock.now(),
            },
        )


@transaction.atomic
def withdraw(workspace: Workspace, things: Iterable[tuple[str, str]]) -> int:
    """Trust things no longer; returns how many were trusted."""
    found = Trust.objects.filter(workspace=workspace)
    return sum(found.filter(kind=kind, name=name).delete()[0] for kind, name in things)
