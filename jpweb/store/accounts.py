"""Accounts: people, their roles in a workspace, and one-time sign-in links."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import QuerySet

from jpweb.store import db_text
from jpweb.store.annotations import mentions
from jpweb.store.choices import Act, Density, Role, Theme
from jpweb.store.database import clock
from jpweb.store.errors import CodeRequired, InactivePerson, InvalidLink, MembershipEnded
from jpweb.store.ledger.entries import OPERATOR, Actor, Place, record_act
from jpweb.store.models import (
    AnswerLink,
    Conversation,
    Membership,
    Person,
    SignInLink,
    Workspace,
)
from jpweb.store.people import group_members, identities, member_roles, second_factors, sessions
from jpweb.store.people.member_roles import RoleChange, record_membership
from jpweb.store.people.token_hashes import hash_token
from jpweb.store.sql.compiled_query import CompiledQuery

LINK_LIFETIME = timedelta(days=7)
OWNER_USERNAME = "owner"
_INVALID_LINK = "This sign-in link is invalid: it is used, expired or incomplete."


def get_or_create_owner() -> Person:
    """Return the first person of an installation; insert the row on first use."""
    person, _ = Person.objects.get_or_create(
        username=OWNER_USERNAME, defaults={"first_name": "Owner"}
    )
    return person


def is_first_person(person: Person) -> bool:
    """Tell whether a person is the one whom the link of ``jpweb serve`` signs in."""
    return person.username == OWNER_USERNAME


def get_signed_in_person(session_key: str | None) -> Person | None:
    """Return the person of a session, read from the database; None where the session has ended."""
    sign_in = sessions.find_live(session_key)
    person = sign_in.person if sign_in else None
    return person if person is not None and person.is_active else None


def find_by_name(name: str) -> list[Person]:
    """Return the person with this account name, else the people who are shown by this name."""
    name = db_text.clean_text(name)
    people = Person.objects.filter(username=name) or Person.objects.filter(first_name=name)
    return list(people.order_by("username"))


@transaction.atomic
def end_sign_ins(person_id: int, actor: Actor = OPERATOR, but_key: str | None = None) -> list[str]:
    """End all sign-ins of a person, except one, and their unused links.

    Returns the hashes of the sign-ins that ended. Links to questions end as well: whoever holds a
    lost device could settle questions by them.
    """
    delete_unused_links(person_id)
    details = {"kind": "others"} if but_key else {}
    record_act(Act.SIGN_INS_ENDED, actor, Place(subject=f"person:{person_id}"), **details)
    return sessions.end_all(person_id, but_key)


def delete_unused_links(person_id: int) -> None:
    """Delete the sign-in links and answer links of a person that are not used yet."""
    SignInLink.objects.filter(person_id=person_id, used_at=None).delete()
    AnswerLink.objects.filter(person_id=person_id, used_at=None).delete()


@transaction.atomic
def end_sign_in(person_id: int, key_hash: str, actor: Actor) -> bool:
    """End one sign-in of a person; returns whether there was one. Links stay."""
    browser = sessions.end_one(person_id, key_hash)
    if browser is not None:
        place = Place(subject=f"person:{person_id}")
        record_act(Act.SIGN_INS_ENDED, actor, place, kind="one", name=browser)
    return browser is not None


@transaction.atomic
def make_owner(person: Person, workspace: Workspace, actor: Actor = OPERATOR) -> None:
    """Make a person owner of a workspace without an owner; change nothing where it has one.

    A deactivated person is none, and cannot be made one. This ends links and sign-ins that others
    made for the person: they would gain the new role.
    """
    owners = member_roles.list_active_owners().filter(workspace=workspace)
    if person.is_active and not owners.exists():
        old_role = get_role(person.pk, workspace.pk)
        Membership.objects.update_or_create(
            person=person, workspace=workspace, defaults=_make_roles(Role.OWNER)
        )
        other_links = SignInLink.objects.filter(person=person, maker__isnull=False)
        other_links.exclude(maker=person).delete()
        identities.remove_unproven(person.pk, actor)
        sessions.end_made_by_others(person.pk)
        act = Act.MEMBER_ADDED if old_role is None else Act.ROLE_CHANGED
        change = RoleChange(Role.OWNER, old_role)
        record_membership(act, actor, workspace.pk, person.pk, change)
        mentions.count_unseen([person.pk])


class NewFactor(NamedTuple):
    """The recovery codes of a second factor, and the credentials that ended with it."""

    recovery_codes: list[str]
    ended_session_hashes: list[str]
    removed_credentials: list[identities.Credential]


@transaction.atomic
def turn_on_second_factor(
    person: Person, typed_code: str, *, is_own: bool, session_key: str | None
) -> NewFactor | None:
    """Turn a second factor on by the first code of its app; None for a wrong code.

    This ends what would let the makers of earlier links in without a code: sign-ins except this
    one, and passkeys and identities.
    """
    codes = second_factors.confirm_setup(person, typed_code, is_own=is_own)
    if codes is None:
        return None
    removed_credentials = identities.remove_credentials(person.pk, Actor.from_person(person))
    ended_session_hashes = sessions.end_made_by_others(person.pk, session_key)
    return NewFactor(codes, ended_session_hashes, removed_credentials)


class UsedLink(NamedTuple):
    """The person of a used sign-in link, and the person who made it; None: the operator did."""

    person: Person
    maker_id: int | None


@transaction.atomic
def issue_link(
    person: Person, maker: Person | None = None, session_maker_id: int | None = None
) -> str:
    """Return the token of a new one-time link; only its hash is kept.

    ``maker`` is the person who makes it; None means the operator. ``session_maker_id`` is who
    made the link that began the maker's session, if another person did: they may hold the session,
    so the new link counts as theirs too. Raises InactivePerson.
    """
    require_active(person)
    token = secrets.token_urlsafe(32)
    maker_id = maker.pk if maker is not None else None
    SignInLink.objects.create(
        person=person,
        maker_id=session_maker_id or maker_id,
        token_hash=hash_token(token),
        expires_at=clock.now() + LINK_LIFETIME,
    )
    actor = OPERATOR if maker is None else Actor.from_person(maker)
    place = Place(subject=f"person:{person.pk}")
    record_act(Act.LINK_MADE, actor, place, person=person.display_name)
    return token


def require_active(person: Person) -> None:
    """Raise InactivePerson for a person who is deactivated."""
    if not person.is_active:
        raise InactivePerson(
            f"{person.display_name} is deactivated. `jpweb reactivate_person {person.username}` "
            "restores the account."
        )


def use_link(token: str) -> UsedLink:
    """Use a sign-in link. Raises InvalidLink, and CodeRequired for a person with a second factor.

    A link that another person made counts only while that person may make it.
    """
    link = _find_usable(token_hash=hash_token(token))
    if second_factors.find_factor(link.person_id) is not None:
        raise CodeRequired(link.pk)
    return _use(link)


def find_person_of_link(link_id: int) -> Person:
    """Return the person whom a link can still sign in. Raises InvalidLink."""
    return _find_usable(pk=link_id).person


def use_link_after_code(link_id: int) -> UsedLink:
    """Use a sign-in link whose person has given a code. Raises InvalidLink."""
    return _use(_find_usable(pk=link_id))


def _find_usable(**conditions: Any) -> SignInLink:
    usable_links = SignInLink.objects.filter(
        **conditions, used_at=None, expires_at__gt=clock.now(), person__is_active=True
    )
    link = usable_links.select_related("person").first()
    if link is None or not _is_maker_allowed(link):
        raise InvalidLink(_INVALID_LINK)
    return link


def _use(link: SignInLink) -> UsedLink:
    if not _mark_used(link):
        raise InvalidLink(_INVALID_LINK)
    return UsedLink(link.person, link.maker_id)


def _is_maker_allowed(link: SignInLink) -> bool:
    if link.maker_id is None or link.maker_id == link.person_id:
        return True
    return can_link_person(link.maker_id, link.person)


def _mark_used(link: SignInLink) -> bool:
    # Compare-and-set on this row alone: PostgreSQL does not re-check a joined table after a wait.
    unused_link = SignInLink.objects.filter(pk=link.pk, used_at=None)
    return bool(unused_link.update(used_at=clock.now()))


def can_link_person(owner_id: int, person: Person) -> bool:
    """Tell whether an owner may make a sign-in link for a person.

    Only for a person who is in no workspace but the owner's: otherwise an owner of one
    workspace could enter another as one of its members.
    """
    owned_workspaces = Membership.objects.filter(
        person_id=owner_id, role=Role.OWNER, person__is_active=True
    ).values("workspace_id")
    return (
        not Membership.objects.filter(person=person)
        .exclude(workspace_id__in=owned_workspaces)
        .exists()
    )


def get_role(person_id: int, workspace_id: int) -> Role | None:
    """Return a person's role in a workspace, or None for an outsider."""
    rows = _role_query([person_id], [workspace_id])
    return Role(rows[0][0]) if rows else None


#: The ORM takes 0.2 to 0.4 ms longer for each of these, which a page runs up to five times.
_role_query = CompiledQuery(
    lambda person_ids, workspace_ids: Membership.objects.filter(
        person_id__in=person_ids, workspace_id__in=workspace_ids
    ).values_list("role")
)


def get_roles(person_id: int) -> dict[int, Role]:
    """Return a person's role in each workspace, by its key."""
    return {key: Role(role) for key, role in _roles_query([person_id])}


_roles_query = CompiledQuery(
    lambda person_ids: Membership.objects.filter(person_id__in=person_ids).values_list(
        "workspace_id", "role"
    )
)


def set_appearance(person_id: int, theme: Theme, density: Density) -> None:
    """Save how a person's pages look."""
    Person.objects.filter(pk=person_id).update(theme=theme, density=density)


def set_notified_of_mentions(person_id: int, *, is_on: bool) -> None:
    """Save whether a person's channels and browsers get messages of mentions."""
    Person.objects.filter(pk=person_id).update(is_notified_of_mentions=is_on)


def mark_welcomed(person_id: int) -> None:
    """Save that a person has closed the panel of the first visit."""
    Person.objects.filter(pk=person_id).update(is_welcomed=True)


def list_workspaces(person_id: int, role: Role) -> list[Workspace]:
    """Return the workspaces in which a person has at least this role, by name."""
    return _workspaces_query([person_id], Role.list_including(role))


_workspaces_query = CompiledQuery(
    lambda person_ids, roles: Workspace.objects.filter(
        memberships__person_id__in=person_ids, memberships__role__in=roles
    ).order_by("name", "id")
)


def load_workspaces(conversations: Iterable[Conversation]) -> list[Workspace]:
    """Return the workspaces of conversations; one query."""
    keys = {row.workspace_id for row in conversations}
    return _workspaces_by_key_query(list(keys)) if keys else []


_workspaces_by_key_query = CompiledQuery(lambda keys: Workspace.objects.filter(pk__in=keys))


def attach_workspaces(
    conversations: Iterable[Conversation], workspaces: Iterable[Workspace]
) -> dict[int, Conversation]:
    """Return conversations by key, each with its workspace.

    Those of other workspaces, such as one that was deleted meanwhile, are left out.
    """
    workspaces_by_key = {row.pk: row for row in workspaces}
    attached_rows = [row for row in conversations if row.workspace_id in workspaces_by_key]
    for row in attached_rows:
        row.workspace = workspaces_by_key[row.workspace_id]
    return {row.pk: row for row in attached_rows}


def get_workspace(workspace_id: int) -> Workspace:
    """Return a workspace that is known to exist."""
    return Workspace.objects.get(pk=workspace_id)


def list_members(workspace_id: int) -> QuerySet[Membership]:
    """Return the memberships of a workspace, the highest role first."""
    rows = Membership.objects.filter(workspace_id=workspace_id)
    rows = rows.select_related("person", "person__second_factor")
    return rows.order_by("-role", "person__username")


def get_membership(membership_id: int) -> Membership | None:
    """Return a membership with its person and workspace."""
    rows = Membership.objects.select_related("person", "workspace")
    return rows.filter(pk=membership_id).first()


@transaction.atomic
def change_role(member: Membership, role: Role, actor: Actor = OPERATOR) -> Role:
    """Give a member another role; return theirs then, in which their groups count.

    Nothing is recorded where they have the role already. Raises LastOwner, and MembershipEnded for
    a person who was removed since ``member`` was read.
    """
    current_member = _lock_member(member)
    group_roles = member_roles.list_roles([member.person_id], [member.workspace_id])
    combined_role = member_roles.combine_roles(role, group_roles) or role
    member_roles.require_remaining_owner(member, combined_role)
    if (current_member.role, current_member.direct_role) != (combined_role, role):
        Membership.objects.filter(pk=member.pk).update(role=combined_role, direct_role=role)
        keys = member.workspace_id, member.person_id
        change = member_roles.make_role_change(role, group_roles, current_member.role)
        record_membership(Act.ROLE_CHANGED, actor, *keys, change)
    return combined_role


@transaction.atomic
def remove_member(member: Membership, actor: Actor = OPERATOR) -> None:
    """Remove a person from a workspace; their answers stay recorded.

    This takes them out of groups that they have not joined and that would let them in again.
    Raises LastOwner, MembershipEnded for a person who was removed since ``member`` was read, and
    RoleByGroup for a member of a group with a role there that they joined, or that has others.
    """
    old_role = _lock_member(member).role
    keys = member.workspace_id, member.person_id
    group_members.end_pending_group_members(member, actor)
    member_roles.require_remaining_owner(member, None)
    record_membership(Act.MEMBER_REMOVED, actor, *keys, RoleChange(old_role=old_role))
    member.delete()
    mentions.count_unseen([member.person_id])


def _make_roles(role: Role) -> dict[str, Role]:
    return {"role": role, "direct_role": role}


def _lock_member(member: Membership) -> Membership:
    """Return the row as it is now, locked. Raises MembershipEnded where it is gone.

    The workspace is locked first, as groups do: its owners' rows are locked next, in any order.
    """
    Workspace.objects.select_for_update().get(pk=member.workspace_id)
    current_member = Membership.objects.select_for_update().filter(pk=member.pk).first()
    if current_member is None:
        name = member.person.display_name
        raise MembershipEnded(f"{name} is no longer in {member.workspace.name}.")
    return current_member
