"""The roles that groups give people, and the entries of the ledger of changed roles."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from django.db.models import F, QuerySet

from jpweb.store.choices import Act, Role
from jpweb.store.errors import LastOwner
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import GroupMember, Inquiry, Membership, Person, ReviewTask

NO_OWNER_LEFT = "A workspace needs at least one owner. Make someone else an owner first."


class GroupedRole(NamedTuple):
    """A person's role in a workspace by one group."""

    person_id: int
    workspace_id: int
    group_id: int
    group_name: str
    role: Role
    is_accepted: bool


class RoleChange(NamedTuple):
    """A person's role in a workspace after a change, and before it; None where there is none.

    ``group_name`` is that of the group that gives the role. ``own_role`` is the one that the person
    has without groups; None where ``role`` says it.
    """

    role: int | None = None
    old_role: int | None = None
    group_name: str = ""
    own_role: int | None = None


def list_active_owners() -> QuerySet[Membership]:
    """Return the memberships of owners who are not deactivated, of all workspaces."""
    return Membership.objects.filter(role=Role.OWNER, person__is_active=True)


def require_remaining_owner(member: Membership, role: Role | None) -> None:
    """Raise LastOwner where a workspace would have no owner once this member has the role.

    The caller holds the workspace's lock. Locks its owners.
    """
    owners = list_active_owners().filter(workspace_id=member.workspace_id)
    if role != Role.OWNER and {m.pk for m in owners.select_for_update(of=("self",))} == {member.pk}:
        raise LastOwner(NO_OWNER_LEFT)


def list_roles(person_ids: Collection[int], workspace_ids: Collection[int]) -> list[GroupedRole]:
    """Return the roles of these people in these workspaces by their groups; one query."""
    rows = GroupMember.objects.filter(
        person_id__in=person_ids, group__roles__workspace_id__in=workspace_ids
    ).order_by("group__name", "group_id")
    columns = rows.values_list(
        "person_id",
        F("group__roles__workspace_id"),
        "group_id",
        "group__name",
        F("group__roles__role"),
        "accepted_at",
    )
    return [
        GroupedRole(person, workspace, group, name, Role(role), accepted_at is not None)
        for person, workspace, group, name, role, accepted_at in columns
    ]


def combine_roles(direct_role: Role | None, grouped_roles: Sequence[GroupedRole]) -> Role | None:
    """Return a person's role in a workspace by all that gives them one there; None: no role.

    A group that the person has not accepted adds to a role, and lets nobody in.
    """
    if direct_role is None and not any(granted_role.is_accepted for granted_role in grouped_roles):
        return None
    direct_roles = [] if direct_role is None else [direct_role]
    return Role.combine([*direct_roles, *(granted_role.role for granted_role in grouped_roles)])


def list_deciding_groups(
    direct_role: Role | None, grouped_roles: Sequence[GroupedRole]
) -> list[str]:
    """Return the names of the groups by which a person has more than their own role.

    These are the ones that give the whole role; where it takes several, each that adds to it.
    """
    direct_roles = [] if direct_role is None else [direct_role]
    combined_role = Role.combine([*direct_roles, *(row.role for row in grouped_roles)])
    roles = [(row.group_name, Role.combine([*direct_roles, row.role])) for row in grouped_roles]
    higher_roles = [(name, role) for name, role in roles if role != direct_role]
    whole_roles = [(name, role) for name, role in higher_roles if role == combined_role]
    return [name for name, _role in whole_roles or higher_roles]


def make_role_change(
    own_role: Role, grouped_roles: Sequence[GroupedRole], old_role: int | None = None
) -> RoleChange:
    """Return the change to another own role of a person, with the group that gives them more."""
    role = combine_roles(own_role, grouped_roles)
    higher_roles = [row for row in grouped_roles if Role.combine([own_role, row.role]) != own_role]
    group_name = max(higher_roles, key=lambda row: row.role).group_name if higher_roles else ""
    is_clear = role == own_role != old_role
    return RoleChange(role, old_role, group_name, None if is_clear else own_role)


def record_membership(
    act: Act, actor: Actor, workspace_id: int, person_id: int, change: RoleChange
) -> None:
    """Record a change of a person's role, with the person's name as it is then.

    With the auditor's role, the person's reservations and assignments of reviews there end.
    """
    details = {"person": Person.objects.get(pk=person_id).display_name}
    roles = {"role": change.role, "old_role": change.old_role, "own_role": change.own_role}
    details |= {name: Role(value).label for name, value in roles.items() if value is not None}
    details |= {"group": change.group_name} if change.group_name else {}
    record_act(act, actor, Place(workspace_id, subject=f"person:{person_id}"), **details)
    auditing_roles = Role.list_including(Role.AUDITOR)
    if change.old_role in auditing_roles and change.role not in auditing_roles:
        end_review_work(person_id, actor, workspace_id)


def end_review_work(person_id: int, actor: Actor, workspace_id: int | None = None) -> None:
    """Release what a person reserved to review, and withdraw assignments, each with an entry.

    With a ``workspace_id``, only those of that workspace.
    """
    place = {} if workspace_id is None else {"conversation__workspace_id": workspace_id}
    tasks = ReviewTask.objects.filter(**place)
    tasks.filter(holder_id=person_id).update(holder=None, held_until=None)
    assigned_tasks = tasks.select_for_update(of=("self",)).filter(assignee_id=person_id)
    for task in assigned_tasks.select_related("conversation").order_by("pk"):
        ReviewTask.objects.filter(pk=task.pk).update(assignee=None)
        questions = Inquiry.objects.filter(conversation_id=task.conversation_id, anchor=task.anchor)
        inquiry = questions.first() if task.anchor else None
        subject = f"inquiry:{inquiry.pk}" if inquiry else f"conversation:{task.conversation_id}"
        task_place = Place(task.conversation.workspace_id, task.conversation_id, subject)
        record_act(Act.REVIEW_ASSIGNED, actor, task_place, name="", person=None)
