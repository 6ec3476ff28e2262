"""Receipts of questions: delivered, visible, focused, answer begun.

The first times are saved. Browsers report them, so reports of questions that the person
may not answer are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db import IntegrityError, connection, transaction

from jpweb.store.choices import Role
from jpweb.store.models import (
    DisplayReceipt,
    Inquiry,
    Membership,
    NotificationDelivery,
    Person,
    PushDelivery,
)
from jpweb.store.sql import bulk

#: The keys of a question and of a person.
ReceiptKey = tuple[int, int]
#: Receipts, and notifications, that a page shows at most.
MAX_SHOWN = 50

_UPSERT_RECEIPT = """
INSERT INTO store_displayreceipt
  (inquiry_id, person_id, delivered_at, visible_at, focused_at, draft_at)
VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (inquiry_id, person_id) DO UPDATE SET
  visible_at = COALESCE(store_displayreceipt.visible_at, excluded.visible_at),
  focused_at = COALESCE(store_displayreceipt.focused_at, excluded.focused_at),
  draft_at = COALESCE(store_displayreceipt.draft_at, excluded.draft_at)
"""


@dataclass(slots=True)
class ReceiptTimes:
    """The first time of each kind, where known."""

    delivered: datetime | None = None
    visible: datetime | None = None
    focused: datetime | None = None
    draft: datetime | None = None

    def get_columns(self) -> tuple[datetime | None, ...]:
        """Return the four columns; a card that was visible counts as delivered by then."""
        columns = (self.delivered, self.visible, self.focused, self.draft)
        return (min((moment for moment in columns if moment), default=None), *columns[1:])

    def list_times(self) -> list[tuple[str, datetime]]:
        """Return the kinds with a time, and the times."""
        named_times = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [(kind, moment) for kind, moment in named_times if moment is not None]


@dataclass(frozen=True, slots=True)
class SentNotification:
    """A message about a question to a person's channel or browser; ``problem`` is why it failed.

    ``follows_return``: the question had come back from the person's snooze.
    """

    sent_at: datetime
    person: Person
    problem: str
    is_in_browser: bool
    follows_return: bool


@dataclass(frozen=True, slots=True)
class ReceiptLog:
    """The receipts and notifications of one question, in order; the lists may be cut."""

    delivered_count: int
    display_receipts: Sequence[DisplayReceipt]
    notification_count: int
    notifications: Sequence[SentNotification]


def save_receipts(receipts: Mapping[ReceiptKey, ReceiptTimes]) -> list[ReceiptKey]:
    """Save new times of receipts; returns the saved keys. An existing time stays.

    Three statements for any number. People who may not answer a question are left out.
    """
    for _ in range(2):
        adapt = bulk.get_time_adapter()
        allowed_receipts = sorted(_filter_allowed(receipts))
        rows = [(*key, *map(adapt, receipts[key].get_columns())) for key in allowed_receipts]
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                if rows:
                    cursor.executemany(_UPSERT_RECEIPT, rows)
        except IntegrityError:
            continue  # a question was deleted between the two queries
        return allowed_receipts
    return []


def get_receipt_log(inquiry_id: int) -> ReceiptLog:
    """Return the receipts and notifications of a question, the first ones first."""
    display_receipts = DisplayReceipt.objects.filter(inquiry_id=inquiry_id).select_related("person")
    channel_count, to_channels = _list_sent(NotificationDelivery, inquiry_id, "destination__person")
    browser_count, to_browsers = _list_sent(PushDelivery, inquiry_id, "person")
    notifications = sorted([*to_channels, *to_browsers], key=lambda row: row.sent_at)
    return ReceiptLog(
        display_receipts.count(),
        list(display_receipts.order_by("delivered_at", "id")[:MAX_SHOWN]),
        channel_count + browser_count,
        notifications[:MAX_SHOWN],
    )


def _list_sent(model: Any, inquiry_id: int, recipient: str) -> tuple[int, list[SentNotification]]:
    """Return how many messages a table has of a question, and the first ones."""
    deliveries = model.objects.filter(inquiry_id=inquiry_id)
    rows = deliveries.select_related(recipient).order_by("sent_at", "id")[:MAX_SHOWN]
    notifications = [
        SentNotification(
            row.sent_at,
            row.person if model is PushDelivery else row.destination.person,
            row.problem,
            is_in_browser=model is PushDelivery,
            follows_return=row.return_number > 0,
        )
        for row in rows
    ]
    return deliveries.count(), notifications


def find_earliest(display_receipts: Iterable[DisplayReceipt], column: str) -> DisplayReceipt | None:
    """Return the receipt with the earliest time in a column."""
    timed_receipts = [row for row in display_receipts if getattr(row, column) is not None]
    return min(timed_receipts, key=lambda row: getattr(row, column), default=None)


def _filter_allowed(receipts: Mapping[ReceiptKey, ReceiptTimes]) -> set[ReceiptKey]:
    """Return the keys whose person may answer the question."""
    inquiries = Inquiry.objects.filter(pk__in={inquiry for inquiry, _ in receipts})
    workspace_ids = dict(inquiries.values_list("pk", "conversation__workspace_id"))
    members = Membership.objects.filter(
        person_id__in={person for _, person in receipts},
        workspace_id__in=set(workspace_ids.values()),
        role__gte=Role.RESPONDER,
        person__is_active=True,
    )
    responders = set(members.values_list("workspace_id", "person_id"))
    return {key for key in receipts if (workspace_ids.get(key[0]), key[1]) in responders}
