"""Mentions that are due a message: of people who want one, may read, and have not seen them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db.models import (
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Value,
    Window,
)
from django.db.models.functions import Now, RowNumber

from jpweb.store.choices import Role
from jpweb.store.database import clock
from jpweb.store.models import Membership, Mention
from jpweb.store.notifications.delivery_channels import ADDRESS, MAX_PER_DESTINATION, Channel

#: A mention is sent at most so long after it was due.
LATEST_HOURS = 24
_WORKSPACE = "comment__thread__conversation__workspace"


def list_due(channel: Channel) -> QuerySet[Mention]:
    """Return a row per due destination or browser of a mentioned person, the oldest first.

    Its key is in the column ``receiver_key``. At most ``MAX_PER_DESTINATION`` of each.
    """
    order = ("made_at", "pk")
    place = Window(RowNumber(), partition_by=F("receiver_key"), order_by=order)
    due_rows = _filter_due(channel).annotate(place=place).filter(place__lte=MAX_PER_DESTINATION)
    ordered_rows: QuerySet[Mention] = due_rows.select_related(_WORKSPACE).order_by(*order)
    return ordered_rows


def is_due(channel: Channel, mention_id: int, receiver_id: int) -> bool:
    """Tell whether a mention is due a message to this destination or browser now."""
    return _filter_due(channel).filter(pk=mention_id, receiver_key=receiver_id).exists()


def list_unseen(person_id: int, mention_ids: Sequence[int]) -> list[int]:
    """Return which of these mentions of a person they have not seen."""
    rows = Mention.objects.filter(pk__in=mention_ids, person_id=person_id, seen_at=None)
    return list(rows.values_list("pk", flat=True))


def _filter_due(channel: Channel) -> QuerySet[Any]:
    """Join unseen mentions with the destinations or browsers of their people.

    A destination is for one workspace, and silent where its person may no longer answer. A
    browser is for every workspace that its person may read. Neither gets mentions from before it
    was added; a person who turns messages of mentions on gets none that were due long before.
    """
    receivers = f"person__{channel.receivers_of_person}"
    least_role = Role.RESPONDER if channel is ADDRESS else Role.READER
    memberships = Membership.objects.filter(
        person_id=OuterRef("person_id"),
        workspace_id=OuterRef(f"{_WORKSPACE}_id"),
        role__gte=least_role,
        person__is_active=True,
    )
    seconds = ExpressionWrapper(F(f"{receivers}__delay"), IntegerField())
    delay = ExpressionWrapper(seconds * Value(timedelta(seconds=1)), DurationField())
    previous_deliveries = channel.delivery_model.objects.filter(
        **{f"{channel.receiver}_id": OuterRef("receiver_key"), "mention": OuterRef("pk")}
    )
    rows = Mention.objects.filter(seen_at=None, person__is_notified_of_mentions=True).annotate(
        receiver_key=F(f"{receivers}__pk"),
        due_at=ExpressionWrapper(F("made_at") + delay, DateTimeField()),
        receiver_added_at=F(f"{receivers}__added_at"),
    )
    if channel is ADDRESS:
        rows = rows.annotate(receiver_workspace=F(f"{receivers}__workspace_id"))
        rows = rows.filter(receiver_workspace=F(f"{_WORKSPACE}_id"))
    usable_receivers = channel.list_usable().filter(pk=OuterRef("receiver_key"))
    is_recent = Q(
        due_at__lte=Now(),
        due_at__gte=clock.now() - timedelta(hours=LATEST_HOURS),
        made_at__gte=F("receiver_added_at"),
    )
    return rows.filter(
        is_recent, ~Exists(previous_deliveries), Exists(memberships), Exists(usable_receivers)
    )
