"""Reviews that a person reserved, or was assigned, when the auditor's role ends."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.models import Inquiry, LedgerEntry, Membership, Person
from jpweb.store.people import groups
from jpweb.store.reviews import assignments, reservations
from jpweb.store.reviews.subjects import ReviewSubject
from tests.store import making
from tests.store.people.grouping import act_as, give, join, make_group
from tests.store.reviews.desk import ReviewDesk, load

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk() -> ReviewDesk:
    desk = ReviewDesk()
    making.person("owner", Role.OWNER, desk.workspace)
    return desk


def get_member(desk: ReviewDesk) -> Membership:
    return Membership.objects.get(person=desk.ada, workspace=desk.workspace)


def take(desk: ReviewDesk, row: Inquiry | None = None) -> ReviewSubject:
    """Return a question whose review Ada was assigned and began."""
    subject = load(row or desk.close())
    assignments.assign(subject, desk.ada.pk, act_as())
    assert reservations.reserve(subject.conversation.pk, subject.anchor, desk.ada.pk)
    return subject


def find_work(subject: ReviewSubject) -> list[Person]:
    reservation = reservations.find_reservation(subject)
    people = [assignments.find_assignee(subject), reservation and reservation.person]
    return [person for person in people if person is not None]


def lower_role(desk: ReviewDesk) -> None:
    accounts.change_role(get_member(desk), Role.RESPONDER, act_as())


def remove_member(desk: ReviewDesk) -> None:
    accounts.remove_member(get_member(desk), act_as())


def delete_group(desk: ReviewDesk) -> None:
    """Have Ada audit by a group alone, and delete it."""
    group = make_group("Night shift", Person.objects.get(username="owner"), desk.ada)
    give(group, desk.workspace, Role.AUDITOR_ONLY)
    join(group, desk.ada)
    accounts.change_role(get_member(desk), Role.READER, act_as())
    assert accounts.get_role(desk.ada.pk, desk.workspace.pk) is Role.AUDITOR_ONLY
    groups.delete_group(group, act_as())


@pytest.mark.parametrize("end_role", [lower_role, remove_member, delete_group])
def test_end_of_the_auditors_role_gives_its_reviews_back(
    desk: ReviewDesk, end_role: Callable[[ReviewDesk], None]
):
    subject, workspace = take(desk), making.workspace("Orchard")
    Membership.objects.create(person=desk.ada, workspace=workspace, role=Role.AUDITOR)
    run = making.start_run(making.conversation(workspace))
    other_subject = take(desk, making.settle(making.question(run), making.ANSWER))
    end_role(desk)
    assert find_work(subject) == []
    assert find_work(other_subject) == [desk.ada, desk.ada]
    entry = LedgerEntry.objects.filter(act=Act.REVIEW_ASSIGNED).latest("pk")
    content = json.loads(entry.text)
    assert (content["by"]["name"], content["details"]) == ("Owner", {"name": "", "person": None})
    assert (entry.workspace_id, entry.subject) == (desk.workspace.pk, subject.ledger_subject)


def test_auditors_with_another_auditing_role_keep_their_reviews(desk: ReviewDesk):
    subject = take(desk)
    for role in (Role.AUDITOR_ONLY, Role.OWNER, Role.AUDITOR):
        accounts.change_role(get_member(desk), role, act_as())
    assert find_work(subject) == [desk.ada, desk.ada]
