"""People, their roles in a workspace, and one-time sign-in links."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import NamedTuple

from django.contrib.auth import get_user
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from jpweb.store import plain
from jpweb.store.database import clock
from jpweb.store.errors import BadLink, LastOwner
from jpweb.store.models import Membership, Person, SignInLink, Workspace
from jpweb.store.people import sessions
from jpweb.store.people.sessions import SessionStore
from jpweb.store.rows.prepared import Prepared
from jpweb.store.terms import Role

LINK_LIFE = timedelta(days=7)
OWNER = "owner"


def first_owner() -> Person:
    """Return the person that an installation starts with, made on first use."""
    person, _ = Person.objects.get_or_create(username=OWNER, defaults={"first_name": "Owner"})
    return person


def signed_in(session_key: str | None) -> Person | None:
    """Return whose sign-in this session is, as it stands in the database; None where it ended."""
    asking = HttpRequest()
    asking.session = SessionStore(session_key)
    found = get_user(asking)
    return found if isinstance(found, Person) else None


def find_by_name(name: str) -> list[Person]:
    """Return the person with this account name, else the people who are shown by this name."""
    name = plain.text(name)
    there = Person.objects.filter(username=name) or Person.objects.filter(first_name=name)
    return list(there.order_by("username"))


def end_sign_ins(person_id: int) -> list[str]:
    """End all sign-ins of a person and their unused links; returns the hashes of the sign-ins."""
    SignInLink.objects.filter(person_id=person_id, used_at=None).delete()
    return sessions.end_all(person_id)


@transaction.atomic
def make_owner(person: Person, home: Workspace) -> None:
    """Make a person owner of a workspace that nobody owns; change nothing where somebody does.

    Links and sign-ins that others made for the person end with it: they would reach further.
    """
    if not Membership.objects.filter(workspace=home, role=Role.OWNER).exists():
        Membership.objects.update_or_create(
            person=person, workspace=home, defaults={"role": Role.OWNER}
        )
        others = SignInLink.objects.filter(person=person, maker__isnull=False)
        others.exclude(maker=person).delete()
        sessions.end_made_by_others(person.pk)


class UsedLink(NamedTuple):
    """Whose sign-in link it was, and the person who made it; None: the operator did."""

    person: Person
    maker_id: int | None


def issue_link(person: Person, maker: Person | None = None) -> str:
    """Return the token of a new one-time link; only its hash is kept.

    ``maker`` is the person who makes it; None stands for the operator.
    """
    token = secrets.token_urlsafe(32)
    SignInLink.objects.create(
        person=person,
        maker=maker,
        token_hash=_hash(token),
        expires_at=clock.now() + LINK_LIFE,
    )
    return token


def use_link(token: str) -> UsedLink:
    """Use a link up. Raises BadLink.

    A link that another person made counts only while that person may make it.
    """
    now = clock.now()
    fresh = SignInLink.objects.filter(
        token_hash=_hash(token), used_at=None, expires_at__gt=now, person__is_active=True
    )
    link = fresh.select_related("person").first()
    if link is None or not _still_counts(link) or not _use_up(link):
        raise BadLink("This sign-in link is invalid: it is used, expired or incomplete.")
    return UsedLink(link.person, link.maker_id)


def _still_counts(link: SignInLink) -> bool:
    if link.maker_id is None or link.maker_id == link.person_id:
        return True
    return may_link(link.maker_id, link.person)


def _use_up(link: SignInLink) -> bool:
    # By the row's own columns alone: PostgreSQL does not look at a joined table again.
    unused = SignInLink.objects.filter(pk=link.pk, used_at=None)
    return bool(unused.update(used_at=clock.now()))


def may_link(owner_id: int, person: Person) -> bool:
    """Tell whether an owner may sign somebody in: only one who is in no workspace but theirs.

    Otherwise an owner of one workspace could enter another in the name of its members.
    """
    own = Membership.objects.filter(
        person_id=owner_id, role=Role.OWNER, person__is_active=True
    ).values("workspace_id")
    return not Membership.objects.filter(person=person).exclude(workspace_id__in=own).exists()


def role_in(person_id: int, workspace_id: int) -> Role | None:
    """Return a person's role in a workspace, or None for an outsider."""
    found = _roles([person_id], [workspace_id])
    return Role(found[0][0]) if found else None


_roles = Prepared(
    lambda people, places: Membership.objects.filter(
        person_id__in=people, workspace_id__in=places
    ).values_list("role")
)


def roles(person_id: int) -> dict[int, Role]:
    """Return a person's role in each workspace, by its key."""
    found = Membership.objects.filter(person_id=person_id)
    return {key: Role(role) for key, role in found.values_list("workspace_id", "role")}


def workspaces(person_id: int, role: Role) -> list[Workspace]:
    """Return the workspaces in which a person has at least this role, by name."""
    found = Workspace.objects.filter(memberships__person_id=person_id, memberships__role__gte=role)
    return list(found.order_by("name", "id"))


def workspace(workspace_id: int) -> Workspace:
    """Return a workspace that is known to exist."""
    return Workspace.objects.get(pk=workspace_id)


def members(workspace_id: int) -> QuerySet[Membership]:
    """Return who is in a workspace, the highest role first."""
    found = Membership.objects.filter(workspace_id=workspace_id).select_related("person")
    return found.order_by("-role", "person__username")


def membership(membership_id: int) -> Membership | None:
    """Return a membership with its person and workspace."""
    found = Membership.objects.select_related("person", "workspace")
    return found.filter(pk=membership_id).first()


@transaction.atomic
def change_role(member: Membership, role: Role) -> None:
    """Give a member another role. Raises LastOwner."""
    _keep_an_owner(member, role)
    Membership.objects.filter(pk=member.pk).update(role=role)


@transaction.atomic
def remove(member: Membership) -> None:
    """Take a person out of a workspace; what they did stays on record. Raises LastOwner."""
    _keep_an_owner(member, None)
    member.delete()


def _keep_an_owner(member: Membership, role: Role | None) -> None:
    owners = Membership.objects.select_for_update().filter(
        workspace_id=member.workspace_id, role=Role.OWNER
    )
    if role != Role.OWNER and {m.pk for m in owners} == {member.pk}:
        raise LastOwner("A workspace needs at least one owner. Make someone else an owner first.")


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
