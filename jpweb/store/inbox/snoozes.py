"""Snoozes: open questions that a person hides from their own queue for a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from django.db.models import BooleanField, Case, Exists, Max, OuterRef, Q, QuerySet, When
from django.db.models.functions import Now

from jpweb.store.choices import UNFINISHED_STATES
from jpweb.store.database import clock
from jpweb.store.inquiries import OPEN_STATE, list_open
from jpweb.store.models import (
    Inquiry,
    NotificationDelivery,
    NotificationDestination,
    PushDelivery,
    PushSubscription,
    QuestionSnooze,
)
from jpweb.store.sql.compiled_query import CompiledQuery

#: Hour of the next day, in the person's time zone, until which "tomorrow" snoozes.
MORNING_HOUR = 8
#: The times for which a question can be snoozed; "tomorrow" is the other choice.
SNOOZE_TIMES = {"10min": timedelta(minutes=10), "1h": timedelta(hours=1)}
#: A snoozed question comes back so long before it expires.
TIME_BEFORE_EXPIRY = timedelta(minutes=5)
#: An ended snooze stays so long for its person's further messages, which a claim holds back for ten
#: minutes. Open pages are told of the end for ``SIGNAL_TIME``.
RETURN_TIME, SIGNAL_TIME = timedelta(minutes=15), timedelta(seconds=10)

_IS_OPEN = Q(inquiry__state=OPEN_STATE, inquiry__run__state__in=UNFINISHED_STATES)


class SnoozedQuestion(NamedTuple):
    """The keys of an open question that a person snoozed, and until when."""

    key: int
    workspace_id: int
    conversation_id: int
    until: datetime


class SnoozedRow(NamedTuple):
    """A snoozed question as its person's list shows it."""

    question: Inquiry
    until: datetime

    @property
    def is_shortened(self) -> bool:
        """Whether the question comes back earlier than its person asked, since it expires."""
        expires_at = self.question.expires_at
        return expires_at is not None and self.until >= expires_at - TIME_BEFORE_EXPIRY


def find_end(choice: str, zone_name: str) -> datetime | None:
    """Return when a snooze that begins now ends; None for an unknown choice.

    An unknown time zone counts as UTC.
    """
    current_time = clock.now()
    if choice in SNOOZE_TIMES:
        return current_time + SNOOZE_TIMES[choice]
    if choice != "tomorrow":
        return None
    zone = ZoneInfo(zone_name) if zone_name in available_timezones() else UTC
    morning = current_time.astimezone(zone).replace(
        hour=MORNING_HOUR, minute=0, second=0, microsecond=0
    )
    return morning + timedelta(days=1)


def snooze_question(inquiry: Inquiry, person_id: int, until: datetime) -> datetime | None:
    """Hide an open question from a person's queue; return until when.

    That is earlier than asked where the question expires sooner; None where it expires too soon,
    or where the person cannot answer it now.
    """
    if inquiry.expires_at is not None:
        until = min(until, inquiry.expires_at - TIME_BEFORE_EXPIRY)
    is_open = list_open(person_id).filter(pk=inquiry.pk).exists()
    if not is_open or until <= clock.now():
        return None
    return_number = _find_next_number(inquiry.pk, person_id)
    QuestionSnooze.objects.update_or_create(
        inquiry=inquiry,
        person_id=person_id,
        defaults={"until": until, "return_number": return_number},
    )
    return until


def wake_question(inquiry: Inquiry, person_id: int) -> None:
    """Bring a question back to a person's queue."""
    QuestionSnooze.objects.filter(inquiry=inquiry, person_id=person_id).delete()


def list_snoozed(person_id: int, **scope: int) -> list[SnoozedRow]:
    """Return the questions that a person snoozed, the next to come back first.

    ``scope`` is a ``conversation_id`` or a ``workspace_id``; without one there are all.
    """
    if scope.keys() == {"conversation_id"}:  # in the page of every conversation
        rows = _conversation_query([person_id], [scope["conversation_id"]])
    else:
        conditions = {f"inquiry__{name}": value for name, value in scope.items()}
        rows = list(_order_snoozes(_list_current([person_id]).filter(**conditions)))
    return [SnoozedRow(row.inquiry, row.until) for row in rows]


def list_keys(person_ids: Collection[int]) -> dict[int, frozenset[SnoozedQuestion]]:
    """Return the questions that these people snoozed; one query."""
    keys_by_person: dict[int, set[SnoozedQuestion]] = defaultdict(set)
    for row in _key_query(sorted(person_ids)):
        keys_by_person[row[0]].add(SnoozedQuestion(*row[1:]))
    return {person_id: frozenset(keys) for person_id, keys in keys_by_person.items()}


def is_snoozed(person_ids: Collection[int]) -> Exists:
    """Return the condition that one of these people snoozed a question."""
    return Exists(
        QuestionSnooze.objects.filter(
            inquiry_id=OuterRef("pk"), person_id__in=person_ids, until__gt=Now()
        )
    )


def delete_ended() -> set[int]:
    """Delete snoozes that have ended; return the workspaces of their questions.

    That of an open question stays until no channel or browser of its person is due a message of
    the return, for ``RETURN_TIME`` at most.
    """
    rows = _ended_query()
    keys = [key for key, _, _, is_awaited in rows if not is_awaited]
    if keys:
        QuestionSnooze.objects.filter(pk__in=keys).delete()
    return {
        workspace_id
        for _, workspace_id, is_recent, is_awaited in rows
        if is_recent or not is_awaited
    }


def _list_current(person_ids: Collection[int]) -> QuerySet[QuestionSnooze]:
    return QuestionSnooze.objects.filter(_IS_OPEN, person_id__in=person_ids, until__gt=Now())


def _find_next_number(inquiry_id: int, person_id: int) -> int:
    """Return the number of a new snooze, above those of its person's messages and last snooze."""
    last_snooze = QuestionSnooze.objects.filter(inquiry_id=inquiry_id, person_id=person_id)
    to_channels = NotificationDelivery.objects.filter(
        inquiry_id=inquiry_id, destination__person_id=person_id
    )
    to_browsers = PushDelivery.objects.filter(inquiry_id=inquiry_id, person_id=person_id)
    numbers: list[int] = [
        rows.aggregate(highest=Max("return_number", default=0))["highest"]
        for rows in (last_snooze, to_channels, to_browsers)
    ]
    return 1 + max(numbers)


def _is_due_to_channel() -> Exists:
    """Return the condition that a channel of a snooze's person had no message of its return."""
    channels = NotificationDestination.objects.filter(
        person_id=OuterRef("person_id"), workspace_id=OuterRef("inquiry__workspace_id")
    )
    return Exists(channels.filter(~_has_message(NotificationDelivery, "destination_id")))


def _is_due_to_browser() -> Exists:
    """Return the condition that a browser of a snooze's person had no message of its return."""
    browsers = PushSubscription.objects.filter(person_id=OuterRef("person_id"))
    known_browsers = browsers.exclude(endpoint="")
    return Exists(known_browsers.filter(~_has_message(PushDelivery, "subscription_id")))


def _has_message(model: Any, receiver: str) -> Exists:
    return Exists(
        model.objects.filter(
            inquiry_id=OuterRef(OuterRef("inquiry_id")),
            return_number__gte=OuterRef(OuterRef("return_number")),
            **{receiver: OuterRef("pk")},
        )
    )


def _make_flag(condition: Q) -> Case:
    return Case(When(condition, then=True), default=False, output_field=BooleanField())


def _order_snoozes(snoozes: QuerySet[QuestionSnooze]) -> QuerySet[QuestionSnooze]:
    return snoozes.select_related("inquiry__conversation").order_by("until", "inquiry_id")


#: The ORM takes 0.6 to 4.2 ms longer for each of these; the longest runs every two seconds.
_conversation_query = CompiledQuery(
    lambda person_ids, conversation_ids: _order_snoozes(
        _list_current(person_ids).filter(inquiry__conversation_id__in=conversation_ids)
    )
)
_ended_query = CompiledQuery(
    lambda: (
        QuestionSnooze.objects.filter(Q(until__lte=Now()) | ~Q(inquiry__state=OPEN_STATE))
        .annotate(
            is_recent=_make_flag(Q(until__gt=Now() - SIGNAL_TIME)),
            is_awaited=_make_flag(
                _IS_OPEN
                & Q(until__gt=Now() - RETURN_TIME)
                & (Q(_is_due_to_channel()) | Q(_is_due_to_browser()))
            ),
        )
        .values_list("pk", "inquiry__workspace_id", "is_recent", "is_awaited")
    )
)
_key_query = CompiledQuery(
    lambda person_ids: _list_current(person_ids).values_list(
        "person_id", "inquiry_id", "inquiry__workspace_id", "inquiry__conversation_id", "until"
    )
)
