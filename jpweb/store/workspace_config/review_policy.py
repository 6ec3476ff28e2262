"""The setting of a workspace: by how many people its questions and conversations are reviewed."""

from __future__ import annotations

from django.db import transaction

from jpweb.store.choices import Act
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Workspace

#: The numbers of reviews that an owner can choose.
REVIEW_COUNTS = (1, 2)


@transaction.atomic
def set_reviews_required(workspace: Workspace, count: int, actor: Actor) -> None:
    """Set the number of reviews that a workspace asks for; earlier reviews keep theirs."""
    Workspace.objects.filter(pk=workspace.pk).update(reviews_required=count)
    details = {"setting": "reviews_required", "value": count}
    record_act(Act.SETTING_CHANGED, actor, Place(workspace.pk), **details)
