from __future__ import annotations

import pytest

from jpweb.store.choices import Role
from jpweb.store.models import Membership, NotificationDestination, Person, Workspace
from jpweb.store.notifications import destinations
from jpweb.store.notifications.destinations import DestinationRefused, UnknownDestination
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(home: Workspace) -> Person:
    return making.person("ada", Role.RESPONDER, home)


def test_an_address_is_kept_and_removed(ada: Person, home: Workspace):
    made = destinations.add_destination(ada.pk, home.pk, "ntfy://topic", 60)
    assert [
        (each.url, each.delay, each.workspace) for each in destinations.list_destinations(ada.pk)
    ] == [("ntfy://topic", 60, home)]
    assert destinations.get_destination(ada.pk, made.pk) == made
    destinations.remove_destination(ada.pk, made.pk)
    assert destinations.list_destinations(ada.pk) == []


def test_an_address_of_somebody_else_is_as_good_as_none(ada: Person, home: Workspace):
    made = destinations.add_destination(ada.pk, home.pk, "ntfy://topic", 60)
    eve = making.person("eve", Role.OWNER, home)
    assert destinations.list_destinations(eve.pk) == []
    for key in (made.pk, 10**6):
        with pytest.raises(UnknownDestination):
            destinations.get_destination(eve.pk, key)
        with pytest.raises(UnknownDestination):
            destinations.remove_destination(eve.pk, key)
    assert NotificationDestination.objects.exists()


def test_no_address_is_kept_where_its_person_may_not_answer(ada: Person, home: Workspace):
    elsewhere = making.workspace()
    Membership.objects.create(person=ada, workspace=elsewhere, role=Role.READER)
    for key in (elsewhere.pk, making.workspace().pk, 10**6):
        with pytest.raises(DestinationRefused, match="in which you can answer"):
            destinations.add_destination(ada.pk, key, "ntfy://topic", 60)


def test_an_address_is_kept_once_for_a_workspace(ada: Person, home: Workspace):
    destinations.add_destination(ada.pk, home.pk, "ntfy://topic", 60)
    with pytest.raises(DestinationRefused, match="already"):
        destinations.add_destination(ada.pk, home.pk, "ntfy://topic", 0)
    elsewhere = making.workspace()
    Membership.objects.create(person=ada, workspace=elsewhere, role=Role.OWNER)
    destinations.add_destination(ada.pk, elsewhere.pk, "ntfy://topic", 60)


def test_a_person_has_a_bounded_number_of_addresses(ada: Person, home: Workspace):
    for number in range(destinations.MAX_DESTINATIONS):
        destinations.add_destination(ada.pk, home.pk, f"ntfy://topic{number}", 60)
    with pytest.raises(DestinationRefused, match="Remove one"):
        destinations.add_destination(ada.pk, home.pk, "ntfy://more", 60)


def test_why_a_message_failed_is_kept_until_one_arrives(ada: Person, home: Workspace):
    made = destinations.add_destination(ada.pk, home.pk, "ntfy://topic", 60)
    destinations.record_problem(made.pk, "x\0" * 400)
    made.refresh_from_db()
    assert len(made.problem) == 500
    destinations.record_problem(made.pk, "")
    made.refresh_from_db()
    assert made.problem == ""
