"""Deactivation of the account of a person who left, and its reactivation; by the operator.

``Person.is_active`` is what access rules, notifications, and the lists of people who can own,
answer, review or be mentioned read. Roles, groups, answers and trust stay on record, and the name
stays taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.errors import LastOwner
from jpweb.store.inbox import claims
from jpweb.store.ledger.entries import OPERATOR, Actor, NewAct, Place, record_acts
from jpweb.store.models import DEMO_ROOT, Membership, Person, SignInLink, Workspace
from jpweb.store.people import invitations, member_roles, sessions


class Deactivation(NamedTuple):
    """How a person was deactivated; ``is_new`` is False for one who was before.

    ``ownerless`` are the workspaces that have no owner but the person, except the demo, and
    ``has_new_owner`` whether they got one.
    """

    is_new: bool
    ended_sign_in_count: int
    ownerless: Sequence[Workspace]
    has_new_owner: bool


@transaction.atomic
def deactivate_person(
    person: Person, new_owner: Person | None = None, *, may_leave_ownerless: bool = False
) -> Deactivation:
    """Deactivate a person, and make another one owner where the person was the only one.

    Raises LastOwner for workspaces that would have no owner, unless that is allowed, NameTaken
    for a new owner whose name looks like that of a member, and InactivePerson for one who is
    deactivated.
    """
    workspace_ids = _lock_workspaces(person.pk)
    active_person = Person.objects.filter(pk=person.pk, is_active=True)
    is_new = bool(active_person.update(is_active=False))
    ownerless_rows = _list_ownerless(person.pk)
    if is_new and ownerless_rows and new_owner is None and not may_leave_ownerless:
        raise LastOwner(f"{_join_names(ownerless_rows)} would have no owner.")
    count = 0
    if is_new:
        count = _end_activity(person, OPERATOR)
        _record(Act.PERSON_DEACTIVATED, person, workspace_ids)
    if new_owner is not None:
        _appoint_owner(new_owner, ownerless_rows)
    return Deactivation(is_new, count, ownerless_rows, new_owner is not None)


@transaction.atomic
def reactivate_person(person: Person) -> bool:
    """Restore the account of a deactivated person; returns whether it was deactivated.

    Links and sign-ins that a request wrote while the person was being deactivated end.
    """
    workspace_ids = _lock_workspaces(person.pk)
    if not Person.objects.filter(pk=person.pk, is_active=False).update(is_active=True):
        return False
    accounts.delete_unused_links(person.pk)
    sessions.end_all(person.pk)
    _record(Act.PERSON_REACTIVATED, person, workspace_ids)
    return True


def _lock_workspaces(person_id: int) -> list[int]:
    """Lock the workspaces of a person, as changes of their owners do; return the keys."""
    keys = Membership.objects.filter(person_id=person_id).values("workspace_id")
    rows = Workspace.objects.select_for_update().filter(pk__in=keys).order_by("pk")
    return [row.pk for row in rows]


def _list_ownerless(person_id: int) -> list[Workspace]:
    """Return the workspaces that a deactivated person owns and nobody else does, by name.

    The demo may stay without an owner: nothing in it can be changed.
    """
    other_owners = member_roles.list_active_owners().filter(workspace_id=OuterRef("pk"))
    rows = Workspace.objects.filter(
        ~Exists(other_owners), memberships__person_id=person_id, memberships__role=Role.OWNER
    )
    return list(rows.exclude(root=DEMO_ROOT).order_by("name", "pk"))


def _end_activity(person: Person, actor: Actor) -> int:
    """End a person's sign-ins, claims and runs; return the number of sign-ins."""
    ended_session_hashes = accounts.end_sign_ins(person.pk, actor)
    SignInLink.objects.filter(maker=person, used_at=None).delete()
    claims.release_all(person, actor)
    member_roles.end_review_work(person.pk, actor)
    invitations.withdraw_all(person.pk, actor)
    return len(ended_session_hashes)


def _appoint_owner(new_owner: Person, workspaces: Sequence[Workspace]) -> None:
    new_owner.refresh_from_db(fields=["is_active"])
    accounts.require_active(new_owner)
    for workspace in workspaces:
        if not Membership.objects.filter(workspace=workspace, person=new_owner).exists():
            invitations.require_free_name(workspace.pk, new_owner.display_name)
        accounts.make_owner(new_owner, workspace, OPERATOR)


def _record(act: Act, person: Person, workspace_ids: Sequence[int]) -> None:
    """Record an act for those who audit a workspace of the person, with an entry in each."""
    recorded_ids: Sequence[int | None] = workspace_ids or [None]
    record_acts(
        NewAct(
            act,
            OPERATOR,
            Place(workspace_id, subject=f"person:{person.pk}"),
            {"person": person.display_name},
        )
        for workspace_id in recorded_ids
    )


def _join_names(workspaces: Sequence[Workspace]) -> str:
    return ", ".join(workspace.name for workspace in workspaces)
