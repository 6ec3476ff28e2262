"""The roles that groups give people, and the entries of the ledger of changed roles."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from django.db.models import F

from jpweb.store.choices import Act, Role
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import GroupMember, Person


class GroupedRole(NamedTuple):
    """A person's role in a workspace by one group."""

    person_id: int
    workspace_id: int
    group_name: str
    role: Role
    is_accepted: bool


class RoleChange(NamedTuple):
    """A person's role in a workspace after a change, and before it; None stands for none.

    ``group_name`` is that of the group that gives the role.
    """

    role: int | None = None
    old_role: int | None = None
    group_name: str = ""


def list_roles(person_ids: Collection[int], workspace_ids: Collection[int]) -> list[GroupedRole]:
    """Return the roles of these people in these workspaces by their groups; one query."""
    rows = GroupMember.objects.filter(
        person_id__in=person_ids, group__roles__workspace_id__in=workspace_ids
    ).order_by("group__name", "group_id")
    columns = rows.values_list(
        "person_id",
        F("group__roles__workspace_id"),
        "group__name",
        F("group__roles__role"),
        "accepted_at",
    )
    return [
        GroupedRole(person_id, workspace_id, group_name, Role(role), accepted_at is not None)
        for person_id, workspace_id, group_name, role, accepted_at in columns
    ]


def combine_roles(direct_role: Role | None, grouped_roles: Sequence[GroupedRole]) -> Role | None:
    """Return a person's role in a workspace by all that gives them one there; None: no role.

    A group that the person has not accepted adds to a role, and lets nobody in.
    """
    if direct_role is None and not any(granted.is_accepted for granted in grouped_roles):
        return None
    direct_roles = [] if direct_role is None else [direct_role]
    return Role.combine([*direct_roles, *(granted.role for granted in grouped_roles)])


def record_membership(
    act: Act, actor: Actor, workspace_id: int, person_id: int, change: RoleChange
) -> None:
    """Record a change of a person's role, with the person's name as it is then."""
    details = {"person": Person.objects.get(pk=person_id).display_name}
    roles = {"role": change.role, "old_role": change.old_role}
    details |= {name: Role(value).label for name, value in roles.items() if value is not None}
    details |= {"group": change.group_name} if change.group_name else {}
    record_act(act, actor, Place(workspace_id, subject=f"person:{person_id}"), **details)
