"""Invitations: an owner offers a role, and a person accepts it by the link.

An invitation names no account, so an owner does not learn which accounts exist.
Accepting one ends every other sign-in and link of the account: its earlier links were
made by owners of other workspaces. The person says which passkeys and identities are theirs: an
earlier inviter may have taken the invitation in their place, and added one. In a session that a
link of the inviter began, the inviter may accept in the person's place. So that keeps the sign-ins
to which nobody else's link led.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from jpweb.store.annotations import mentions
from jpweb.store.choices import Act, Role
from jpweb.store.errors import InvalidLink, NameTaken, TooManyLinks
from jpweb.store.ledger.entries import OPERATOR, Actor, Place, record_act
from jpweb.store.models import Invitation, Membership, Person, SignInLink, Workspace
from jpweb.store.people import identities, member_roles, names, sessions
from jpweb.store.people.identities import NO_REMOVAL, Removal
from jpweb.store.people.token_hashes import hash_token

INVITATION_LIFETIME = timedelta(days=7)
#: Invitations and sign-in links, together, that one person can make in an hour.
MAX_LINKS_PER_HOUR = 200
_INVALID_TEXT = "This invitation is invalid: it is used, withdrawn, expired or incomplete."


@dataclass(frozen=True, slots=True)
class AcceptedInvitation:
    """A person who accepted an invitation, with the hashes of the sign-ins that this ended.

    ``is_proven`` tells that another person invited them than made the link to their session.
    ``removal`` is what this removed from an account that was there before.
    """

    person: Person
    workspace: Workspace
    role: Role
    is_proven: bool
    ended_session_hashes: list[str] = field(default_factory=list)
    removal: Removal = NO_REMOVAL


@transaction.atomic
def create_invitation(workspace: Workspace, name: str, role: Role, inviter: Person) -> str:
    """Return the token of a new invitation. Raises InvalidName, NameTaken, TooManyLinks.

    The answer is the same whether an account of that name exists elsewhere or not.
    """
    name = names.check_name(name)
    check_link_rate(inviter.pk)
    Workspace.objects.select_for_update().get(pk=workspace.pk)
    pending_names = [row.name for row in list_pending(workspace.pk)]
    require_free_name(workspace.pk, name, pending_names)
    token = secrets.token_urlsafe(32)
    Invitation.objects.create(
        workspace=workspace,
        name=name,
        role=role,
        inviter=inviter,
        token_hash=hash_token(token),
        expires_at=Now() + INVITATION_LIFETIME,
    )
    place = Place(workspace.pk)
    record_act(
        Act.MEMBER_INVITED, Actor.from_person(inviter), place, name=name, role=Role(role).label
    )
    return token


def check_link_rate(person_id: int) -> None:
    """Raise TooManyLinks for a person who made too many invitations and links in the last hour."""
    recent_filter = {"created_at__gt": Now() - timedelta(hours=1)}
    link_count = Invitation.objects.filter(inviter_id=person_id, **recent_filter).count()
    link_count += SignInLink.objects.filter(maker_id=person_id, **recent_filter).count()
    if link_count >= MAX_LINKS_PER_HOUR:
        raise TooManyLinks(
            f"You created {MAX_LINKS_PER_HOUR} links within an hour. Try again later."
        )


def list_pending(workspace_id: int) -> QuerySet[Invitation]:
    """Return the invitations into a workspace that can still be accepted, by name."""
    return _filter_usable().filter(workspace_id=workspace_id).order_by("name", "pk")


def find_invitation(token: str) -> Invitation:
    """Return an invitation; this does not use it. Raises InvalidLink."""
    row = _filter_usable().select_related("workspace").filter(token_hash=hash_token(token)).first()
    if row is None:
        raise InvalidLink(_INVALID_TEXT)
    return row


def list_addressed(person: Person, emails: Collection[str]) -> list[Invitation]:
    """Return the open invitations whose name is one of these addresses, with their workspaces.

    Those into workspaces of the person are left out. The caller knows that the person has the
    addresses.
    """
    if not emails:
        return []
    workspace_ids = set(
        Membership.objects.filter(person=person).values_list("workspace", flat=True)
    )
    rows = [row for email in sorted(emails) for row in _list_named(email)]
    return [row for row in rows if row.workspace_id not in workspace_ids]


def find_addressed(person: Person, emails: Collection[str], invitation_id: int) -> Invitation:
    """Return one of the invitations that ``list_addressed`` returns. Raises InvalidLink."""
    for row in list_addressed(person, emails):
        if row.pk == invitation_id:
            return row
    raise InvalidLink(_INVALID_TEXT)


@transaction.atomic
def withdraw_invitation(
    workspace_id: int, invitation_id: int, actor: Actor = OPERATOR
) -> str | None:
    """Remove an invitation into a workspace; returns its name, or None where there is none.

    An invitation that is accepted while this waits for its row counts as none.
    """
    row = Invitation.objects.filter(workspace_id=workspace_id, pk=invitation_id).first()
    if row is None or not row.delete()[0]:
        return None
    record_act(Act.INVITATION_WITHDRAWN, actor, Place(workspace_id), name=row.name)
    return row.name


@transaction.atomic
def decline_invitation(row: Invitation, person: Person) -> None:
    """Remove an invitation that a person does not want. Raises InvalidLink where it was used."""
    if not Invitation.objects.filter(pk=row.pk).delete()[0]:
        raise InvalidLink(_INVALID_TEXT)
    actor, place = Actor.from_person(person), Place(row.workspace_id)
    record_act(Act.INVITATION_DECLINED, actor, place, name=row.name)


@transaction.atomic
def withdraw_all(inviter_id: int, actor: Actor) -> None:
    """Withdraw the invitations of a person that have not expired, each with an entry."""
    rows = Invitation.objects.filter(inviter_id=inviter_id, expires_at__gt=Now()).order_by("pk")
    for workspace_id, key in list(rows.values_list("workspace_id", "pk")):
        withdraw_invitation(workspace_id, key, actor)


@transaction.atomic
def accept_invitation(
    row: Invitation,
    person: Person | None,
    session_key: str | None,
    session_maker_id: int | None = None,
    kept_keys: Collection[str] | None = None,
) -> AcceptedInvitation:
    """Add the signed-in person, or a new person of the invitation's name, as a member.

    ``session_maker_id`` is the other person whose sign-in link led to the session, ``kept_keys``
    what ``identities.remove_credentials`` takes. Raises InvalidLink, and NameTaken where the person
    is a member already or looks like one.
    """
    Workspace.objects.select_for_update().get(pk=row.workspace_id)
    if not Invitation.objects.filter(pk=row.pk).delete()[0]:
        raise InvalidLink("Someone has just used this invitation.")
    is_proven = session_maker_id != row.inviter_id
    if person is None:
        person = _make_account(row.name)
        require_free_name(row.workspace_id, row.name)
        return AcceptedInvitation(person, row.workspace, _add_member(row, person), is_proven)
    require_free_name(row.workspace_id, person.display_name, person_id=person.pk)
    SignInLink.objects.filter(person=person).delete()
    removal = identities.remove_unproven(person.pk, Actor.from_person(person), kept_keys)
    if is_proven:
        ended_session_hashes = sessions.end_all(person.pk, session_key)
    else:
        removed_keys = [credential.key for credential in removal.credentials]
        ended_session_hashes = sessions.end_unproven(person.pk, session_key, removed_keys)
    return AcceptedInvitation(
        person,
        row.workspace,
        _add_member(row, person),
        is_proven,
        ended_session_hashes,
        removal,
    )


@transaction.atomic
def accept_by_email(email: str) -> Person | None:
    """Accept the open invitations whose name is this address; returns the new person.

    None where no invitation has the address. The caller knows that whoever accepts has it. Raises
    NameTaken where a member of a workspace looks like it.
    """
    person = None
    for row in _list_named(email):
        Workspace.objects.select_for_update().get(pk=row.workspace_id)
        if Invitation.objects.filter(pk=row.pk).delete()[0]:
            require_free_name(row.workspace_id, row.name)
            person = person or _make_account(row.name)
            _add_member(row, person)
    return person


def _list_named(email: str) -> list[Invitation]:
    """Return the open invitations whose name is an address, the oldest first."""
    rows = _filter_usable().filter(name__iexact=email).select_related("workspace", "inviter")
    # PostgreSQL compares by UPPER, which makes I of a dotless i (U+0131) as well.
    return [row for row in rows.order_by("pk") if row.name.lower() == email.lower()]


def _add_member(row: Invitation, person: Person) -> Role:
    """Insert the membership; return its role. Groups that wait for the person add theirs to it.

    A group's role counts for a member at once, joined or not, and an owner of the workspace gave
    it. The entry names the group, because the person who invited chose another role.
    """
    role = Role(row.role)
    grouped_roles = member_roles.list_roles([person.pk], [row.workspace_id])
    combined_role = member_roles.combine_roles(role, grouped_roles) or role
    Membership.objects.create(
        person=person, workspace=row.workspace, role=combined_role, direct_role=role
    )
    actor = Actor.from_person(person)
    change = member_roles.make_role_change(role, grouped_roles)
    member_roles.record_membership(Act.MEMBER_ADDED, actor, row.workspace_id, person.pk, change)
    mentions.count_unseen([person.pk])
    return combined_role


def require_free_name(
    workspace_id: int,
    name: str,
    pending_names: list[str] | None = None,
    person_id: int | None = None,
) -> None:
    """Raise NameTaken for a name that looks like that of a member or of a pending invitation."""
    members = Membership.objects.filter(workspace_id=workspace_id).select_related("person")
    people = [membership.person for membership in members]
    if any(membership.pk == person_id for membership in people):
        raise NameTaken("You are already in this workspace.")
    taken_names = [membership.display_name for membership in people]
    check_free_name(name, names.index_by_skeleton([*taken_names, *(pending_names or [])]))


def load_taken_names(workspace_id: int) -> dict[str, str]:
    """Return the names of a workspace's members by skeleton, for many checks; one query."""
    members = Membership.objects.filter(workspace_id=workspace_id).select_related("person")
    return names.index_by_skeleton(member.person.display_name for member in members)


def check_free_name(name: str, taken_names: Mapping[str, str]) -> None:
    """Raise NameTaken for a name that looks like one of those, which are given by skeleton."""
    if (lookalike := taken_names.get(names.make_skeleton(name))) is not None:
        relation = "is" if lookalike == name else f"looks like “{lookalike}”, who is"
        raise NameTaken(f"“{name}” {relation} already in this workspace or invited.")


def _make_account(name: str) -> Person:
    """Return a new account, whose own name does not tell whether another has the person's name."""
    suffix = f"-{secrets.token_hex(4)}"
    account = name[: names.MAX_NAME_CHARACTERS - len(suffix)] + suffix
    return Person.objects.create(username=account, first_name=name)


def _filter_usable() -> QuerySet[Invitation]:
    """Return the invitations that have not expired and whose inviter still owns the workspace."""
    ownerships = Membership.objects.filter(
        person_id=OuterRef("inviter_id"),
        workspace_id=OuterRef("workspace_id"),
        role=Role.OWNER,
        person__is_active=True,
    )
    return Invitation.objects.filter(Exists(ownerships), expires_at__gt=Now())
