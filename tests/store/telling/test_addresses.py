from __future__ import annotations

import pytest

from jpweb.store.models import Address, Membership, Person, Workspace
from jpweb.store.telling import addresses
from jpweb.store.telling.addresses import NotTaken, UnknownAddress
from jpweb.store.terms import Role
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(home: Workspace) -> Person:
    return making.person("ada", Role.RESPONDER, home)


def test_an_address_is_kept_and_removed(ada: Person, home: Workspace):
    made = addresses.add(ada.pk, home.pk, "ntfy://topic", 60)
    assert [(each.url, each.delay, each.workspace) for each in addresses.of(ada.pk)] == [
        ("ntfy://topic", 60, home)
    ]
    assert addresses.own(ada.pk, made.pk) == made
    addresses.remove(ada.pk, made.pk)
    assert addresses.of(ada.pk) == []


def test_an_address_of_somebody_else_is_as_good_as_none(ada: Person, home: Workspace):
    made = addresses.add(ada.pk, home.pk, "ntfy://topic", 60)
    eve = making.person("eve", Role.OWNER, home)
    assert addresses.of(eve.pk) == []
    for key in (made.pk, 10**6):
        with pytest.raises(UnknownAddress):
            addresses.own(eve.pk, key)
        with pytest.raises(UnknownAddress):
            addresses.remove(eve.pk, key)
    assert Address.objects.exists()


def test_no_address_is_kept_where_its_person_may_not_answer(ada: Person, home: Workspace):
    elsewhere = making.workspace()
    Membership.objects.create(person=ada, workspace=elsewhere, role=Role.READER)
    for key in (elsewhere.pk, making.workspace().pk, 10**6):
        with pytest.raises(NotTaken, match="in which you can answer"):
            addresses.add(ada.pk, key, "ntfy://topic", 60)


def test_an_address_is_kept_once_for_a_workspace(ada: Person, home: Workspace):
    addresses.add(ada.pk, home.pk, "ntfy://topic", 60)
    with pytest.raises(NotTaken, match="already"):
        addresses.add(ada.pk, home.pk, "ntfy://topic", 0)
    elsewhere = making.workspace()
    Membership.objects.create(person=ada, workspace=elsewhere, role=Role.OWNER)
    addresses.add(ada.pk, elsewhere.pk, "ntfy://topic", 60)


def test_a_person_has_a_bounded_number_of_addresses(ada: Person, home: Workspace):
    for number in range(addresses.MOST):
        addresses.add(ada.pk, home.pk, f"ntfy://topic{number}", 60)
    with pytest.raises(NotTaken, match="Remove one"):
        addresses.add(ada.pk, home.pk, "ntfy://more", 60)


def test_why_a_message_failed_is_kept_until_one_arrives(ada: Person, home: Workspace):
    made = addresses.add(ada.pk, home.pk, "ntfy://topic", 60)
    addresses.note(made.pk, "x\0" * 400)
    made.refresh_from_db()
    assert len(made.problem) == 500
    addresses.note(made.pk, "")
    made.refresh_from_db()
    assert made.problem == ""
