"""Reservations: of two auditors only one reviews a subject at a time, and the other sees the name.

A reservation lapses by the database's clock, so that a closed browser holds nothing up.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Q
from django.db.models.functions import Now

from jpweb.store.models import Person, ReviewTask
from jpweb.store.reviews.subjects import ReviewSubject

#: Seconds after which a reservation lapses.
RESERVATION_SECONDS = 15 * 60


class Reservation(NamedTuple):
    """The person who is reviewing, and until when nobody else can."""

    person: Person
    until: datetime


def reserve(conversation_id: int, anchor: str, person_id: int) -> bool:
    """Reserve a subject for a person, or renew it; tell whether they hold it now."""
    task, _ = ReviewTask.objects.get_or_create(conversation_id=conversation_id, anchor=anchor)
    # Compare-and-set: of two people who try at once, one changes the row.
    is_free = Q(holder=None) | Q(holder_id=person_id) | Q(held_until__lte=Now())
    free_task = ReviewTask.objects.filter(is_free, pk=task.pk)
    until = Now() + timedelta(seconds=RESERVATION_SECONDS)
    return bool(free_task.update(holder_id=person_id, held_until=until))


def release(conversation_id: int, anchor: str, person_id: int) -> None:
    """Release the reservation of a person, if they have it."""
    ReviewTask.objects.filter(
        conversation_id=conversation_id, anchor=anchor, holder_id=person_id
    ).update(holder=None, held_until=None)


def release_all(person_id: int) -> None:
    """Release every reservation of a person."""
    ReviewTask.objects.filter(holder_id=person_id).update(holder=None, held_until=None)


def find_reservation(subject: ReviewSubject) -> Reservation | None:
    """Return the reservation of a subject that has not lapsed."""
    task = (
        ReviewTask.objects.filter(
            conversation=subject.conversation,
            anchor=subject.anchor,
            holder__isnull=False,
            held_until__gt=Now(),
        )
        .select_related("holder")
        .first()
    )
    if task is None or task.holder is None or task.held_until is None:
        return None
    return Reservation(task.holder, task.held_until)
