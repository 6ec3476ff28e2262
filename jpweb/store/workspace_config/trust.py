"""Trust: commands and servers that owners have reviewed and allowed to run."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from django.db import models, transaction

from jpweb.store.choices import Act, TrustKind
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


def list_trusted(
    workspace_id: int, conversation_id: int | None = None
) -> dict[tuple[str, str], Trust]:
    """Return the trusted items of a workspace, or of one conversation there, by kind and name."""
    trusts = _select_trusts(workspace_id, conversation_id).select_related("trusted_by")
    return {(trust.kind, trust.name): trust for trust in trusts}


def list_shown(kind: TrustKind) -> list[str]:
    """Return the displayed texts of the trusted items of a kind, in all workspaces."""
    return list(Trust.objects.filter(kind=kind).values_list("shown", flat=True))


def _select_trusts(workspace_id: int, conversation_id: int | None) -> models.QuerySet[Trust]:
    """Return the trust that holds in all of a workspace, or that of one conversation alone."""
    trusts = Trust.objects.filter(workspace_id=workspace_id)
    if conversation_id is None:
        return trusts.filter(conversation__isnull=True)
    return trusts.filter(conversation_id=conversation_id)


def get_trust_state(trust: Trust | None, fingerprint: str) -> TrustState:
    """Return the trust state of an item with this fingerprint."""
    if trust is None:
        return TrustState.NEW
    return TrustState.TRUSTED if trust.fingerprint == fingerprint else TrustState.CHANGED


@transaction.atomic
def grant_trust(
    workspace: Workspace,
    items: Iterable[ReviewedItem],
    person: Person,
    conversation_id: int | None = None,
) -> None:
    """Trust items with the content that was reviewed, in the workspace or in one conversation."""
    for item in items:
        content = {
            "fingerprint": item.fingerprint,
            "shown": item.shown,
            "trusted_by": person,
            "trusted_at": clock.now(),
        }
        place_columns = {"workspace": workspace, "conversation_id": conversation_id}
        _select_trusts(workspace.pk, conversation_id).update_or_create(
            kind=item.kind,
            name=item.name,
            defaults=content,
            create_defaults=content | place_columns,
        )
        details = {"kind": item.kind, "name": item.name, "fingerprint": item.fingerprint}
        place = Place(workspace.pk, conversation_id)
        record_act(Act.TRUST_GIVEN, Actor.from_person(person), place, **details)


@transaction.atomic
def withdraw_trust(
    workspace: Workspace,
    items: Iterable[tuple[str, str]],
    actor: Actor = OPERATOR,
    conversation_id: int | None = None,
) -> int:
    """Withdraw the trust of items; returns how many were trusted."""
    trusts = _select_trusts(workspace.pk, conversation_id)
    withdrawn_count = 0
    for kind, name in items:
        if trusts.filter(kind=kind, name=name).delete()[0]:
            withdrawn_count += 1
            place = Place(workspace.pk, conversation_id)
            record_act(Act.TRUST_WITHDRAWN, actor, place, kind=kind, name=name)
    return withdrawn_count
