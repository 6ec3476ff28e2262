"""Invitations: an owner offers a role; a person takes it by the link, and nobody joins otherwise.

An invitation names no account, so an owner does not learn which accounts exist. Taking one ends
every other sign-in and link of the account: its earlier links were made by owners of elsewhere.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from jpweb.store.errors import BadLink, NameTaken, TooManyLinks
from jpweb.store.models import Invitation, Membership, Person, SignInLink, Workspace
from jpweb.store.people import names, sessions
from jpweb.store.terms import Role

LIFETIME = timedelta(days=7)
#: Links of both sorts that one person makes in an hour.
MAX_LINKS_PER_HOUR = 200


@dataclass(frozen=True, slots=True)
class Joined:
    """A person who took an invitation; ``ended`` are the hashes of their other sign-ins."""

    person: Person
    workspace: Workspace
    role: Role
    ended: list[str] = field(default_factory=list)


@transaction.atomic
def invite(workspace: Workspace, name: str, role: Role, inviter: Person) -> str:
    """Return the token of a new invitation. Raises BadName, NameTaken, TooManyLinks.

    The answer is the same whether an account of that name exists elsewhere or not.
    """
    name = names.check_name(name)
    check_link_rate(inviter.pk)
    Workspace.objects.select_for_update().get(pk=workspace.pk)
    pending = [row.name for row in list_pending(workspace.pk)]
    _check_free(workspace.pk, name, pending)
    token = secrets.token_urlsafe(32)
    Invitation.objects.create(
        workspace=workspace,
        name=name,
        role=role,
        inviter=inviter,
        token_hash=_hash(token),
        expires_at=Now() + LIFETIME,
    )
    return token


def check_link_rate(person_id: int) -> None:
    """Raise TooManyLinks for a person who made many invitations and sign-in links just now."""
    recent = {"created_at__gt": Now() - timedelta(hours=1)}
    made = Invitation.objects.filter(inviter_id=person_id, **recent).count()
    made += SignInLink.objects.filter(maker_id=person_id, **recent).count()
    if made >= MAX_LINKS_PER_HOUR:
        raise TooManyLinks(
            f"You created {MAX_LINKS_PER_HOUR} links within an hour. Try again later."
        )


def list_pending(workspace_id: int) -> QuerySet[Invitation]:
    """Return the invitations into a workspace that can still be taken, by name."""
    return _usable().filter(workspace_id=workspace_id).order_by("name", "pk")


def find(token: str) -> Invitation:
    """Return an invitation, which this does not use up. Raises BadLink."""
    row = _usable().select_related("workspace").filter(token_hash=_hash(token)).first()
    if row is None:
        raise BadLink("This invitation is invalid: it is used, withdrawn, expired or incomplete.")
    return row


def withdraw(workspace_id: int, invitation_id: int) -> str | None:
    """Remove an invitation into a workspace; returns its name, or None where there is none."""
    row = Invitation.objects.filter(workspace_id=workspace_id, pk=invitation_id).first()
    if row is None:
        return None
    row.delete()
    return row.name


@transaction.atomic
def take(token: str, person: Person | None, session_key: str | None) -> Joined:
    """Let the signed-in person join, or a new person of the invitation's name.

    Raises BadLink, and NameTaken where the person is a member already or looks like one.
    """
    row = find(token)
    Workspace.objects.select_for_update().get(pk=row.workspace_id)
    if not Invitation.objects.filter(pk=row.pk).delete()[0]:
        raise BadLink("Someone has just used this invitation.")
    if person is None:
        person, ended = _make_account(row.name), []
        _check_free(row.workspace_id, row.name)
    else:
        _check_free(row.workspace_id, person.display_name, person_id=person.pk)
        SignInLink.objects.filter(person=person).delete()
        ended = sessions.end_all(person.pk, but_key=session_key)
    Membership.objects.create(person=person, workspace=row.workspace, role=row.role)
    return Joined(person, row.workspace, Role(row.role), ended)


def _check_free(
    workspace_id: int, name: str, pending: list[str] | None = None, person_id: int | None = None
) -> None:
    """Raise NameTaken for a name that looks like that of a member or of a pending invitation."""
    members = Membership.objects.filter(workspace_id=workspace_id).select_related("person")
    there = [each.person for each in members]
    if any(each.pk == person_id for each in there):
        raise NameTaken("You are already in this workspace.")
    taken = [each.display_name for each in there]
    if (other := names.find_lookalike(name, [*taken, *(pending or [])])) is not None:
        alike = "is" if other == name else f"looks like “{other}”, who is"
        raise NameTaken(f"“{name}” {alike} already in this workspace or invited.")


def _make_account(name: str) -> Person:
    """Return a new account, whose own name does not tell whether another has the person's name."""
    suffix = f"-{secrets.token_hex(4)}"
    account = name[: names.MAX_NAME_CHARACTERS - len(suffix)] + suffix
    return Person.objects.create(username=account, first_name=name)


def _usable() -> QuerySet[Invitation]:
    """Return the invitations that have not expired and whose inviter still owns the workspace."""
    owns = Membership.objects.filter(
        person_id=OuterRef("inviter_id"),
        workspace_id=OuterRef("workspace_id"),
        role=Role.OWNER,
        person__is_active=True,
    )
    return Invitation.objects.filter(Exists(owns), expires_at__gt=Now())


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
