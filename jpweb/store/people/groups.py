"""Groups: people who get their roles in workspaces together.

Whoever changes a group owns each workspace in which it has a role, since a change may let people
into any of them. A group without a role is changed by its maker. Each change checks that under its
locks, since another owner may give the group a role after the page was loaded. It writes the roles
that result to ``Membership.role``, the one column that access rules read.

A group changes the roles of members of a workspace at once. It lets a person in who is no member
only after they have accepted the group, by its later roles too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, NoReturn

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from jpweb.store.annotations import mentions
from jpweb.store.choices import Act, Role
from jpweb.store.database import clock
from jpweb.store.errors import LastOwner, MembershipEnded, NameTaken, RoleByGroup, UnmanagedGroup
from jpweb.store.ledger.entries import Actor, Place, record_act
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

NO_LONGER_IN_GROUP = "You are no longer in this group."
_UNMANAGED = (
    "This group was deleted meanwhile, or has a role in a workspace that you don't own. Nothing was"
    " changed."
)


class GroupSummary(NamedTuple):
    """A group with its members and its roles."""

    group: Group
    members: list[GroupMember]
    roles: list[GroupRole]


def list_managed(owner_id: int) -> list[GroupSummary]:
    """Return the groups that an owner may change, by name; three queries."""
    rows = _filter_managed(owner_id).prefetch_related("members__person", "roles__workspace")
    return [_summarise(group) for group in rows.order_by("name", "pk")]


def get_managed(group_id: int, owner_id: int) -> GroupSummary | None:
    """Return a group that an owner may change; None for any other."""
    rows = _filter_managed(owner_id).prefetch_related("members__person", "roles__workspace")
    group = rows.filter(pk=group_id).first()
    return _summarise(group) if group else None


def list_candidates(group: Group, owner_id: int) -> QuerySet[Person]:
    """Return the members of the workspaces that an owner has, without those of the group."""
    memberships = Membership.objects.filter(workspace_id__in=_list_owned(owner_id))
    people = Person.objects.filter(pk__in=memberships.values("person_id"), is_active=True)
    return people.exclude(group_memberships__group=group).order_by("first_name", "username")


def list_roles(workspace_id: int) -> QuerySet[GroupRole]:
    """Return the roles of groups in a workspace, by the group's name."""
    rows = GroupRole.objects.filter(workspace_id=workspace_id).select_related("group")
    return rows.order_by("group__name", "group_id")


def list_memberships(person_id: int) -> QuerySet[GroupMember]:
    """Return a person's places in groups, by the group's name, those that wait for them first."""
    rows = _list_places().filter(person_id=person_id).prefetch_related("group__roles__workspace")
    return rows.order_by(F("accepted_at").asc(nulls_first=True), "group__name", "pk")


def list_waiting(person_id: int) -> QuerySet[GroupMember]:
    """Return a person's places in groups that they have not accepted, the newest first."""
    return _list_places().filter(person_id=person_id, accepted_at=None).order_by("-pk")


def list_waiting_people(workspace_id: int) -> QuerySet[GroupMember]:
    """Return who is in a workspace once they accept a group, by name."""
    people = Membership.objects.filter(workspace_id=workspace_id).values("person_id")
    rows = GroupMember.objects.filter(group__roles__workspace_id=workspace_id, accepted_at=None)
    rows = rows.exclude(person_id__in=people).select_related("person")
    return rows.order_by("person__first_name", "person__username", "group_id")


@transaction.atomic
def create_group(name: str, maker: Person) -> Group:
    """Return a new group without members. Raises InvalidName and NameTaken."""
    name = names.check_name(name)
    taken_names = list(_filter_managed(maker.pk).values_list("name", flat=True))
    if (lookalike := names.find_lookalike(name, taken_names)) is not None:
        raise NameTaken(f"“{name}” is or looks like the group “{lookalike}”.")
    group = Group.objects.create(name=name, maker=maker)
    _record_change(group, Actor.from_person(maker), "made")
    return group


@transaction.atomic
def delete_group(group: Group, actor: Actor) -> None:
    """Delete a group, and with it the roles that it gave. Raises LastOwner and UnmanagedGroup."""
    person_ids, workspace_ids = _lock_managed_group(group, actor)
    GroupRole.objects.filter(group=group).delete()
    _apply_roles(person_ids, workspace_ids, actor, group.name)
    _record_change(group, actor, "deleted")
    group.delete()


@transaction.atomic
def add_person(group: Group, person: Person, actor: Actor) -> list[str]:
    """Add a person to a group; it lets them into a workspace once they accept it.

    An owner who adds themselves has accepted. Returns the hashes of the sign-ins that this ended.
    Raises UnmanagedGroup, and NameTaken where a member of a workspace in which the group has a role
    has a name that looks the same.
    """
    _, workspace_ids = _lock_managed_group(group, actor)
    accepted_at = clock.now() if actor.person_id == person.pk else None
    _, is_new = GroupMember.objects.get_or_create(
        group=group,
        person=person,
        defaults={"inviter_id": actor.person_id, "accepted_at": accepted_at},
    )
    if is_new:
        _record_change(group, actor, "person added", person=person)
    _require_free_names([person.pk], workspace_ids)
    return _apply_roles([person.pk], workspace_ids, actor, group.name)


@transaction.atomic
def accept_group(group_member: GroupMember, person: Person) -> list[str]:
    """Let a person into the workspaces of a group to which they were added; for themselves alone.

    Returns the hashes of the sign-ins that this ended. Raises MembershipEnded where the person is
    not in the group, and NameTaken where a member of a workspace has a name that looks the same.
    """
    row, workspace_ids = _lock_own_place(group_member, person)
    if row.accepted_at is not None:
        return []
    GroupMember.objects.filter(pk=row.pk).update(accepted_at=clock.now())
    actor = Actor.from_person(person)
    _record_change(row.group, actor, "accepted", person=person)
    return _apply_roles([person.pk], workspace_ids, actor, row.group.name)


@transaction.atomic
def leave_group(group_member: GroupMember, person: Person) -> None:
    """Take a person out of a group by their own act, accepted or not.

    Raises LastOwner, and MembershipEnded where the person is not in the group.
    """
    row, workspace_ids = _lock_own_place(group_member, person)
    GroupMember.objects.filter(pk=row.pk).delete()
    actor = Actor.from_person(person)
    _record_change(row.group, actor, "left" if row.accepted_at else "declined", person=person)
    _apply_roles([person.pk], workspace_ids, actor, row.group.name)


@transaction.atomic
def remove_person(group: Group, person: Person, actor: Actor) -> None:
    """Take a person out of a group. Raises LastOwner and UnmanagedGroup."""
    _, workspace_ids = _lock_managed_group(group, actor)
    if GroupMember.objects.filter(group=group, person=person).delete()[0]:
        _record_change(group, actor, "person removed", person=person)
        _apply_roles([person.pk], workspace_ids, actor, group.name)


def end_waiting_places(member: Membership, actor: Actor) -> None:
    """Take a member who is removed out of groups that would let them in again.

    Those have a role in this workspace alone, and the person has not joined them. The caller holds
    the workspace's lock, for which each change of such a group waits. Raises RoleByGroup for a
    group that the person joined, or that has a role elsewhere, where others decide, too.
    """
    roles = GroupRole.objects.filter(group=OuterRef("group_id"))
    places = _list_places().filter(
        Exists(roles.filter(workspace_id=member.workspace_id)), person_id=member.person_id
    )
    is_elsewhere = Exists(roles.exclude(workspace_id=member.workspace_id))
    places = places.annotate(is_elsewhere=is_elsewhere)
    for place in places.order_by(F("accepted_at").asc(nulls_last=True), "group__name", "pk"):
        if place.accepted_at is not None or place.is_elsewhere:
            _refuse_removal(member, place)
        place.delete()
        _record_change(place.group, actor, "person removed", person=member.person)


def _refuse_removal(member: Membership, place: GroupMember) -> NoReturn:
    relation = "could come back into" if place.accepted_at is None else "is in"
    raise RoleByGroup(
        f"{member.person.display_name} {relation} {member.workspace.name} by the group"
        f" “{place.group.name}”. Take them out of the group, or the group out of the workspace."
    )


@transaction.atomic
def give_role(group: Group, workspace: Workspace, role: Role, actor: Actor) -> list[str]:
    """Give the members of a group a role in a workspace, in place of the group's earlier one.

    Those who are not in the workspace and have not accepted the group stay outside.

    Returns the hashes of the sign-ins that this ended. Raises LastOwner, UnmanagedGroup, and
    NameTaken where a member of the workspace has a name that looks like that of a person of the
    group.
    """
    person_ids, _ = _lock_managed_group(group, actor, workspace.pk)
    GroupRole.objects.update_or_create(group=group, workspace=workspace, defaults={"role": role})
    _record_change(group, actor, "role given", workspace_id=workspace.pk, role=role)
    _require_free_names(person_ids, [workspace.pk])
    return _apply_roles(person_ids, [workspace.pk], actor, group.name)


@transaction.atomic
def take_role(group: Group, workspace: Workspace, actor: Actor) -> None:
    """Take a group out of a workspace, also one that the actor does not manage.

    Raises LastOwner, and UnmanagedGroup for a group that was deleted.
    """
    person_ids, _ = _lock_group(group, workspace.pk)
    if GroupRole.objects.filter(group=group, workspace=workspace).delete()[0]:
        _record_change(group, actor, "role taken", workspace_id=workspace.pk)
        _apply_roles(person_ids, [workspace.pk], actor, group.name)


def _filter_managed(owner_id: int) -> QuerySet[Group]:
    roles = GroupRole.objects.filter(group=OuterRef("pk"))
    foreign_roles = roles.exclude(workspace_id__in=_list_owned(owner_id))
    return Group.objects.filter(~Exists(foreign_roles), Q(maker_id=owner_id) | Q(Exists(roles)))


def _list_owned(owner_id: int) -> QuerySet[Membership, Any]:
    owned = Membership.objects.filter(person_id=owner_id, role=Role.OWNER, person__is_active=True)
    return owned.values("workspace_id")


def _list_places() -> QuerySet[GroupMember]:
    return GroupMember.objects.select_related("group", "inviter")


def _summarise(group: Group) -> GroupSummary:
    members = sorted(group.members.all(), key=lambda member: member.person.display_name)
    roles = sorted(group.roles.all(), key=lambda role: role.workspace.name)
    return GroupSummary(group, members, roles)


def _lock_managed_group(
    group: Group, actor: Actor, workspace_id: int | None = None
) -> tuple[list[int], list[int]]:
    """Lock a group as ``_lock_group`` does. Raises UnmanagedGroup where the actor may not."""
    keys = _lock_group(group, workspace_id)
    owner_id = actor.person_id
    if owner_id is None or not _may_change(group.pk, owner_id, workspace_id):
        raise UnmanagedGroup(_UNMANAGED)
    return keys


def _may_change(group_id: int, owner_id: int, workspace_id: int | None) -> bool:
    """Tell whether an owner manages a group, and owns the workspace where it is given a role."""
    owned = _list_owned(owner_id)
    is_owned = workspace_id is None or owned.filter(workspace_id=workspace_id).exists()
    return is_owned and _filter_managed(owner_id).filter(pk=group_id).exists()


def _lock_group(group: Group, workspace_id: int | None = None) -> tuple[list[int], list[int]]:
    """Lock a group and its workspaces, and this one; return the keys of people and workspaces.

    Raises UnmanagedGroup where the group was deleted.
    """
    if Group.objects.select_for_update().filter(pk=group.pk).first() is None:
        raise UnmanagedGroup(_UNMANAGED)
    workspace_ids = list(group.roles.values_list("workspace_id", flat=True))
    locked_ids = {*workspace_ids, *([workspace_id] if workspace_id else [])}
    list(Workspace.objects.select_for_update().filter(pk__in=locked_ids).order_by("pk"))
    return list(group.members.values_list("person_id", flat=True)), workspace_ids


def _lock_own_place(group_member: GroupMember, person: Person) -> tuple[GroupMember, list[int]]:
    """Lock a group as ``_lock_group`` does; return a person's place in it, and its workspaces.

    Raises MembershipEnded where they are no longer in the group, or it was deleted.
    """
    places = GroupMember.objects.filter(pk=group_member.pk, person=person).select_related("group")
    try:
        _, workspace_ids = _lock_group(places.get().group)
        return places.get(), workspace_ids
    except (GroupMember.DoesNotExist, UnmanagedGroup) as error:
        raise MembershipEnded(NO_LONGER_IN_GROUP) from error


def _require_free_names(person_ids: Sequence[int], workspace_ids: Sequence[int]) -> None:
    """Raise NameTaken for a person whom a group would let into a workspace once they accept it."""
    for workspace_id in workspace_ids:
        waiting = list(list_waiting_people(workspace_id).filter(person_id__in=person_ids))
        taken_names = invitations.load_taken_names(workspace_id) if waiting else {}
        for row in waiting:
            invitations.check_free_name(row.person.display_name, taken_names)


def _apply_roles(
    person_ids: Sequence[int], workspace_ids: Sequence[int], actor: Actor, group_name: str
) -> list[str]:
    """Bring memberships in line with the roles that people have directly and by groups.

    Returns the hashes of the sign-ins that this ended.
    """
    granted_roles = defaultdict(list)
    for granted in member_roles.list_roles(person_ids, workspace_ids):
        granted_roles[granted.person_id, granted.workspace_id].append(granted)
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
    """Check and take the name of a person who becomes a member; end what others made for them.

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
    owners = Membership.objects.filter(workspace_id=workspace_id, role=Role.OWNER)
    if not owners.exists():
        raise LastOwner("A workspace needs at least one owner. Make someone else an owner first.")


def _record_change(
    group: Group,
    actor: Actor,
    kind: str,
    *,
    workspace_id: int | None = None,
    person: Person | None = None,
    role: Role | None = None,
) -> None:
    place = Place(workspace_id, subject=f"person:{person.pk}" if person else f"group:{group.pk}")
    details = {"role": Role(role).label} if role else {}
    details |= {"person": person.display_name} if person else {}
    record_act(Act.GROUP_CHANGED, actor, place, kind=kind, group=group.name, **details)
