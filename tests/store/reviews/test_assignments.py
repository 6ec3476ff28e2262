"""Assignments: to auditors who can still review, each an entry of the ledger."""

from __future__ import annotations

import json

import pytest

from jpweb.store.choices import Act, Verdict
from jpweb.store.errors import ReviewRefused
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import LedgerEntry
from jpweb.store.reviews import assignments
from jpweb.store.workspace_config import review_policy
from tests.store import making
from tests.store.reviews.desk import ReviewDesk, load, send


def test_assignment_and_its_end_are_entries(desk: ReviewDesk):
    subject, actor = load(desk.close()), Actor.from_person(desk.ben)
    for _ in range(2):
        assert assignments.assign(subject, desk.ada.pk, actor) == desk.ada
    assert assignments.find_assignee(subject) == desk.ada
    assignments.assign(subject, None, actor)
    assert assignments.find_assignee(subject) is None
    entries = LedgerEntry.objects.filter(act=Act.REVIEW_ASSIGNED).order_by("pk")
    details = [json.loads(entry.text)["details"] for entry in entries]
    assert details == [{"name": "Ada", "person": desk.ada.pk}, {"name": "", "person": None}]


def test_review_of_the_assignee_ends_the_assignment(desk: ReviewDesk):
    subject = load(desk.close())
    assignments.assign(subject, desk.ada.pk, Actor.from_person(desk.ben))
    send(subject, desk.ben)
    assert assignments.find_assignee(subject) == desk.ada
    send(subject, desk.ada)
    assert assignments.find_assignee(subject) is None


def test_assign_accepts_only_auditors_of_the_workspace(desk: ReviewDesk):
    subject, actor = load(desk.close()), Actor.from_person(desk.ben)
    assert assignments.list_assignable(subject) == [desk.ada, desk.ben, desk.cleo]
    for person in (desk.rita, making.person("outsider")):
        with pytest.raises(ReviewRefused, match="Choose an auditor"):
            assignments.assign(subject, person.pk, actor)


def test_person_who_closed_or_reviewed_it_is_not_assigned(desk: ReviewDesk):
    actor = Actor.from_person(desk.cleo)
    with pytest.raises(ReviewRefused, match="Ada took part"):
        assignments.assign(load(desk.close(by=making.decider(desk.ada))), desk.ada.pk, actor)
    subject = load(desk.close())
    send(subject, desk.ada, Verdict.FINE)
    with pytest.raises(ReviewRefused, match="Ada has already reviewed"):
        assignments.assign(subject, desk.ada.pk, actor)


def test_number_of_reviews_is_an_entry(desk: ReviewDesk):
    review_policy.set_reviews_required(desk.workspace, 2, Actor.from_person(desk.ada))
    desk.workspace.refresh_from_db()
    assert desk.workspace.reviews_required == 2
    entry = LedgerEntry.objects.get(act=Act.SETTING_CHANGED)
    assert json.loads(entry.text)["details"] == {"setting": "reviews_required", "value": 2}
