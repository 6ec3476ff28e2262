"""Notification deliveries: lists due ones, claims them, and records failures.

A delivery's row is written before the message is sent (at most once): of two processes
one sends, and a crash in between loses that message. The question stays open, whether
its messages arrive or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias, TypeVar

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
    Q,
    QuerySet,
    Value,
    Window,
)
from django.db.models.functions import Now, RowNumber

from jpweb.store import approvals, db_text, inquiries
from jpweb.store.choices import ApprovalKind, ApprovalState, Role
from jpweb.store.inbox import snoozes
from jpweb.store.inquiries import OPEN_STATE, is_run_unfinished
from jpweb.store.ledger.entries import Place
from jpweb.store.models import (
    Approval,
    ApprovalClaim,
    Inquiry,
    Membership,
    Mention,
    PushSubscription,
    QuestionClaim,
    QuestionSnooze,
)
from jpweb.store.notifications import (
    answer_buttons,
    answer_links,
    channel_acts,
    due_mentions,
    returned_questions,
)
from jpweb.store.notifications.answer_buttons import AnswerButton
from jpweb.store.notifications.delivery_channels import (
    ADDRESS,
    BROWSER,
    CHANNELS,
    MAX_PER_DESTINATION,
    Channel,
)
from jpweb.stream.answer_type import ANSWER_TYPES

Row = TypeVar("Row", bound=Model)
#: Subjects of messages.
WaitingRow: TypeAlias = Inquiry | Approval | Mention


@dataclass(frozen=True, slots=True)
class DueNotification:
    """A row that waits for a person, and a destination or browser that is due its message.

    That is an open question or approval, or a mention. ``text`` is the question's, and empty for
    a secret one or one of an unknown kind: it is not sent, and so not read. ``url`` is empty for a
    browser, which is in ``subscription``. ``comment_page`` has the conversation and the event of
    a mention. ``return_number`` says which return of a question from its person's snoozes the
    message follows; 0 without one. ``place`` is that of a question in the ledger.
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
    return_number: int = 0
    mention_id: int | None = None
    comment_page: tuple[int, str] = (0, "")
    place: Place = field(default_factory=Place)
    person_name: str = ""
    channel: Channel = ADDRESS
    subscription: PushSubscription | None = field(default=None, repr=False)
    buttons: Sequence[AnswerButton] = field(default=(), repr=False)

    @property
    def queue_key(self) -> tuple[str, int]:
        """The channel and the destination or browser: its messages are sent one by one."""
        return self.channel.receiver, self.destination_id


def list_due(limit: int) -> list[DueNotification]:
    """Return the due notifications, the oldest first; at most ``MAX_PER_DESTINATION`` of each.

    Due is an open question or approval of an unfinished run, older than the delay of the
    destination or browser, where its person may answer now, and that it had no message of, or none
    of its return from its person's snooze. So is a mention of a destination's person that they
    have not seen. At most five queries for each channel in use.
    """
    waiting_rows: list[tuple[WaitingRow, Channel]] = []
    for channel in CHANNELS:
        if channel.receiver_model.objects.exists():
            waiting_rows += [(row, channel) for row in _list_due_questions(channel)[:limit]]
            waiting_rows += [(row, channel) for row in _list_due_approvals(channel)[:limit]]
            waiting_rows += [(row, channel) for row in due_mentions.list_due(channel)[:limit]]
    waiting_rows.sort(key=lambda pair: _get_start(pair[0]))
    receivers: dict[tuple[Channel, int], Any] = {}
    for channel in {channel for _, channel in waiting_rows}:
        keys = {
            _get_receiver_id(row) for row, row_channel in waiting_rows if row_channel is channel
        }
        usable_receivers = channel.list_usable().select_related("person").in_bulk(keys)
        receivers |= {(channel, key): receiver for key, receiver in usable_receivers.items()}
    return _pick_due(waiting_rows, receivers, limit)


def _get_start(row: WaitingRow) -> datetime:
    """Return the time from which a row waits for a person."""
    return row.made_at if isinstance(row, Mention) else row.asked_at


def _pick_due(
    waiting_rows: list[tuple[WaitingRow, Channel]],
    receivers: dict[tuple[Channel, int], Any],
    limit: int,
) -> list[DueNotification]:
    counts: dict[tuple[Channel, int], int] = dict.fromkeys(receivers, 0)
    due_notifications: list[DueNotification] = []
    for row, channel in waiting_rows:
        key = channel, _get_receiver_id(row)
        has_room = counts.get(key, MAX_PER_DESTINATION) < MAX_PER_DESTINATION
        if has_room and len(due_notifications) < limit:
            counts[key] += 1
            due_notifications.append(_make_due(row, channel, receivers[key]))
    return due_notifications


def claim_delivery(due_notification: DueNotification) -> tuple[int, str] | None:
    """Claim a delivery; returns its key, and for a question the token of a new answer link.

    A browser gets no link: its person is signed in. Returns None where another process claimed the
    delivery, or where it is no longer due.
    """
    channel = due_notification.channel
    try:
        with transaction.atomic():
            if not _is_still_due(due_notification):
                return None
            delivery_id = _record_delivery(due_notification)
            token = _issue_link(due_notification) if channel is ADDRESS else ""
    except IntegrityError:
        return None
    return delivery_id, token


def _issue_link(due_notification: DueNotification) -> str:
    """Issue the answer link of a question, and record that; return its token, "" without one."""
    inquiry_id, person_id = due_notification.inquiry_id, due_notification.person_id
    if inquiry_id is None:
        return ""
    person = person_id, due_notification.person_name
    destination = due_notification.destination_id, due_notification.url
    channel_acts.record_answer_link(due_notification.place, person, destination)
    return answer_links.issue_link(inquiry_id, person_id)


def _record_delivery(due_notification: DueNotification) -> int:
    """Record a delivery and return its key.

    Raises IntegrityError where another process claimed the delivery.
    """
    channel = due_notification.channel
    receiver = {f"{channel.receiver}_id": due_notification.destination_id}
    if channel is BROWSER:
        receiver["person_id"] = due_notification.person_id
    delivery = channel.delivery_model.objects.create(
        **receiver,
        inquiry_id=due_notification.inquiry_id,
        approval_id=due_notification.approval_id,
        mention_id=due_notification.mention_id,
        return_number=due_notification.return_number,
    )
    key: int = delivery.pk
    return key


def list_waiting_keys(
    person_id: int, inquiry_ids: Sequence[int], approval_ids: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return which of these questions and approvals the person may answer or decide now.

    Questions that the person snoozed are left out.
    """
    is_snoozed = snoozes.is_snoozed([person_id])
    waiting_inquiries = inquiries.list_open(person_id).filter(~is_snoozed, pk__in=inquiry_ids)
    waiting_approvals = approvals.list_open_for(person_id).filter(pk__in=approval_ids)
    return (
        list(waiting_inquiries.values_list("pk", flat=True)),
        list(waiting_approvals.values_list("pk", flat=True)),
    )


def record_failure(
    channel: Channel, delivery_id: int, problem: str, *, is_browser_gone: bool = False
) -> None:
    """Record why a message was not delivered.

    A gone browser gets the message once it is turned on again, so the delivery leaves it.
    """
    values: dict[str, Any] = {"problem": db_text.clean_text(problem)[:500]}
    if is_browser_gone:
        values["subscription"] = None
    channel.delivery_model.objects.filter(pk=delivery_id).update(**values)


def _make_due(row: WaitingRow, channel: Channel, receiver: Any) -> DueNotification:
    common_fields: dict[str, Any] = {
        "destination_id": receiver.pk,
        "person_id": receiver.person_id,
        "person_name": receiver.person.display_name,
        "url": receiver.url if channel is ADDRESS else "",
        "subscription": receiver if channel is BROWSER else None,
        "channel": channel,
    }
    if isinstance(row, Mention):
        return DueNotification(**common_fields, **_describe_mention(row))
    common_fields |= {
        "workspace": row.conversation.workspace.name,
        "conversation": row.conversation.title,
    }
    if isinstance(row, Approval):
        kind = ApprovalKind(row.kind)
        return DueNotification(
            **common_fields, asker=row.tool_name, approval_id=row.pk, approval_kind=kind
        )
    answer_type = ANSWER_TYPES.get(row.answer_type)
    is_secret = answer_type is not None and not answer_type.RECORDS_ANSWER
    text = "" if answer_type is None or is_secret else str(row.question.get("text", ""))
    asker, buttons = row.label or row.asker, answer_buttons.list_buttons(row)
    return DueNotification(
        **common_fields,
        asker=asker,
        inquiry_id=row.pk,
        place=Place(row.conversation.workspace_id, row.conversation_id, f"inquiry:{row.pk}"),
        return_number=row.present_return,  # type: ignore[attr-defined]  # by _join_receivers
        text=text,
        is_secret=is_secret,
        buttons=buttons,
    )


def _describe_mention(row: Mention) -> dict[str, Any]:
    thread = row.comment.thread
    return {
        "workspace": thread.conversation.workspace.name,
        "conversation": thread.conversation.title,
        "asker": row.comment.author_name,
        "mention_id": row.pk,
        "comment_page": (thread.conversation_id, thread.anchor),
    }


def _list_due_questions(channel: Channel) -> QuerySet[Inquiry]:
    return _join_receivers(
        Inquiry.objects.filter(is_run_unfinished(), state=OPEN_STATE), "inquiry", channel
    )


def _list_due_approvals(channel: Channel) -> QuerySet[Approval]:
    waiting_approvals = Approval.objects.filter(is_run_unfinished(), state=ApprovalState.OPEN)
    return _join_receivers(waiting_approvals, "approval", channel)


def _join_receivers(waiting_rows: QuerySet[Row], row_field: str, channel: Channel) -> QuerySet[Row]:
    """Return a row per due destination or browser, with its key in the column ``receiver_key``."""
    responders = Membership.objects.filter(
        person_id=OuterRef("receiver_person"),
        workspace_id=OuterRef("conversation__workspace_id"),
        role__gte=Role.RESPONDER,
        person__is_active=True,
    )
    is_held_back = _is_held_back(waiting_rows.model)
    previous_deliveries = returned_questions.list_previous(channel, row_field)
    usable_receivers = channel.list_usable().filter(pk=OuterRef("receiver_key"))
    seconds = ExpressionWrapper(F(f"{channel.path}__delay"), IntegerField())
    delay = ExpressionWrapper(seconds * Value(timedelta(seconds=1)), DurationField())
    order = ("asked_at", "pk")
    due_rows: QuerySet[Row] = (
        waiting_rows.annotate(
            receiver_key=F(f"{channel.path}__pk"),
            receiver_person=F(f"{channel.path}__person_id"),
            due_at=ExpressionWrapper(F("asked_at") + delay, DateTimeField()),
            present_return=returned_questions.find_present_return(waiting_rows.model),
        )
        .filter(
            ~Exists(previous_deliveries),
            ~is_held_back,
            Exists(responders),
            Exists(usable_receivers),
            due_at__lte=Now(),
        )
        .annotate(place=Window(RowNumber(), partition_by=F("receiver_key"), order_by=order))
        .filter(place__lte=MAX_PER_DESTINATION)
        .select_related("conversation__workspace")
        .order_by(*order)
    )
    return due_rows


def _is_held_back(model: type[Model]) -> Q:
    """Return the condition that a person is on a row, or that its recipient snoozed it."""
    if model is Approval:
        return Q(Exists(ApprovalClaim.objects.filter(approval_id=OuterRef("pk"), until__gt=Now())))
    if model is not Inquiry:
        return Q(pk__isnull=True)
    claims = QuestionClaim.objects.filter(inquiry_id=OuterRef("pk"), until__gt=Now())
    own_snoozes = QuestionSnooze.objects.filter(
        inquiry_id=OuterRef("pk"), person_id=OuterRef("receiver_person"), until__gt=Now()
    )
    return Q(Exists(claims)) | Q(Exists(own_snoozes))


def _is_still_due(due_notification: DueNotification) -> bool:
    """Tell whether the question or approval is open, not held back, and the person may answer it.

    Of a question, the return is still the present one, and the receiver has had no message of it.
    The receiver's row stays locked until the delivery is on record. A mention is due until its
    person has seen it.
    """
    if due_notification.mention_id is not None:
        return due_mentions.is_due(
            due_notification.channel, due_notification.mention_id, due_notification.destination_id
        )
    open_rows: QuerySet[Any] = (
        Approval.objects.filter(pk=due_notification.approval_id, state=ApprovalState.OPEN)
        if due_notification.approval_id is not None
        else Inquiry.objects.filter(pk__in=[due_notification.inquiry_id], state=OPEN_STATE)
    )
    channel = due_notification.channel
    responders = Membership.objects.filter(
        person_id=due_notification.person_id,
        workspace__conversations=OuterRef("conversation"),
        role__gte=Role.RESPONDER,
        person__is_active=True,
    )
    receivers = channel.list_usable().filter(
        pk=due_notification.destination_id, person_id=due_notification.person_id
    )
    if receivers.select_for_update(of=("self",)).first() is None:
        return False
    row_field = "inquiry" if open_rows.model is Inquiry else "approval"
    due_rows: QuerySet[Any] = open_rows.annotate(
        receiver_key=Value(due_notification.destination_id),
        receiver_person=Value(due_notification.person_id),
        present_return=returned_questions.find_present_return(open_rows.model),
    ).filter(
        ~Exists(returned_questions.list_previous(channel, row_field)),
        ~_is_held_back(open_rows.model),
        Exists(responders),
        is_run_unfinished(),
        present_return=due_notification.return_number,
    )
    return due_rows.exists()


def _get_receiver_id(row: WaitingRow) -> int:
    key: int = row.receiver_key  # type: ignore[union-attr]  # annotated by _join_receivers
    return key
