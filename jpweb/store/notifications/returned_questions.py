"""Questions that came back from a snooze: each receiver of their person is due one more message.

The delivery from before the snooze stays as it is on record; ``return_number`` tells the later ones
apart. A return has the number of its snooze, whichever messages a receiver has had, so two
processes that send the same message cannot both record it. The ended snooze stays until no
receiver is due a message of the return (``snoozes.delete_ended``).
"""

from __future__ import annotations

from typing import Any

from django.db.models import IntegerField, Model, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Now

from jpweb.store.models import Inquiry, QuestionSnooze
from jpweb.store.notifications.delivery_channels import Channel


def list_previous(channel: Channel, row_field: str) -> QuerySet[Any]:
    """Return the deliveries of a row's present return, or of a later one, to its receiver.

    The outer query has the receiver's key in the column ``receiver_key``, and the number of the
    return in ``present_return``.
    """
    previous_deliveries: QuerySet[Any] = channel.delivery_model.objects.filter(
        return_number__gte=OuterRef("present_return"),
        **{f"{channel.receiver}_id": OuterRef("receiver_key"), row_field: OuterRef("pk")},
    )
    return previous_deliveries


def find_present_return(model: type[Model]) -> Any:
    """Return the expression of the number of the ended snooze that a row's person has, or of 0.

    The outer query has the person's key in the column ``receiver_person``.
    """
    if model is not Inquiry:
        return Value(0)
    ended_snoozes = QuestionSnooze.objects.filter(
        inquiry_id=OuterRef("pk"), person_id=OuterRef("receiver_person"), until__lte=Now()
    )
    return Coalesce(
        Subquery(ended_snoozes.values("return_number")[:1], output_field=IntegerField()), 0
    )
