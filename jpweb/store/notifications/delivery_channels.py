"""Ways to notify people: addresses that they typed, and browsers that they turned on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from jpweb.store.models import (
    NotificationDelivery,
    NotificationDestination,
    PushDelivery,
    PushSubscription,
)
from jpweb.store.notifications import push_subscriptions


@dataclass(frozen=True, slots=True)
class Channel:
    """The tables of a way to notify people, and the paths to them from conversation and person.

    ``receiver`` is the column of a delivery that names its destination or browser.
    """

    receiver_model: Any
    delivery_model: Any
    receiver: str
    path: str
    receivers_of_person: str

    def list_usable(self) -> QuerySet[Any]:
        """Return the destinations or browsers to which messages can go now."""
        if self.receiver_model is PushSubscription:
            return push_subscriptions.list_live()
        return NotificationDestination.objects.all()


#: Addresses that people typed: each is for one workspace.
ADDRESS = Channel(
    NotificationDestination,
    NotificationDelivery,
    "destination",
    "conversation__workspace__notification_destinations",
    "notification_destinations",
)
#: Browsers: each is for every workspace in which its person may answer.
BROWSER = Channel(
    PushSubscription,
    PushDelivery,
    "subscription",
    "conversation__workspace__memberships__person__push_subscriptions",
    "push_subscriptions",
)
CHANNELS = (ADDRESS, BROWSER)

#: Messages to one destination in one pass; the rest are sent in the next pass.
MAX_PER_DESTINATION = 5
