"""Identities and passkeys that another person's link may have led to end on joining."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from jpweb.identity_providers import IdentityProvider
from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import Identity, LedgerEntry, Passkey, Person, Workspace
from jpweb.store.people import group_members, groups, identities, invitations, passkeys
from jpweb.store.people.identities import ProvenIdentity
from jpweb.store.people.passkeys import NewCredential
from tests.store import making

pytestmark = pytest.mark.django_db

COMPANY = IdentityProvider("company", "Company", "https://company.example", "jpweb", "s")


def join_by_group(person: Person, workspace: Workspace, owner: Person) -> None:
    actor = Actor.from_person(owner)
    group = groups.create_group("Day shift", owner)
    groups.give_role(group, workspace, Role.READER, actor)
    group_members.add_person(group, person, actor)
    group_members.accept_group(group.members.get(), person)


def join_by_invitation(person: Person, workspace: Workspace, owner: Person) -> None:
    token = invitations.create_invitation(workspace, "New", Role.READER, owner)
    invitations.accept_invitation(invitations.find_invitation(token), person, None)


def join_as_owner(person: Person, workspace: Workspace, owner: Person) -> None:
    owner.memberships.all().delete()
    accounts.make_owner(person, workspace)


@pytest.mark.parametrize(
    ("join", "actor"),
    [
        (join_by_group, {"kind": "person", "name": "Ada"}),
        (join_by_invitation, {"kind": "person", "name": "Ada"}),
        (join_as_owner, {"kind": "operator"}),
    ],
)
def test_passkey_and_identity_that_end_on_joining_are_in_the_ledger(
    workspace: Workspace, settings: Any, join: Callable[..., None], actor: dict[str, str]
):
    settings.OIDC_PROVIDERS = {"company": COMPANY}
    ada = making.person("ada", Role.READER, workspace)
    for name, is_own in (("Foreign", False), ("Own", True)):
        credential = NewCredential(name.encode(), b"data", 0, "handle")
        passkeys.add_passkey(ada, credential, name, is_own=is_own)
        proven = ProvenIdentity("Company", COMPANY.url, name, "")
        identities.connect_identity(ada, proven, is_own=is_own)
    orchard = making.workspace("Orchard")
    join(ada, orchard, making.person("olga", Role.OWNER, orchard))
    assert [passkey.name for passkey in Passkey.objects.all()] == ["Own"]
    assert [identity.subject for identity in Identity.objects.all()] == ["Own"]
    for act, details in (
        (Act.PASSKEY_REMOVED, {"passkey": "Foreign"}),
        (Act.IDENTITY_DISCONNECTED, {"provider": "Company"}),
    ):
        entry = LedgerEntry.objects.get(act=act)
        content = json.loads(entry.text)
        assert (entry.subject, content["details"]) == (f"person:{ada.pk}", details)
        assert actor.items() <= content["by"].items()
