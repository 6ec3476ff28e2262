from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.errors import LastOwner, NameTaken, RoleByGroup, UnmanagedGroup
from jpweb.store.models import (
    Group,
    LedgerEntry,
    Membership,
    Person,
    SignInLink,
    Workspace,
)
from jpweb.store.people import group_members, groups
from tests.store import making
from tests.store.people.grouping import act_as, give, join

pytestmark = pytest.mark.django_db


@pytest.fixture
def group(group: Group, ada: Person) -> Group:
    """A group that Ada alone has joined, without a role."""
    join(group, ada)
    return group


def test_group_role_gives_and_removes_access(group: Group, ada: Person, orchard: Workspace):
    give(group, orchard, Role.RESPONDER)
    assert accounts.get_role(ada.pk, orchard.pk) == Role.RESPONDER
    groups.take_role(group, orchard, act_as())
    assert accounts.get_role(ada.pk, orchard.pk) is None


@pytest.mark.parametrize(
    ("own_role", "group_role", "combined_role"),
    [
        (Role.READER, Role.AUDITOR, Role.AUDITOR),
        (Role.AUDITOR, Role.READER, Role.AUDITOR),
        (Role.AUDITOR_ONLY, Role.RESPONDER, Role.AUDITOR),
        (Role.RESPONDER, Role.AUDITOR_ONLY, Role.AUDITOR),
        (Role.OWNER, Role.AUDITOR_ONLY, Role.OWNER),
    ],
)
def test_role_of_the_group_adds_to_the_own_one(
    group: Group, workspace: Workspace, own_role: Role, group_role: Role, combined_role: Role
):
    member = Membership.objects.get(person__username="ada")
    accounts.change_role(member, own_role)
    give(group, workspace, group_role)
    assert accounts.get_role(member.person_id, workspace.pk) == combined_role
    groups.delete_group(group, act_as())
    assert accounts.get_role(member.person_id, workspace.pk) == own_role


def test_changed_direct_role_keeps_the_group_role(group: Group, workspace: Workspace):
    give(group, workspace, Role.AUDITOR)
    member = Membership.objects.get(person__username="ada")
    assert accounts.change_role(member, Role.READER) == Role.AUDITOR
    assert accounts.get_role(member.person_id, workspace.pk) == Role.AUDITOR


def test_entry_of_a_changed_role_names_the_role_that_the_person_has(
    group: Group, ada: Person, orchard: Workspace
):
    give(group, orchard, Role.AUDITOR)
    accounts.change_role(Membership.objects.get(workspace=orchard, person=ada), Role.READER)
    details = json.loads(LedgerEntry.objects.latest("pk").text)["details"]
    group_members.remove_person(group, ada, act_as())
    accounts.change_role(Membership.objects.get(workspace=orchard, person=ada), Role.RESPONDER)
    changed = json.loads(LedgerEntry.objects.latest("pk").text)["details"]
    assert (details, changed) == (
        {
            "person": "Ada", "role": "auditor", "old_role": "auditor", "own_role": "reader",
            "group": "Night shift",
        },
        {"person": "Ada", "role": "responder", "old_role": "reader"},
    )  # fmt: skip


def test_member_by_a_group_is_taken_out_of_the_group_first(group: Group, orchard: Workspace):
    give(group, orchard, Role.READER)
    member = Membership.objects.get(workspace=orchard, person__username="ada")
    with pytest.raises(RoleByGroup, match="Ada is in Orchard by the group “Night shift”"):
        accounts.remove_member(member)
    group_members.remove_person(group, member.person, act_as())
    assert accounts.get_role(member.person_id, orchard.pk) is None


def test_group_changes_cannot_remove_the_last_owner(
    group: Group, ada: Person, orchard: Workspace, owner: Person
):
    give(group, orchard, Role.OWNER)
    accounts.remove_member(Membership.objects.get(workspace=orchard, person=owner))
    for lose in (
        lambda: group_members.remove_person(group, ada, act_as("ada")),
        lambda: groups.take_role(group, orchard, act_as("ada")),
        lambda: groups.delete_group(group, act_as("ada")),
        lambda: give(group, orchard, Role.READER, "ada"),
    ):
        with pytest.raises(LastOwner):
            lose()
    assert accounts.get_role(ada.pk, orchard.pk) == Role.OWNER


def test_group_is_managed_only_by_owners_of_all_its_workspaces(
    group: Group, owner: Person, workspace: Workspace, orchard: Workspace
):
    other_owner = making.person("olga", Role.OWNER, workspace)
    assert groups.get_managed(group.pk, other_owner.pk) is None, "another person's, without a role"
    give(group, workspace, Role.READER)
    assert groups.get_managed(group.pk, other_owner.pk)
    give(group, orchard, Role.READER)
    assert groups.get_managed(group.pk, other_owner.pk) is None
    assert [summary.group for summary in groups.list_managed(owner.pk)] == [group]


def test_group_maker_without_an_owned_workspace_cannot_manage_it(
    group: Group, owner: Person, workspace: Workspace
):
    give(group, workspace, Role.READER)
    making.person("olga", Role.OWNER, workspace)
    accounts.change_role(Membership.objects.get(workspace=workspace, person=owner), Role.RESPONDER)
    assert groups.get_managed(group.pk, owner.pk) is None


@pytest.mark.parametrize("change", ["add", "remove", "delete", "give"])
def test_group_with_a_role_elsewhere_since_it_was_read_is_not_changed(
    group: Group, ada: Person, workspace: Workspace, orchard: Workspace, change: str
):
    """Olga owns one workspace; its other owner gives the group a role in a second one."""
    olga = making.person("olga", Role.OWNER, workspace)
    ben = making.person("ben", Role.READER, workspace)
    give(group, workspace, Role.READER)
    assert groups.get_managed(group.pk, olga.pk)
    give(group, orchard, Role.AUDITOR)
    changes: dict[str, Callable[[], object]] = {
        "add": lambda: group_members.add_person(group, ben, act_as("olga")),
        "remove": lambda: group_members.remove_person(group, ada, act_as("olga")),
        "delete": lambda: groups.delete_group(group, act_as("olga")),
        "give": lambda: give(group, workspace, Role.OWNER, "olga"),
    }
    last_key = LedgerEntry.objects.latest("pk").pk
    with pytest.raises(UnmanagedGroup, match="a workspace that you don't own"):
        changes[change]()
    assert accounts.get_roles(ben.pk) == {workspace.pk: Role.READER}
    assert accounts.get_role(ada.pk, orchard.pk) == Role.AUDITOR
    assert LedgerEntry.objects.latest("pk").pk == last_key
    groups.take_role(group, workspace, act_as("olga"))
    assert [group_role.workspace for group_role in group.roles.all()] == [orchard]


def test_group_gets_no_role_in_a_workspace_of_others(group: Group):
    foreign_workspace = making.workspace("Foreign")
    with pytest.raises(UnmanagedGroup):
        give(group, foreign_workspace, Role.READER)
    assert not group.roles.exists()


@pytest.mark.parametrize("change", ["add", "delete", "take"])
def test_group_that_was_deleted_since_it_was_read_is_refused(
    group: Group, ada: Person, workspace: Workspace, change: str
):
    give(group, workspace, Role.READER)
    groups.delete_group(Group.objects.get(pk=group.pk), act_as())
    changes: dict[str, Callable[[], object]] = {
        "add": lambda: group_members.add_person(group, ada, act_as()),
        "delete": lambda: groups.delete_group(group, act_as()),
        "take": lambda: groups.take_role(group, workspace, act_as()),
    }
    with pytest.raises(UnmanagedGroup):
        changes[change]()


def test_person_who_is_in_the_group_already_is_no_entry(group: Group, ada: Person):
    last_key = LedgerEntry.objects.latest("pk").pk
    group_members.add_person(group, ada, act_as())
    assert LedgerEntry.objects.latest("pk").pk == last_key


def test_group_role_ends_links_made_by_another_owner(
    group: Group, ada: Person, owner: Person, workspace: Workspace, orchard: Workspace
):
    other_owner = making.person("olga", Role.OWNER, workspace)
    accounts.issue_link(ada, maker=other_owner)
    accounts.issue_link(ada)
    give(group, workspace, Role.AUDITOR)
    assert SignInLink.objects.filter(maker=other_owner).exists(), "she was a member of it"
    give(group, orchard, Role.READER)
    assert list(SignInLink.objects.values_list("maker", flat=True)) == [None]


def test_name_that_looks_like_that_of_a_member_keeps_a_person_out(
    group: Group, orchard: Workspace, ada: Person
):
    making.person("\N{CYRILLIC SMALL LETTER A}da", Role.READER, orchard)
    with pytest.raises(NameTaken, match="looks like"):
        give(group, orchard, Role.READER)
    assert accounts.get_role(ada.pk, orchard.pk) is None


def test_group_role_changes_are_ledger_entries_that_name_the_group(
    group: Group, ada: Person, orchard: Workspace
):
    last_key = LedgerEntry.objects.latest("pk").pk
    give(group, orchard, Role.READER)
    give(group, orchard, Role.AUDITOR)
    groups.delete_group(group, act_as())
    entries = LedgerEntry.objects.filter(pk__gt=last_key, workspace_id=orchard.pk)
    acts = list(entries.filter(subject=f"person:{ada.pk}").order_by("pk"))
    assert [entry.act for entry in acts] == [
        Act.MEMBER_ADDED, Act.ROLE_CHANGED, Act.MEMBER_REMOVED,
    ]  # fmt: skip
    assert all('"group":"Night shift"' in entry.text for entry in acts)


def test_adding_a_person_reaches_all_workspaces_of_the_group(
    group: Group, owner: Person, workspace: Workspace, orchard: Workspace
):
    give(group, workspace, Role.RESPONDER)
    give(group, orchard, Role.READER)
    ben = making.person("ben", Role.READER, workspace)
    assert ben in group_members.list_candidates(group, owner.pk)
    group_members.add_person(group, ben, act_as())
    join(group, ben)
    assert accounts.get_roles(ben.pk) == {workspace.pk: Role.RESPONDER, orchard.pk: Role.READER}
    assert ben not in group_members.list_candidates(group, owner.pk)


def test_affected_people_are_those_whose_role_a_group_alone_gives(
    group: Group, ada: Person, workspace: Workspace, orchard: Workspace, owner: Person
):
    """Ada is a reader in Home by herself, and in Orchard by groups."""
    give(group, orchard, Role.READER)
    give(group, workspace, Role.READER)
    assert groups.count_affected_people(orchard.pk)[group.pk] == 1, "she would leave"
    assert groups.count_affected_people(workspace.pk)[group.pk] == 0, "her own role stays"
    second_group = groups.create_group("Day shift", owner)
    give(second_group, orchard, Role.RESPONDER)
    group_members.add_person(second_group, ada, act_as())
    assert groups.count_affected_people(orchard.pk) == {group.pk: 1, second_group.pk: 1}
    join(second_group, ada)
    assert groups.count_affected_people(orchard.pk)[group.pk] == 0
    ben = making.person("ben", Role.READER, workspace)
    group_members.add_person(group, ben, act_as())
    assert groups.count_affected_people(orchard.pk)[group.pk] == 0, "he is not in the workspace"
