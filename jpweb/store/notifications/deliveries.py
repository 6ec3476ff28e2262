"""Notification deliveries: lists due ones, claims them, and records failures.

A delivery's row is written before the message is sent (at most once): of two processes
one sends, and a crash in between loses that message. The question stays open, whether
its messages arrive or not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.db.models import (
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    IntegerField,
    Model,
    OuterRef,
    QuerySet,
    Value,
    Window,
)
from django.db.models.functions import Now, RowNumber

from jpweb.store import db_text
from jpweb.store.choices import ApprovalKind, ApprovalState, Role
from jpweb.store.inquiries import OPEN_STATE, run_is_unfinished
from jpweb.store.models import (
    Approval,
    Inquiry,
    Membership,
    NotificationDelivery,
    NotificationDestination,
)
from jpweb.store.notifications import answer_links
from jpweb.stream.answer_type import ANSWER_TYPES

Row = TypeVar("Row", bound=Model)

#: Messages to one destination in one pass; the rest are sent in the next pass.
MAX_PER_DESTINATION = 5


@dataclass(frozen=True, slots=True)
class DueNotification:
    """An open question or approval, and a destination that is due a message of it.

    ``text`` is the question's, and empty for a secret one or one of an unknown kind: it is
    not sent, and so not read.
    """

    destination_id: int
    person_id: int
    url: str = field(repr=False)
    workspace: str
    conversation: str
    asker: str
    inquiry_id: int | None = None
    text: str = field(default="", repr=False)
    is_secret: bool = False
    approval_id: int | None = None
    approval_kind: ApprovalKind | None = None


def list_due(limit: int) -> list[DueNotification]:
    """Return the due notifications, the oldest first; at most ``MAX_PER_DESTINATION`` of each.

    Due is an open question or approval of an unfinished run, older than the destination's
    delay, where its person may answer now, and that it had no message of. At most four
    queries.
    """
    if not NotificationDestination.objects.exists():
        return []
    waiting_rows: list[Inquiry | Approval] = [*_due_questions()[:limit], *_due_approvals()[:limit]]
    waiting_rows.sort(key=lambda row: row.asked_at)
    destination_ids = {_destination_id(row) for row in waiting_rows}
    destinations = NotificationDestination.objects.select_related("workspace").in_bulk(
        destination_ids
    )
    counts: dict[int, int] = dict.fromkeys(destinations, 0)
    due_notifications: list[DueNotification] = []
    for row in waiting_rows:
        destination = destinations.get(_destination_id(row))
        if (
            destination is not None
            and counts[destination.pk] < MAX_PER_DESTINATION
            and len(due_notifications) < limit
        ):
            counts[destination.pk] += 1
            due_notifications.append(_make_due(row, destination))
    return due_notifications


def claim_delivery(due_notification: DueNotification) -> tuple[int, str] | None:
    """Claim a delivery; returns its key, and for a question the token of a new answer link.

    Returns None where another process claimed it, or where it is no longer due.
    """
    try:
        with transaction.atomic():
            if not _is_still_due(due_notification):
                return None
            delivery = NotificationDelivery.objects.create(
                destination_id=due_notification.destination_id,
                inquiry_id=due_notification.inquiry_id,
                approval_id=due_notification.approval_id,
            )
            token = (
                answer_links.issue_link(due_notification.inquiry_id, due_notification.person_id)
                if due_notification.inquiry_id
                else ""
            )
    except IntegrityError:
        return None
    return delivery.pk, token


def record_failure(delivery_id: int, problem: str) -> None:
    """Record why a message was not delivered."""
    NotificationDelivery.objects.filter(pk=delivery_id).update(
        problem=db_text.clean_text(problem)[:500]
    )


def _make_due(row: Inquiry | Approval, destination: NotificationDestination) -> DueNotification:
    common: dict[str, Any] = {
        "destination_id": destination.pk,
        "person_id": destination.person_id,
        "url": destination.url,
        "workspace": destination.workspace.name,
        "conversation": row.conversation.title,
    }
    if isinstance(row, Approval):
        kind = ApprovalKind(row.kind)
        return DueNotification(
            **common, asker=row.tool_name, approval_id=row.pk, approval_kind=kind
        )
    answer_type = ANSWER_TYPES.get(row.answer_type)
    is_secret = answer_type is not None and not answer_type.RECORDS_ANSWER
    text = "" if answer_type is None or is_secret else str(row.question.get("text", ""))
    asker = row.label or row.asker
    return DueNotification(**common, asker=asker, inquiry_id=row.pk, text=text, is_secret=is_secret)


def _due_questions() -> QuerySet[Inquiry]:
    return _join_destinations(
        Inquiry.objects.filter(run_is_unfinished(), state=OPEN_STATE), "inquiry"
    )


def _due_approvals() -> QuerySet[Approval]:
    waiting = Approval.objects.filter(run_is_unfinished(), state=ApprovalState.OPEN)
    return _join_destinations(waiting, "approval")


def _join_destinations(waiting: QuerySet[Row], row_field: str) -> QuerySet[Row]:
    """Return a row per due destination, with the destination's key in the column ``told``."""
    destinations = "conversation__workspace__notification_destinations"
    responders = Membership.objects.filter(
        person_id=OuterRef("told_person"),
        workspace_id=OuterRef("conversation__workspace_id"),
        role__gte=Role.RESPONDER,
        person__is_active=True,
    )
    previous = NotificationDelivery.objects.filter(
        destination_id=OuterRef("told"), **{row_field: OuterRef("pk")}
    )
    seconds = ExpressionWrapper(F(f"{destinations}__delay"), IntegerField())
    delay = ExpressionWrapper(seconds * Value(timedelta(seconds=1)), DurationField())
    order = ("asked_at", "pk")
    due_rows: QuerySet[Row] = (
        waiting.annotate(
            told=F(f"{destinations}__pk"),
            told_person=F(f"{destinations}__person_id"),
            told_at=ExpressionWrapper(F("asked_at") + delay, DateTimeField()),
        )
        .filter(~Exists(previous), Exists(responders), told__isnull=False, told_at__lte=Now())
        .annotate(place=Window(RowNumber(), partition_by=F("told"), order_by=order))
        .filter(place__lte=MAX_PER_DESTINATION)
        .select_related("conversation")
        .order_by(*order)
    )
    return due_rows


def _is_still_due(due_notification: DueNotification) -> bool:
    """Tell whether the question or approval is open, and the destination's person may answer."""
    open_rows: QuerySet[Any] = (
        Approval.objects.filter(pk=due_notification.approval_id, state=ApprovalState.OPEN)
        if due_notification.approval_id is not None
        else Inquiry.objects.filter(pk__in=[due_notification.inquiry_id], state=OPEN_STATE)
    )
    responders = Membership.objects.filter(
        person_id=due_notification.person_id,
        workspace__conversations=OuterRef("conversation"),
        workspace__notification_destinations=due_notification.destination_id,
        role__gte=Role.RESPONDER,
        person__is_active=True,
    )
    return open_rows.filter(Exists(responders), run_is_unfinished()).exists()


def _destination_id(row: Inquiry | Approval) -> int:
    key: int = row.told  # type: ignore[union-attr]  # annotated by _join_destinations
    return key
