"""Reservations of reviews when their person signs out, or someone else signs in there."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import call_command

from jpweb.store import accounts
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import Person
from jpweb.store.reviews import assignments, reservations
from tests.store.reviews.desk import ReviewDesk, load
from tests.web.world import World, signed_in


def sign_out(person: Person) -> None:
    signed_in(person).post("/sign-out")


def end_sign_ins(person: Person) -> None:
    signed_in(person).post("/account/end")


def run_command(person: Person) -> None:
    call_command("sign_out", person.username, stdout=StringIO())


def sign_in_as_another(person: Person) -> None:
    other_person = Person.objects.get(username="reader")
    signed_in(person).post("/sign-in", {"code": accounts.issue_link(other_person)})


@pytest.mark.parametrize("end_sign_in", [sign_out, end_sign_ins, run_command, sign_in_as_another])
def test_sign_out_releases_reservations_and_keeps_assignments(
    world: World, end_sign_in: Callable[[Person], None]
):
    desk = ReviewDesk()
    subject = load(desk.close())
    assignments.assign(subject, desk.ada.pk, Actor.from_person(desk.ben))
    assert reservations.reserve(subject.conversation.pk, subject.anchor, desk.ada.pk)
    end_sign_in(desk.ada)
    assert reservations.find_reservation(subject) is None
    assert assignments.find_assignee(subject) == desk.ada
