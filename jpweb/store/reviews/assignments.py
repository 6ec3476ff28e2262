"""Assignments of questions and conversations to reviewers."""

from __future__ import annotations

from django.db import transaction

from jpweb.store.choices import Act, Role
from jpweb.store.errors import ReviewRefused
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Person, ReviewTask
from jpweb.store.reviews import reviews, subjects
from jpweb.store.reviews.reviews import ReviewHistory
from jpweb.store.reviews.subjects import ReviewSubject


def list_assignable(subject: ReviewSubject) -> list[Person]:
    """Return the auditors of a subject's workspace who can still review it, by name."""
    auditors = _list_auditors(subject)
    participants = subjects.list_participants(subject, [person.pk for person in auditors])
    history = reviews.load_history(subject)
    outsiders = [person for person in auditors if person.pk not in participants]
    return [person for person in outsiders if _can_start(history, person)]


def _can_start(history: ReviewHistory, outsider: Person) -> bool:
    """Tell whether a person who took no part can give a review that they have not given yet."""
    try:
        return history.find_slot(outsider.pk, took_part=False).revision == 1
    except ReviewRefused:
        return False


def _list_auditors(subject: ReviewSubject) -> list[Person]:
    workspace_id = subject.conversation.workspace_id
    people = Person.objects.filter(
        memberships__workspace_id=workspace_id,
        memberships__role__in=Role.list_including(Role.AUDITOR),
        is_active=True,
    )
    return list(people.order_by("first_name", "username"))


def find_assignee(subject: ReviewSubject) -> Person | None:
    """Return the person to whom a subject is assigned."""
    tasks = ReviewTask.objects.filter(conversation=subject.conversation, anchor=subject.anchor)
    task = tasks.select_related("assignee").first()
    return task.assignee if task else None


@transaction.atomic
def assign(subject: ReviewSubject, assignee_id: int | None, actor: Actor) -> Person | None:
    """Assign a subject to an auditor, or to nobody; return the auditor. Raises ReviewRefused."""
    tasks = ReviewTask.objects.select_for_update()
    task, _ = tasks.get_or_create(conversation=subject.conversation, anchor=subject.anchor)
    assignee = _get_auditor(subject, assignee_id) if assignee_id else None
    if task.assignee_id == (assignee.pk if assignee else None):
        return assignee
    task.assignee = assignee
    task.save(update_fields=["assignee"])
    conversation = subject.conversation
    place = Place(conversation.workspace_id, conversation.pk, subject.ledger_subject)
    name = assignee.display_name if assignee else ""
    record_act(Act.REVIEW_ASSIGNED, actor, place, name=name, person=assignee_id or None)
    return assignee


def _get_auditor(subject: ReviewSubject, person_id: int) -> Person:
    """Return an auditor who can review a subject. Raises ReviewRefused."""
    person = next((row for row in _list_auditors(subject) if row.pk == person_id), None)
    if person is None:
        raise ReviewRefused("Choose an auditor of this workspace.")
    if subjects.is_own(subject, person_id):
        raise ReviewRefused(
            f"{person.display_name} took part in this, so someone else has to review it."
        )
    slot = reviews.load_history(subject).find_slot(person_id)
    if slot.revision > 1:
        raise ReviewRefused(f"{person.display_name} has already reviewed this.")
    return person
