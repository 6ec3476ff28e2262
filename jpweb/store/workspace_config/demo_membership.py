"""Hides the demo from a person, and shows it again: their role in it, set aside and given back.

Lists, search, queues and the audit show what a person has a role in, so a hidden demo is in none
of them. What the person did there stays.
"""

from __future__ import annotations

from django.db import transaction

from jpweb.store.annotations import mentions
from jpweb.store.choices import Act, Role
from jpweb.store.errors import RoleByGroup
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import DEMO_ROOT, Membership, Person, Workspace
from jpweb.store.people import member_roles
from jpweb.store.people.member_roles import RoleChange


@transaction.atomic
def hide_demo(person_id: int) -> None:
    """Set a person's own role in the demo aside; change nothing where they have none.

    The demo may stay without an owner: nothing in it can be changed. Raises RoleByGroup where a
    group gives the role.
    """
    workspace = _lock_demo()
    person = Person.objects.select_for_update().get(pk=person_id)
    membership = Membership.objects.filter(person=person, workspace=workspace).first()
    if membership is None:
        return
    workspace_id = membership.workspace_id
    grouped_roles = [
        granted_role
        for granted_role in member_roles.list_roles([person_id], [workspace_id])
        if granted_role.is_accepted
    ]
    if grouped_roles:
        raise RoleByGroup(
            f"You are in the demo by the group “{grouped_roles[0].group_name}”. Ask whoever made"
            " the group to take the demo out of it."
        )
    person.hidden_demo_role = membership.direct_role or membership.role
    person.save(update_fields=["hidden_demo_role"])
    actor = Actor.from_person(person)
    change = RoleChange(old_role=membership.role)
    member_roles.record_membership(Act.MEMBER_REMOVED, actor, workspace_id, person_id, change)
    membership.delete()
    mentions.count_unseen([person_id])


@transaction.atomic
def show_demo(person_id: int) -> None:
    """Give a person the role in the demo back that ``hide_demo`` set aside; groups add to it."""
    workspace = _lock_demo()
    person = Person.objects.select_for_update().get(pk=person_id)
    if person.hidden_demo_role is None or workspace is None:
        return
    own_role = Role(person.hidden_demo_role)
    grouped_roles = member_roles.list_roles([person_id], [workspace.pk])
    combined_role = member_roles.combine_roles(own_role, grouped_roles) or own_role
    person.hidden_demo_role = None
    person.save(update_fields=["hidden_demo_role"])
    _, is_new = Membership.objects.get_or_create(
        person=person,
        workspace=workspace,
        defaults={"role": combined_role, "direct_role": own_role},
    )
    if is_new:
        actor = Actor.from_person(person)
        keys = workspace.pk, person_id
        change = member_roles.make_role_change(own_role, grouped_roles)
        member_roles.record_membership(Act.MEMBER_ADDED, actor, *keys, change)
        mentions.count_unseen([person_id])


def find_demo_id() -> int | None:
    """Return the key of the demo's workspace, None where it was never read."""
    return Workspace.objects.filter(root=DEMO_ROOT).values_list("pk", flat=True).first()


def _lock_demo() -> Workspace | None:
    """Return the demo, locked before its person, as other changes of memberships lock them."""
    return Workspace.objects.select_for_update().filter(root=DEMO_ROOT).first()
