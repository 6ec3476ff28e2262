"""Questions that came back from a snooze: their person is notified once more.

The delivery from before the snooze stays as it is on record; ``return_number`` tells the later ones
apart. An ended snooze says that the next message is due; it is deleted before that is sent (at most
once).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db.models import (
    BigIntegerField,
    Exists,
    F,
    IntegerField,
    Model,
    OuterRef,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce, Now

from jpweb.store.models import Inquiry, QuestionSnooze
from jpweb.store.notifications.delivery_channels import Channel

if TYPE_CHECKING:
    from jpweb.store.notifications.deliveries import DueNotification


def list_previous(channel: Channel, row_field: str) -> QuerySet[Any]:
    """Return the deliveries that a row's receiver has had, those before an ended snooze aside.

    The outer query has the receiver's key in the column ``told``.
    """
    previous: QuerySet[Any] = channel.delivery_model.objects.filter(
        **{f"{channel.receiver}_id": OuterRef("told"), row_field: OuterRef("pk")}
    )
    if row_field != "inquiry":
        return previous
    later_ends = QuestionSnooze.objects.filter(
        inquiry_id=OuterRef("inquiry_id"),
        person_id=OuterRef(f"{channel.receiver}__person_id"),
        until__lte=Now(),
        until__gt=OuterRef("sent_at"),
    )
    return previous.filter(~Exists(later_ends))


def find_ended_snooze(model: type[Model]) -> Any:
    """Return the expression of the key of the ended snooze that a row's person has, or of None."""
    if model is not Inquiry:
        return Value(None, output_field=BigIntegerField())
    ended = QuestionSnooze.objects.filter(
        inquiry_id=OuterRef("pk"), person_id=OuterRef("told_person"), until__lte=Now()
    )
    return Subquery(ended.values("pk")[:1])


def find_next_return(model: type[Model], channel: Channel) -> Any:
    """Return the expression of the number of the receiver's next message about a row.

    That is 0 for the first, and one more than the highest on record for a later one. Two processes
    that read the same number cannot both record it.
    """
    if model is not Inquiry:
        return Value(0)
    previous = channel.delivery_model.objects.filter(
        **{f"{channel.receiver}_id": OuterRef("told"), "inquiry": OuterRef("pk")}
    )
    next_numbers = previous.order_by("-return_number").values(number=F("return_number") + 1)
    return Coalesce(Subquery(next_numbers[:1], output_field=IntegerField()), 0)


def take_ended_snoozes(
    due_notifications: Sequence[DueNotification],
) -> tuple[list[DueNotification], set[int]]:
    """Delete the ended snoozes of these notifications; return what is left to be sent.

    That leaves out notifications whose snooze another process deleted or its person renewed. The
    workspaces of the deleted ones are returned too: their open pages are to be told.
    """
    taken_keys: set[int | None] = {None}
    workspace_ids: set[int] = set()
    for key in sorted({due.snooze_id for due in due_notifications if due.snooze_id is not None}):
        ended = QuestionSnooze.objects.filter(pk=key, until__lte=Now())
        workspace_id = ended.values_list("inquiry__workspace_id", flat=True).first()
        if ended.delete()[0]:
            taken_keys.add(key)
            workspace_ids |= {workspace_id} if workspace_id is not None else set()
    return [due for due in due_notifications if due.snooze_id in taken_keys], workspace_ids
