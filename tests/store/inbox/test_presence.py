from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from jpweb.store.choices import Role
from jpweb.store.inbox import presence
from jpweb.store.models import Membership, Person, Presence, Workspace
from tests.machine.ports import wait_until
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(workspace: Workspace) -> Person:
    return making.person("ada", Role.RESPONDER, workspace)


def test_presence_is_empty_in_a_workspace_without_visitors(workspace: Workspace, ada: Person):
    assert not presence.is_anyone_present(workspace.pk)
    assert presence.list_present(workspace.pk) == []


def test_presence_lasts_until_cleared_in_its_workspace_alone(workspace: Workspace, ada: Person):
    other_workspace = making.workspace("Elsewhere")
    presence.record_presence("one", {(ada.pk, workspace.pk)})
    assert presence.is_anyone_present(workspace.pk)
    assert presence.list_present(workspace.pk) == [ada]
    assert not presence.is_anyone_present(other_workspace.pk)
    presence.clear_presence("one", {(ada.pk, workspace.pk)})
    assert not presence.is_anyone_present(workspace.pk)


def test_a_page_of_another_process_counts_as_well(workspace: Workspace, ada: Person):
    for name in ("one", "other"):
        presence.record_presence(name, {(ada.pk, workspace.pk)})
    presence.clear_presence("one", {(ada.pk, workspace.pk)})
    assert presence.list_present(workspace.pk) == [ada], "once, however many processes"
    presence.clear_presence("other")
    assert not presence.is_anyone_present(workspace.pk)


def test_clear_presence_keeps_other_workspaces_and_people(workspace: Workspace, ada: Person):
    other_workspace = making.workspace("Elsewhere")
    Membership.objects.create(person=ada, workspace=other_workspace, role=Role.OWNER)
    eve = making.person("eve", Role.OWNER, workspace)
    presence.record_presence(
        "one", {(ada.pk, workspace.pk), (ada.pk, other_workspace.pk), (eve.pk, workspace.pk)}
    )
    presence.clear_presence("one", {(ada.pk, other_workspace.pk), (eve.pk, workspace.pk)})
    assert presence.list_present(workspace.pk) == [ada]
    assert not presence.is_anyone_present(other_workspace.pk)


def test_presence_without_refresh_lasts_45_seconds(workspace: Workspace, ada: Person):
    presence.record_presence("one", {(ada.pk, workspace.pk)})

    def counts_after(seconds: int) -> bool:
        Presence.objects.update(seen_at=Now() - timedelta(seconds=seconds))
        return presence.is_anyone_present(workspace.pk)

    wait_until(lambda: counts_after(44), "it counts, unless a second passed in between")
    assert not counts_after(46)
    presence.record_presence("one", {(ada.pk, workspace.pk)})
    assert presence.is_anyone_present(workspace.pk)
    assert Presence.objects.count() == 1


@pytest.mark.parametrize("role", [Role.READER, None])
def test_presence_excludes_people_without_an_answering_role(
    workspace: Workspace, ada: Person, role: Role | None
):
    presence.record_presence("one", {(ada.pk, workspace.pk)})
    member = Membership.objects.filter(person=ada, workspace=workspace)
    if role is None:
        member.delete()
    else:
        member.update(role=role)
    assert not presence.is_anyone_present(workspace.pk)


def test_presence_excludes_people_with_a_role_elsewhere(workspace: Workspace):
    other_workspace = making.workspace("Elsewhere")
    reader = making.person("reader", Role.READER, workspace)
    Membership.objects.create(person=reader, workspace=other_workspace, role=Role.OWNER)
    presence.record_presence("one", {(reader.pk, workspace.pk)})
    assert not presence.is_anyone_present(workspace.pk)


def test_record_presence_skips_deleted_people_and_workspaces(workspace: Workspace, ada: Person):
    presence.record_presence(
        "one", {(ada.pk, workspace.pk), (ada.pk, 10**9), (10**9, workspace.pk)}
    )
    assert Presence.objects.count() == 1


def test_record_presence_queries_do_not_grow_with_people(workspace: Workspace):
    counts = []
    for many in (2, 60):
        people = [making.person(f"{many}-{n}", Role.RESPONDER, workspace) for n in range(many)]
        with CaptureQueriesContext(connection) as captured:
            presence.record_presence("one", {(person.pk, workspace.pk) for person in people})
        counts.append(len(captured))
    assert counts == [4, 4], "members, and one statement in a transaction of its own"
    assert Presence.objects.count() == 62
