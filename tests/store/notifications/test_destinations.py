from __future__ import annotations

import pytest

from jpweb.store.choices import Role
from jpweb.store.models import Membership, NotificationDestination, Person, Workspace
from jpweb.store.notifications import destinations
from jpweb.store.notifications.destinations import DestinationRefused, UnknownDestination
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(workspace: Workspace) -> Person:
    return making.person("ada", Role.RESPONDER, workspace)


def test_an_address_is_kept_and_removed(ada: Person, workspace: Workspace):
    destination = destinations.add_destination(ada.pk, workspace.pk, "ntfy://topic", 60)
    assert [
        (row.url, row.delay, row.workspace) for row in destinations.list_destinations(ada.pk)
    ] == [("ntfy://topic", 60, workspace)]
    assert destinations.get_destination(ada.pk, destination.pk) == destination
    destinations.remove_destination(ada.pk, destination.pk)
    assert destinations.list_destinations(ada.pk) == []


def test_destination_of_another_person_is_not_accessible(ada: Person, workspace: Workspace):
    destination = destinations.add_destination(ada.pk, workspace.pk, "ntfy://topic", 60)
    eve = making.person("eve", Role.OWNER, workspace)
    assert destinations.list_destinations(eve.pk) == []
    for key in (destination.pk, 10**6):
        with pytest.raises(UnknownDestination):
            destinations.get_destination(eve.pk, key)
        with pytest.raises(UnknownDestination):
            destinations.remove_destination(eve.pk, key)
    assert NotificationDestination.objects.exists()


def test_add_destination_refuses_a_workspace_without_answering_role(
    ada: Person, workspace: Workspace
):
    other_workspace = making.workspace()
    Membership.objects.create(person=ada, workspace=other_workspace, role=Role.READER)
    for key in (other_workspace.pk, making.workspace().pk, 10**6):
        with pytest.raises(DestinationRefused, match="in which you can answer"):
            destinations.add_destination(ada.pk, key, "ntfy://topic", 60)


def test_an_address_is_kept_once_for_a_workspace(ada: Person, workspace: Workspace):
    destinations.add_destination(ada.pk, workspace.pk, "ntfy://topic", 60)
    with pytest.raises(DestinationRefused, match="already"):
        destinations.add_destination(ada.pk, workspace.pk, "ntfy://topic", 0)
    other_workspace = making.workspace()
    Membership.objects.create(person=ada, workspace=other_workspace, role=Role.OWNER)
    destinations.add_destination(ada.pk, other_workspace.pk, "ntfy://topic", 60)


def test_a_person_has_a_bounded_number_of_addresses(ada: Person, workspace: Workspace):
    for number in range(destinations.MAX_DESTINATIONS):
        destinations.add_destination(ada.pk, workspace.pk, f"ntfy://topic{number}", 60)
    with pytest.raises(DestinationRefused, match="Remove one"):
        destinations.add_destination(ada.pk, workspace.pk, "ntfy://more", 60)


def test_destination_problem_is_kept_until_a_delivery_succeeds(ada: Person, workspace: Workspace):
    destination = destinations.add_destination(ada.pk, workspace.pk, "ntfy://topic", 60)
    destinations.record_problem(destination.pk, "x\0" * 400)
    destination.refresh_from_db()
    assert len(destination.problem) == 500
    destinations.record_problem(destination.pk, "")
    destination.refresh_from_db()
    assert destination.problem == ""
