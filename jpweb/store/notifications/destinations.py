"""Notification destinations that people added."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from jpweb.store import db_text
from jpweb.store.choices import Act, Role
from jpweb.store.errors import StoreError
from jpweb.store.models import Membership, NotificationDestination, Person
from jpweb.store.notifications import channel_acts

#: Destinations of one person at most.
MAX_DESTINATIONS = 20
#: Longest delay of a destination, in seconds.
MAX_DELAY_SECONDS = 86_400


class UnknownDestination(StoreError):
    """The person has no such destination."""


class DestinationRefused(StoreError):
    """The destination cannot be saved; says why."""


def list_destinations(person_id: int) -> list[NotificationDestination]:
    """Return a person's destinations with their workspaces."""
    return list(_filter_by_person(person_id).order_by("workspace__name", "pk"))


def get_destination(person_id: int, destination_id: int) -> NotificationDestination:
    """Return a destination of a person. Raises UnknownDestination where it is another person's."""
    destination = _filter_by_person(person_id).filter(pk=destination_id).first()
    if destination is None:
        raise UnknownDestination("No such channel.")
    return destination


@transaction.atomic
def add_destination(
    person_id: int, workspace_id: int, url: str, delay: int
) -> NotificationDestination:
    """Save a destination. Raises DestinationRefused.

    The delay is in seconds, from 0 to ``MAX_DELAY_SECONDS``; the notification library
    accepts the URL.
    """
    if not can_answer(person_id, workspace_id):
        raise DestinationRefused("Choose a workspace in which you can answer.")
    person = Person.objects.select_for_update().get(pk=person_id)  # serializes the count below
    existing_rows = list(NotificationDestination.objects.filter(person_id=person_id))
    if any(
        destination.workspace_id == workspace_id and destination.url == url
        for destination in existing_rows
    ):
        raise DestinationRefused("You already have this channel for this workspace.")
    if len(existing_rows) >= MAX_DESTINATIONS:
        raise DestinationRefused(
            f"You have {MAX_DESTINATIONS} channels. Remove one to add another."
        )
    new_destination = NotificationDestination(
        person=person, workspace_id=workspace_id, url=db_text.clean_text(url), delay=delay
    )
    new_destination.save(force_insert=True)
    channel_acts.record_destination_act(Act.CHANNEL_ADDED, new_destination)
    return new_destination


@transaction.atomic
def remove_destination(person_id: int, destination_id: int) -> None:
    """Delete a destination. Raises UnknownDestination."""
    destination = get_destination(person_id, destination_id)
    channel_acts.record_destination_act(Act.CHANNEL_REMOVED, destination)
    destination.delete()


def record_problem(destination_id: int, problem: str) -> None:
    """Record why the last message to a destination failed; empty where it did not."""
    NotificationDestination.objects.filter(pk=destination_id).update(
        problem=db_text.clean_text(problem)[:500]
    )


def can_answer(person_id: int, workspace_id: int) -> bool:
    """Tell whether a person may now answer in a workspace."""
    memberships = Membership.objects.filter(person_id=person_id, workspace_id=workspace_id)
    return memberships.filter(role__gte=Role.RESPONDER, person__is_active=True).exists()


def _filter_by_person(person_id: int) -> QuerySet[NotificationDestination]:
    rows = NotificationDestination.objects.filter(person_id=person_id)
    return rows.select_related("workspace", "person")
