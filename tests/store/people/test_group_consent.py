"""A group lets nobody into a workspace before they have accepted it."""

from __future__ import annotations

import importlib
import json
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.errors import LastOwner, MembershipEnded, NameTaken, RoleByGroup
from jpweb.store.models import (
    Group,
    LedgerEntry,
    Membership,
    Person,
    SignInLink,
    Workspace,
)
from jpweb.store.people import group_members, groups, invitations
from tests.store import making
from tests.store.people.grouping import act_as, find_row, give, join, make_group

pytestmark = pytest.mark.django_db


def test_group_role_gives_access_only_after_acceptance(
    group: Group, ada: Person, orchard: Workspace
):
    give(group, orchard, Role.RESPONDER)
    assert accounts.get_role(ada.pk, orchard.pk) is None
    join(group, ada)
    assert accounts.get_role(ada.pk, orchard.pk) == Role.RESPONDER


def test_added_person_gets_group_roles_only_after_acceptance(
    group: Group, owner: Person, workspace: Workspace, orchard: Workspace
):
    give(group, orchard, Role.RESPONDER)
    ben = making.person("ben", Role.READER, workspace)
    group_members.add_person(group, ben, act_as())
    assert accounts.get_roles(ben.pk) == {workspace.pk: Role.READER}
    (pending_member,) = group_members.list_group_members_of(ben.pk)
    assert (pending_member.group, pending_member.inviter, pending_member.accepted_at) == (
        group,
        owner,
        None,
    )


def test_role_counts_at_once_for_a_person_who_is_in_the_workspace(
    group: Group, ada: Person, workspace: Workspace
):
    give(group, workspace, Role.AUDITOR)
    assert accounts.get_role(ada.pk, workspace.pk) == Role.AUDITOR
    groups.take_role(group, workspace, act_as())
    assert accounts.get_role(ada.pk, workspace.pk) == Role.READER


def test_accepted_group_gives_access_by_later_roles(group: Group, ada: Person, orchard: Workspace):
    join(group, ada)
    give(group, orchard, Role.READER)
    assert accounts.get_role(ada.pk, orchard.pk) == Role.READER


def test_acceptance_ends_with_the_place_in_the_group(group: Group, ada: Person, orchard: Workspace):
    give(group, orchard, Role.READER)
    join(group, ada)
    group_members.remove_person(group, ada, act_as())
    assert accounts.get_role(ada.pk, orchard.pk) is None
    group_members.add_person(group, ada, act_as())
    assert accounts.get_role(ada.pk, orchard.pk) is None


def test_declined_group_is_left_with_the_roles_that_it_gave(
    group: Group, ada: Person, workspace: Workspace, orchard: Workspace
):
    give(group, workspace, Role.RESPONDER)
    give(group, orchard, Role.READER)
    group_members.leave_group(find_row(group, ada), ada)
    assert accounts.get_roles(ada.pk) == {workspace.pk: Role.READER}
    assert not group.members.exists()


def test_person_leaves_a_group_that_they_joined(group: Group, ada: Person, orchard: Workspace):
    give(group, orchard, Role.READER)
    join(group, ada)
    group_members.leave_group(find_row(group, ada), ada)
    assert accounts.get_role(ada.pk, orchard.pk) is None


def test_group_that_makes_the_last_owner_cannot_be_left(
    group: Group, ada: Person, orchard: Workspace, owner: Person
):
    give(group, orchard, Role.OWNER)
    with pytest.raises(LastOwner):
        accounts.remove_member(Membership.objects.get(workspace=orchard, person=owner))
    join(group, ada)
    accounts.remove_member(Membership.objects.get(workspace=orchard, person=owner))
    with pytest.raises(LastOwner):
        group_members.leave_group(find_row(group, ada), ada)
    assert accounts.get_role(ada.pk, orchard.pk) == Role.OWNER


def test_group_membership_is_accepted_or_left_only_by_its_person(
    group: Group, ada: Person, orchard: Workspace, owner: Person
):
    give(group, orchard, Role.READER)
    row = find_row(group, ada)
    for change in (group_members.accept_group, group_members.leave_group):
        with pytest.raises(MembershipEnded):
            change(row, owner)
    assert find_row(group, ada).accepted_at is None
    assert accounts.get_role(ada.pk, orchard.pk) is None


@pytest.mark.parametrize("end", ["removed", "deleted"])
def test_group_that_ended_meanwhile_is_not_accepted(
    group: Group, ada: Person, orchard: Workspace, end: str
):
    give(group, orchard, Role.READER)
    row = find_row(group, ada)
    if end == "removed":
        group_members.remove_person(group, ada, act_as())
    else:
        groups.delete_group(Group.objects.get(pk=group.pk), act_as())
    for change in (group_members.accept_group, group_members.leave_group):
        with pytest.raises(MembershipEnded, match="no longer in this group"):
            change(row, ada)
    assert accounts.get_role(ada.pk, orchard.pk) is None


def test_unaccepted_group_does_not_keep_a_membership(
    group: Group, ada: Person, orchard: Workspace, owner: Person
):
    """Ada is there by one group that she accepted; another, which she did not, adds to that."""
    accepted_group = make_group("Day shift", owner, ada)
    join(accepted_group, ada)
    give(accepted_group, orchard, Role.READER)
    give(group, orchard, Role.AUDITOR)
    assert accounts.get_role(ada.pk, orchard.pk) == Role.AUDITOR
    group_members.remove_person(accepted_group, ada, act_as())
    assert accounts.get_role(ada.pk, orchard.pk) is None


def test_accept_group_ends_links_made_by_others(
    group: Group, ada: Person, workspace: Workspace, orchard: Workspace
):
    give(group, orchard, Role.READER)
    accounts.issue_link(ada, maker=making.person("olga", Role.OWNER, workspace))
    join(group, ada)
    assert not SignInLink.objects.exists()


def test_owner_who_adds_themselves_accepts_by_that(
    group: Group, owner: Person, workspace: Workspace, orchard: Workspace
):
    accounts.make_owner(making.person("olga"), making.workspace("Elsewhere"))
    group_members.add_person(group, owner, act_as())
    assert find_row(group, owner).accepted_at is not None


def test_member_who_looks_like_the_person_keeps_them_from_being_added(
    group: Group, owner: Person, workspace: Workspace, orchard: Workspace
):
    making.person("\N{CYRILLIC SMALL LETTER A}da", Role.READER, orchard)
    with pytest.raises(NameTaken, match="looks like"):
        give(group, orchard, Role.READER)
    other_group = groups.create_group("Day shift", owner)
    give(other_group, orchard, Role.READER)
    with pytest.raises(NameTaken, match="looks like"):
        group_members.add_person(other_group, Person.objects.get(username="ada"), act_as())


def test_member_who_looks_like_the_person_since_keeps_them_from_joining(
    group: Group, ada: Person, orchard: Workspace
):
    give(group, orchard, Role.READER)
    making.person("\N{CYRILLIC SMALL LETTER A}da", Role.READER, orchard)
    with pytest.raises(NameTaken, match="looks like"):
        join(group, ada)
    assert accounts.get_role(ada.pk, orchard.pk) is None


def test_invited_person_has_the_role_of_the_group_that_waits(
    group: Group, ada: Person, orchard: Workspace, owner: Person
):
    """The invitation is consent to the workspace, so what the group gives there counts."""
    give(group, orchard, Role.AUDITOR)
    token = invitations.create_invitation(orchard, "Ada", Role.READER, owner)
    invitations.accept_invitation(invitations.find_invitation(token), ada, None)
    member = Membership.objects.get(person=ada, workspace=orchard)
    assert (member.role, member.direct_role) == (Role.AUDITOR, Role.READER)
    entry = LedgerEntry.objects.get(act=Act.MEMBER_ADDED, person_id=ada.pk)
    assert json.loads(entry.text)["details"] == {
        "person": "Ada", "role": "auditor", "own_role": "reader", "group": "Night shift",
    }  # fmt: skip
    group_members.leave_group(find_row(group, ada), ada)
    assert accounts.get_role(ada.pk, orchard.pk) == Role.READER


def test_removal_ends_the_place_in_a_group_that_was_not_joined(
    group: Group, ada: Person, workspace: Workspace, owner: Person
):
    give(group, workspace, Role.READER)
    row = find_row(group, ada)
    accounts.remove_member(Membership.objects.get(person=ada, workspace=workspace), act_as())
    with pytest.raises(MembershipEnded):
        group_members.accept_group(row, ada)
    assert accounts.get_role(ada.pk, workspace.pk) is None
    entry = LedgerEntry.objects.filter(act=Act.GROUP_CHANGED).latest("pk")
    details = {"kind": "person removed", "group": "Night shift", "person": "Ada"}
    assert (entry.person_id, json.loads(entry.text)["details"]) == (owner.pk, details)


def test_waiting_group_with_roles_elsewhere_keeps_a_member_in(
    group: Group, ada: Person, workspace: Workspace, orchard: Workspace
):
    give(group, workspace, Role.READER)
    give(group, orchard, Role.READER)
    member = Membership.objects.get(person=ada, workspace=workspace)
    with pytest.raises(RoleByGroup, match="Ada could come back into Garden by the group “Night"):
        accounts.remove_member(member)
    groups.take_role(group, workspace, act_as())
    accounts.remove_member(member)
    join(group, ada)
    assert accounts.get_roles(ada.pk) == {orchard.pk: Role.READER}


def test_entry_of_an_invited_person_names_no_group_that_adds_nothing(
    group: Group, ada: Person, orchard: Workspace, owner: Person
):
    give(group, orchard, Role.READER)
    token = invitations.create_invitation(orchard, "Ada", Role.AUDITOR, owner)
    invitations.accept_invitation(invitations.find_invitation(token), ada, None)
    entry = LedgerEntry.objects.get(act=Act.MEMBER_ADDED, person_id=ada.pk)
    assert json.loads(entry.text)["details"] == {"person": "Ada", "role": "auditor"}


def test_list_pending_people_lists_people_by_workspace(
    group: Group, ada: Person, workspace: Workspace, orchard: Workspace
):
    give(group, workspace, Role.READER)
    give(group, orchard, Role.READER)
    assert not groups.list_pending_people(workspace.pk), "she is in it"
    assert [row.person for row in groups.list_pending_people(orchard.pk)] == [ada]
    join(group, ada)
    assert not groups.list_pending_people(orchard.pk)


def test_queries_of_a_role_do_not_grow_with_the_people_who_wait(
    group: Group, workspace: Workspace, orchard: Workspace
):
    counts = []
    give(group, orchard, Role.READER)
    for number in range(4):
        group_members.add_person(
            group, making.person(f"waiter{number}", Role.READER, workspace), act_as()
        )
        with CaptureQueriesContext(connection) as queries:
            give(group, orchard, Role.READER)
        counts.append(len(queries))
    assert counts == [counts[0]] * 4


def test_give_role_reads_workspace_members_once(
    group: Group, workspace: Workspace, orchard: Workspace
):
    people = [making.person(f"joiner{number}", Role.READER, workspace) for number in range(3)]
    for person in people:
        group_members.add_person(group, person, act_as())
        join(group, person)
    group_members.remove_person(group, Person.objects.get(username="ada"), act_as())
    with CaptureQueriesContext(connection) as queries:
        give(group, orchard, Role.READER)
    assert all(accounts.get_role(person.pk, orchard.pk) == Role.READER for person in people)
    members = str(Membership.objects.filter(workspace=orchard).select_related("person").query)
    assert [query["sql"] for query in queries].count(members) == 1


def test_give_role_refuses_lookalike_members_of_the_group(
    group: Group, ada: Person, workspace: Workspace, orchard: Workspace
):
    Membership.objects.filter(person=ada).delete()
    lookalike = making.person("\N{CYRILLIC SMALL LETTER A}da", Role.READER, workspace)
    group_members.add_person(group, lookalike, act_as())
    for person in (ada, lookalike):
        join(group, person)
    with pytest.raises(NameTaken, match="looks like"):
        give(group, orchard, Role.READER)


def test_migration_keeps_the_roles_of_groups_of_before(
    group: Group, ada: Person, orchard: Workspace, owner: Person
):
    """A group of before let people in at once, who stay in, also when it gets another role."""
    migration = importlib.import_module("jpweb.store.migrations.0043_accepted_groups")
    new_group = make_group("Day shift", owner, ada)
    join(new_group, ada)
    joined_at = find_row(new_group, ada).accepted_at
    give(group, orchard, Role.READER)
    Membership.objects.create(person=ada, workspace=orchard, role=Role.READER)
    migration.accept_groups(apps, SimpleNamespace(connection=connection))
    assert find_row(group, ada).accepted_at == group.made_at
    assert find_row(new_group, ada).accepted_at == joined_at
    give(group, orchard, Role.AUDITOR)
    assert accounts.get_role(ada.pk, orchard.pk) == Role.AUDITOR
