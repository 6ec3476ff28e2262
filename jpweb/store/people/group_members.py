"""The people of groups: adding, joining, declining, leaving and removing.

Owners add and remove people; joining and leaving are the person's own acts. ``groups`` has the
locks of such a change, and the memberships that result from it.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, NoReturn

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet

from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.errors import MembershipEnded, RoleByGroup, UnmanagedGroup
from jpweb.store.ledger.entries import Actor, read_details
from jpweb.store.ledger.entry_macs import is_forged
from jpweb.store.models import Group, GroupMember, GroupRole, LedgerEntry, Membership, Person
from jpweb.store.people import groups

NO_LONGER_IN_GROUP = "You are no longer in this group."
#: Newest entries of a group that its page reads for departures.
_MAX_READ_ENTRIES = 200


class Departure(NamedTuple):
    """A person who declined a group, or left it after they had joined."""

    person: Person
    is_declined: bool
    at: datetime


def list_candidates(group: Group, owner_id: int) -> QuerySet[Person]:
    """Return the members of the workspaces that an owner has, without those of the group."""
    memberships = Membership.objects.filter(workspace_id__in=groups.list_owned_ids(owner_id))
    people = Person.objects.filter(pk__in=memberships.values("person_id"), is_active=True)
    return people.exclude(group_memberships__group=group).order_by("first_name", "username")


def list_group_members_of(person_id: int) -> QuerySet[GroupMember]:
    """Return the groups that a person was added to, by name, those not accepted first."""
    rows = _list_group_members().filter(person_id=person_id)
    rows = rows.prefetch_related("group__roles__workspace")
    return rows.order_by(F("accepted_at").asc(nulls_first=True), "group__name", "pk")


def list_pending_groups(person_id: int) -> QuerySet[GroupMember]:
    """Return the groups that a person was added to and has not accepted, the newest first."""
    return _list_group_members().filter(person_id=person_id, accepted_at=None).order_by("-pk")


def list_departures(group: Group) -> list[Departure]:
    """Return the people who declined or left a group and are out of it, latest first; two queries.

    These acts are read from the ledger, as long as it keeps their entries.
    """
    rows = LedgerEntry.objects.filter(subject=f"group:{group.pk}", act=Act.GROUP_CHANGED)
    latest_entries: dict[int, tuple[str, LedgerEntry]] = {}
    for entry in rows.order_by("-id")[:_MAX_READ_ENTRIES]:
        kind = "" if is_forged(entry) else read_details(entry.text, entry.text_hash).get("kind", "")
        if kind in ("declined", "left") and entry.person_id is not None:
            latest_entries.setdefault(entry.person_id, (kind, entry))
    people = Person.objects.exclude(group_memberships__group=group).in_bulk(latest_entries)
    return [
        Departure(people[person_id], kind == "declined", entry.at)
        for person_id, (kind, entry) in latest_entries.items()
        if person_id in people
    ]


@transaction.atomic
def add_person(group: Group, person: Person, actor: Actor) -> list[str]:
    """Add a person to a group; it lets them into a workspace once they accept it.

    An owner who adds themselves has accepted. Returns the hashes of the sign-ins that this ended.
    Raises UnmanagedGroup, and NameTaken where a member of a workspace in which the group has a role
    has a name that looks the same.
    """
    _, workspace_ids = groups.lock_managed_group(group, actor)
    accepted_at = clock.now() if actor.person_id == person.pk else None
    _, is_new = GroupMember.objects.get_or_create(
        group=group,
        person=person,
        defaults={"inviter_id": actor.person_id, "accepted_at": accepted_at},
    )
    if is_new:
        groups.record_change(group, actor, "person added", workspace_ids, person=person)
    groups.require_free_names([person.pk], workspace_ids)
    return groups.apply_roles([person.pk], workspace_ids, actor, group.name)


@transaction.atomic
def accept_group(group_member: GroupMember, person: Person) -> list[str]:
    """Let a person into the workspaces of a group to which they were added; for themselves alone.

    Returns the hashes of the sign-ins that this ended. Raises MembershipEnded where the person is
    not in the group, and NameTaken where a member of a workspace has a name that looks the same.
    """
    row, workspace_ids = _lock_own_group_member(group_member, person)
    if row.accepted_at is not None:
        return []
    GroupMember.objects.filter(pk=row.pk).update(accepted_at=clock.now())
    actor = Actor.from_person(person)
    groups.record_change(row.group, actor, "accepted", workspace_ids, person=person)
    return groups.apply_roles([person.pk], workspace_ids, actor, row.group.name)


@transaction.atomic
def leave_group(group_member: GroupMember, person: Person) -> None:
    """Take a person out of a group by their own act, accepted or not.

    Raises LastOwner, and MembershipEnded where the person is not in the group.
    """
    row, workspace_ids = _lock_own_group_member(group_member, person)
    GroupMember.objects.filter(pk=row.pk).delete()
    actor, kind = Actor.from_person(person), "left" if row.accepted_at else "declined"
    groups.record_change(row.group, actor, kind, workspace_ids, person=person)
    groups.apply_roles([person.pk], workspace_ids, actor, row.group.name)


@transaction.atomic
def remove_person(group: Group, person: Person, actor: Actor) -> None:
    """Take a person out of a group. Raises LastOwner and UnmanagedGroup."""
    _, workspace_ids = groups.lock_managed_group(group, actor)
    if GroupMember.objects.filter(group=group, person=person).delete()[0]:
        groups.record_change(group, actor, "person removed", workspace_ids, person=person)
        groups.apply_roles([person.pk], workspace_ids, actor, group.name)


def end_pending_group_members(member: Membership, actor: Actor) -> None:
    """Take a member who is removed out of groups that would let them in again.

    Those have a role in this workspace alone, and the person has not joined them. The caller holds
    the workspace's lock, for which each change of such a group waits. Raises RoleByGroup for a
    group that the person joined, or that has a role elsewhere, where others decide, too.
    """
    roles = GroupRole.objects.filter(group=OuterRef("group_id"))
    group_members = _list_group_members().filter(
        Exists(roles.filter(workspace_id=member.workspace_id)), person_id=member.person_id
    )
    is_elsewhere = Exists(roles.exclude(workspace_id=member.workspace_id))
    group_members = group_members.annotate(is_elsewhere=is_elsewhere)
    for row in group_members.order_by(F("accepted_at").asc(nulls_last=True), "group__name", "pk"):
        if row.accepted_at is not None or row.is_elsewhere:
            _refuse_removal(member, row)
        row.delete()
        workspace_ids, person = [member.workspace_id], member.person
        groups.record_change(row.group, actor, "person removed", workspace_ids, person=person)


def _refuse_removal(member: Membership, row: GroupMember) -> NoReturn:
    relation = "could come back into" if row.accepted_at is None else "is in"
    raise RoleByGroup(
        f"{member.person.display_name} {relation} {member.workspace.name} by the group"
        f" “{row.group.name}”. Take them out of the group, or the group out of the workspace."
    )


def _list_group_members() -> QuerySet[GroupMember]:
    return GroupMember.objects.select_related("group", "inviter")


def _lock_own_group_member(
    group_member: GroupMember, person: Person
) -> tuple[GroupMember, list[int]]:
    """Lock a group as ``lock_group`` does; return the person's row, and the group's workspaces.

    Raises MembershipEnded where they are no longer in the group, or it was deleted.
    """
    rows = GroupMember.objects.filter(pk=group_member.pk, person=person).select_related("group")
    try:
        _, workspace_ids = groups.lock_group(rows.get().group)
        return rows.get(), workspace_ids
    except (GroupMember.DoesNotExist, UnmanagedGroup) as error:
        raise MembershipEnded(NO_LONGER_IN_GROUP) from error
