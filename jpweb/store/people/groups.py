"""Groups, their roles in workspaces, and the memberships that result for their people.

Whoever changes a group owns each workspace in which it has a role, since a change may let people
into any of them. A group without a role is changed by its maker, or by the owner who took its last
role, since the maker may no longer be in that workspace. Each change checks that under its
locks, since another owner may give the group a role after the page was loaded. It writes the roles
that result to ``Membership.role``, the one column that access rules read.

A group changes the roles of members of a workspace at once. It lets a person in who is no member
only after they have accepted the group, by its later roles too. ``group_members`` adds people to
groups, and lets them join and leave.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from jpweb.store.annotations import mentions
from jpweb.store.choices import Act, Role
from jpweb.store.errors import LastOwner, NameTaken, UnmanagedGroup
from jpweb.store.ledger.entries import Actor, NewAct, Place, record_acts
from jpweb.store.models import (
    Group,
    GroupMember,
    GroupRole,
    Membership,
    Person,
    SignInLink,
    Workspace,
)
from jpweb.store.people import identities, invitations, member_roles, names, sessions

_UNMANAGED = (
    "This group was deleted meanwhile, or has a role in a workspace that you don't own. Nothing was"
    " changed."
)


class GroupSummary(NamedTuple):
    """A group with its members and its roles."""

    group: Group
    members: list[GroupMember]
    roles: list[GroupRole]

    @property
    def has_pending_member(self) -> bool:
        """Whether someone has not joined the group yet."""
        return any(member.accepted_at is None for member in self.members)


def list_managed(owner_id: int) -> list[GroupSummary]:
    """Return the groups that an owner may change, by name; three queries."""
    rows = _filter_managed(owner_id).prefetch_related("members__person", "roles__workspace")
    return [_summarize_group(group) for group in rows.order_by("name", "pk")]


def get_managed(group_id: int, owner_id: int) -> GroupSummary | None:
    """Return a group that an owner may change; None for any other."""
    rows = _filter_managed(owner_id).prefetch_related("members__person", "roles__workspace")
    group = rows.filter(pk=group_id).first()
    return _summarize_group(group) if group else None


def list_roles(workspace_id: int) -> QuerySet[GroupRole]:
    """Return the roles of groups in a workspace, by the group's name."""
    rows = GroupRole.objects.filter(workspace_id=workspace_id).select_related("group")
    return rows.order_by("group__name", "group_id")


def list_pending_people(workspace_id: int) -> QuerySet[GroupMember]:
    """Return the people who join a workspace once they accept a group, by name."""
    people = Membership.objects.filter(workspace_id=workspace_id).values("person_id")
    rows = GroupMember.objects.filter(group__roles__workspace_id=workspace_id, accepted_at=None)
    rows = rows.exclude(person_id__in=people).select_related("person")
    return rows.order_by("person__first_name", "person__username", "group_id")


def count_affected_people(workspace_id: int) -> Counter[int]:
    """Count, by group, the members whose role would change without it; two queries."""
    members = Membership.objects.filter(workspace_id=workspace_id)
    direct_roles = dict(members.values_list("person_id", "direct_role"))
    granted_roles = defaultdict(list)
    for granted_role in member_roles.list_roles(direct_roles, [workspace_id]):
        granted_roles[granted_role.person_id].append(granted_role)
    counts: Counter[int] = Counter()
    for person_id, grouped_roles in granted_roles.items():
        value = direct_roles[person_id]
        direct_role = None if value is None else Role(value)
        role = member_roles.combine_roles(direct_role, grouped_roles)
        for group_id in {granted_role.group_id for granted_role in grouped_roles}:
            other_roles = [
                granted_role for granted_role in grouped_roles if granted_role.group_id != group_id
            ]
            counts[group_id] += member_roles.combine_roles(direct_role, other_roles) != role
    return counts


@transaction.atomic
def create_group(name: str, maker: Person) -> Group:
    """Return a new group without members. Raises InvalidName and NameTaken."""
    name = names.check_name(name)
    taken_names = list(_filter_managed(maker.pk).values_list("name", flat=True))
    if (lookalike := names.find_lookalike(name, taken_names)) is not None:
        raise NameTaken(f"“{name}” is or looks like the group “{lookalike}”.")
    group = Group.objects.create(name=name, maker=maker)
    record_change(group, Actor.from_person(maker), "made", [])
    return group


@transaction.atomic
def delete_group(group: Group, actor: Actor) -> None:
    """Delete a group, and with it the roles that it gave. Raises LastOwner and UnmanagedGroup."""
    person_ids, workspace_ids = lock_managed_group(group, actor)
    GroupRole.objects.filter(group=group).delete()
    apply_roles(person_ids, workspace_ids, actor, group.name)
    record_change(group, actor, "deleted", workspace_ids)
    group.delete()


@transaction.atomic
def give_role(group: Group, workspace: Workspace, role: Role, actor: Actor) -> list[str]:
    """Give the members of a group a role in a workspace, in place of the group's earlier one.

    Those who are not in the workspace and have not accepted the group stay outside.

    Returns the hashes of the sign-ins that this ended. Raises LastOwner, UnmanagedGroup, and
    NameTaken where a member of the workspace has a name that looks like that of a person of the
    group.
    """
    person_ids, _ = lock_managed_group(group, actor, workspace.pk)
    GroupRole.objects.update_or_create(group=group, workspace=workspace, defaults={"role": role})
    record_change(group, actor, "role given", [workspace.pk], role=role)
    require_free_names(person_ids, [workspace.pk])
    return apply_roles(person_ids, [workspace.pk], actor, group.name)


@transaction.atomic
def take_role(group: Group, workspace: Workspace, actor: Actor) -> None:
    """Take a group out of a workspace, also one that the actor does not manage.

    Whoever takes its last role manages it from then on. Owners may have added people to it since
    its maker was removed. Raises LastOwner, and UnmanagedGroup for a group that was deleted.
    """
    person_ids, _ = lock_group(group, workspace.pk)
    if GroupRole.objects.filter(group=group, workspace=workspace).delete()[0]:
        record_change(group, actor, "role taken", [workspace.pk])
        if not group.roles.exists():
            Group.objects.filter(pk=group.pk).update(maker_id=actor.person_id)
        apply_roles(person_ids, [workspace.pk], actor, group.name)


def _filter_managed(owner_id: int) -> QuerySet[Group]:
    roles = GroupRole.objects.filter(group=OuterRef("pk"))
    foreign_roles = roles.exclude(workspace_id__in=list_owned_ids(owner_id))
    return Group.objects.filter(~Exists(foreign_roles), Q(maker_id=owner_id) | Q(Exists(roles)))


def list_owned_ids(owner_id: int) -> QuerySet[Membership, Any]:
    owned_memberships = Membership.objects.filter(
        person_id=owner_id, role=Role.OWNER, person__is_active=True
    )
    return owned_memberships.values("workspace_id")


def _summarize_group(group: Group) -> GroupSummary:
    members = sorted(group.members.all(), key=lambda member: member.person.display_name)
    roles = sorted(group.roles.all(), key=lambda role: role.workspace.name)
    return GroupSummary(group, members, roles)


def lock_managed_group(
    group: Group, actor: Actor, workspace_id: int | None = None
) -> tuple[list[int], list[int]]:
    """Lock a group as ``lock_group`` does. Raises UnmanagedGroup where the actor may not."""
    keys = lock_group(group, workspace_id)
    owner_id = actor.person_id
    if owner_id is None or not _can_change(group.pk, owner_id, workspace_id):
        raise UnmanagedGroup(_UNMANAGED)
    return keys


def _can_change(group_id: int, owner_id: int, workspace_id: int | None) -> bool:
    """Tell whether an owner manages a group, and owns the workspace where it is given a role."""
    owned_memberships = list_owned_ids(owner_id)
    is_owned = workspace_id is None or owned_memberships.filter(workspace_id=workspace_id).exists()
    return is_owned and _filter_managed(owner_id).filter(pk=group_id).exists()


def lock_group(group: Group, workspace_id: int | None = None) -> tuple[list[int], list[int]]:
    """Lock a group and its workspaces, and this one; return the keys of people and workspaces.

    Raises UnmanagedGroup where the group was deleted.
    """
    if Group.objects.select_for_update().filter(pk=group.pk).first() is None:
        raise UnmanagedGroup(_UNMANAGED)
    workspace_ids = list(group.roles.values_list("workspace_id", flat=True))
    locked_ids = {*workspace_ids, *([workspace_id] if workspace_id else [])}
    list(Workspace.objects.select_for_update().filter(pk__in=locked_ids).order_by("pk"))
    return list(group.members.values_list("person_id", flat=True)), workspace_ids


def require_free_names(person_ids: Sequence[int], workspace_ids: Sequence[int]) -> None:
    """Raise NameTaken for a person whom a group would let into a workspace once they accept it."""
    for workspace_id in workspace_ids:
        pending_people = list(list_pending_people(workspace_id).filter(person_id__in=person_ids))
        taken_names = invitations.load_taken_names(workspace_id) if pending_people else {}
        for row in pending_people:
            invitations.check_free_name(row.person.display_name, taken_names)


def apply_roles(
    person_ids: Sequence[int], workspace_ids: Sequence[int], actor: Actor, group_name: str
) -> list[str]:
    """Bring memberships in line with the roles that people have directly and by groups.

    Returns the hashes of the sign-ins that this ended.
    """
    granted_roles = defaultdict(list)
    for granted_role in member_roles.list_roles(person_ids, workspace_ids):
        granted_roles[granted_role.person_id, granted_role.workspace_id].append(granted_role)
    memberships = {
        (member.person_id, member.workspace_id): member
        for member in Membership.objects.filter(
            person_id__in=person_ids, workspace_id__in=workspace_ids
        )
    }
    ended_session_hashes: list[str] = []
    changed_ids: set[int] = set()
    # Once for each workspace: the names for each person who enters would be quadratic work.
    load_names = cache(invitations.load_taken_names)
    for workspace_id in workspace_ids:
        for person_id in person_ids:
            member = memberships.get((person_id, workspace_id))
            direct_role = member.direct_role if member else None
            role = member_roles.combine_roles(
                None if direct_role is None else Role(direct_role),
                granted_roles[person_id, workspace_id],
            )
            if member is None and role is not None:
                ended_session_hashes += _let_in(person_id, load_names(workspace_id), actor)
            member = member or Membership(person_id=person_id, workspace_id=workspace_id)
            if role != member.role:
                _apply_role(member, role, actor, group_name)
                changed_ids.add(person_id)
    mentions.count_unseen(changed_ids)
    return ended_session_hashes


def _let_in(person_id: int, taken_names: dict[str, str], actor: Actor) -> list[str]:
    """Check and take the name of a new member; end the credentials that others made for them.

    An owner of another workspace could enter this one by an earlier sign-in link of the person.
    """
    person = Person.objects.get(pk=person_id)
    invitations.check_free_name(person.display_name, taken_names)
    taken_names[names.make_skeleton(person.display_name)] = person.display_name
    SignInLink.objects.filter(person=person, maker__isnull=False).exclude(maker=person).delete()
    identities.remove_unproven(person_id, actor)
    return sessions.end_made_by_others(person_id)


def _apply_role(member: Membership, new_role: Role | None, actor: Actor, group_name: str) -> None:
    """Insert, change or delete one membership. Raises LastOwner."""
    is_new, old_role = member.pk is None, member.role
    if new_role is None:
        act = Act.MEMBER_REMOVED
        member.delete()
    else:
        act = Act.MEMBER_ADDED if is_new else Act.ROLE_CHANGED
        member.role = new_role
        member.save()
    change = member_roles.RoleChange(new_role, old_role, group_name)
    member_roles.record_membership(act, actor, member.workspace_id, member.person_id, change)
    if old_role == Role.OWNER:
        _require_owner(member.workspace_id)


def _require_owner(workspace_id: int) -> None:
    if not member_roles.list_active_owners().filter(workspace_id=workspace_id).exists():
        raise LastOwner(member_roles.NO_OWNER_LEFT)


def record_change(
    group: Group,
    actor: Actor,
    kind: str,
    workspace_ids: Sequence[int],
    *,
    person: Person | None = None,
    role: Role | None = None,
) -> None:
    """Record a change for those who audit one of these workspaces, with an entry in each.

    Without a workspace, the entry is for the actor alone. The subject is the person whom someone
    else adds or removes; of a person's own act it is the group.
    """
    subject = f"group:{group.pk}"
    if person is not None and person.pk != actor.person_id:
        subject = f"person:{person.pk}"
    details = {"kind": kind, "group": group.name}
    details |= {"role": Role(role).label} if role else {}
    details |= {"person": person.display_name} if person else {}
    recorded_ids: Sequence[int | None] = workspace_ids or [None]
    record_acts(
        NewAct(Act.GROUP_CHANGED, actor, Place(workspace_id, subject=subject), details)
        for workspace_id in recorded_ids
    )
