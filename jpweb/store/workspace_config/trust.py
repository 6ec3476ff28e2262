"""Trust: commands and servers that owners have reviewed and allowed to run."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from django.db import transaction

from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.ledger.entries import OPERATOR, Actor, Place, record_act
from jpweb.store.models import Person, Trust, Workspace


class TrustState(StrEnum):
    """The trust state of an item: ``changed`` was trusted with different content."""

    TRUSTED = "trusted"
    NEW = "new"
    CHANGED = "changed"


class ReviewedItem(NamedTuple):
    """One item as a person reviewed it."""

    kind: str
    name: str
    fingerprint: str
    shown: str


def list_trusted(workspace_id: int) -> dict[tuple[str, str], Trust]:
    """Return the trusted items of a workspace, by kind and name."""
    trusts = Trust.objects.filter(workspace_id=workspace_id).select_related("trusted_by")
    return {(trust.kind, trust.name): trust for trust in trusts}


def get_trust_state(trust: Trust | None, fingerprint: str) -> TrustState:
    """Return the trust state of an item with this fingerprint."""
    if trust is None:
        return TrustState.NEW
    return TrustState.TRUSTED if trust.fingerprint == fingerprint else TrustState.CHANGED


@transaction.atomic
def grant_trust(workspace: Workspace, items: Iterable[ReviewedItem], person: Person) -> None:
    """Trust items with the content that was reviewed."""
    for item in items:
        Trust.objects.update_or_create(
            workspace=workspace,
            kind=item.kind,
            name=item.name,
            defaults={
                "fingerprint": item.fingerprint,
                "shown": item.shown,
                "trusted_by": person,
                "trusted_at": clock.now(),
            },
        )
        details = {"kind": item.kind, "name": item.name, "fingerprint": item.fingerprint}
        record_act(Act.TRUST_GIVEN, Actor.from_person(person), Place(workspace.pk), **details)


@transaction.atomic
def withdraw_trust(
    workspace: Workspace, items: Iterable[tuple[str, str]], actor: Actor = OPERATOR
) -> int:
    """Withdraw the trust of items; returns how many were trusted."""
    trusts = Trust.objects.filter(workspace=workspace)
    withdrawn_count = 0
    for kind, name in items:
        if trusts.filter(kind=kind, name=name).delete()[0]:
            withdrawn_count += 1
            record_act(Act.TRUST_WITHDRAWN, actor, Place(workspace.pk), kind=kind, name=name)
    return withdrawn_count
