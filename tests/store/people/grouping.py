"""A group of the owner, and what its tests do to it."""

from __future__ import annotations

from jpweb.store.choices import Role
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import Group, GroupMember, Person, Workspace
from jpweb.store.people import group_members, groups


def make_group(name: str, owner: Person, person: Person) -> Group:
    group = groups.create_group(name, owner)
    group_members.add_person(group, person, Actor.from_person(owner))
    return group


def act_as(name: str = "owner") -> Actor:
    return Actor.from_person(Person.objects.get(username=name))


def give(group: Group, workspace: Workspace, role: Role, name: str = "owner") -> list[str]:
    return groups.give_role(group, workspace, role, act_as(name))


def find_row(group: Group, person: Person) -> GroupMember:
    return GroupMember.objects.get(group=group, person=person)


def join(group: Group, person: Person) -> list[str]:
    return group_members.accept_group(find_row(group, person), person)
