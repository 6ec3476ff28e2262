"""Who made the links that led to passkeys, identities and sessions of before migration 0038."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.contrib.auth import SESSION_KEY
from django.db import connection
from django.db.models import F

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import (
    Identity,
    LedgerEntry,
    Membership,
    Passkey,
    Person,
    SignIn,
    SignInLink,
    Workspace,
)
from jpweb.store.people import group_members, groups, identities, invitations, passkeys, sessions
from jpweb.store.people.identities import ProvenIdentity
from jpweb.store.people.passkeys import NewCredential
from jpweb.store.people.sessions import SessionStore
from tests.store import making

pytestmark = pytest.mark.django_db

PROVEN = ProvenIdentity("Company", "https://company.example", "ada", "")


@pytest.fixture
def owner(workspace: Workspace) -> Person:
    return making.person("owner", Role.OWNER, workspace)


@pytest.fixture
def ada(workspace: Workspace) -> Person:
    return making.person("ada", Role.READER, workspace)


def migrate() -> None:
    migration = importlib.import_module("jpweb.store.migrations.0038_makers_of_passkeys")
    migration.note_makers(apps, SimpleNamespace(connection=connection))


def add_passkey(person: Person, *, is_own: bool = False) -> Passkey:
    credential = NewCredential(str(is_own).encode(), b"data", 0, "handle")
    return passkeys.add_passkey(person, credential, "Phone", is_own=is_own)


def begin(person: Person, **way: str) -> str:
    """Begin a session by a way as the ledger names it; return the hash of its key."""
    store = SessionStore()
    store[SESSION_KEY] = str(person.pk)
    store.save()
    record_act(Act.SIGNED_IN, Actor.from_person(person), Place(), **way)
    return sessions.hash_key(store.session_key or "")


def join_by_invitation(person: Person) -> None:
    workspace = making.workspace("Orchard")
    inviter = making.person("olga", Role.OWNER, workspace)
    token = invitations.create_invitation(workspace, "Ada", Role.READER, inviter)
    invitations.accept_invitation(invitations.find_invitation(token), person, None)


def join_by_own_group(person: Person) -> None:
    """Have an owner of another workspace join it by a group, which is their own act, too."""
    workspace, actor = making.workspace("Orchard"), Actor.from_person(person)
    for owner in (person, making.person("co-owner")):
        Membership.objects.create(person=owner, workspace=workspace, role=Role.OWNER)
    group = groups.create_group("Day shift", person)
    groups.give_role(group, workspace, Role.READER, actor)
    group_members.add_person(group, person, actor)


def test_identity_connected_again_in_an_own_session_has_no_maker(ada: Person, owner: Person):
    identities.connect_identity(ada, PROVEN, is_own=False, maker_id=owner.pk)
    assert Identity.objects.get().maker == owner
    identities.connect_identity(ada, PROVEN, is_own=True)
    assert Identity.objects.get().maker is None


def test_migration_notes_the_last_other_maker_of_a_link(ada: Person, owner: Person):
    accounts.issue_link(ada)
    accounts.issue_link(ada, maker=owner)
    accounts.issue_link(ada, maker=ada)
    add_passkey(ada)
    add_passkey(ada, is_own=True)
    identities.connect_identity(ada, PROVEN, is_own=False)
    accounts.issue_link(ada, maker=making.person("late"))
    migrate()
    assert list(Passkey.objects.order_by("pk").values_list("maker", flat=True)) == [owner.pk, None]
    assert Identity.objects.get().maker == owner


def test_migration_notes_no_maker_where_no_other_made_a_link(ada: Person, owner: Person):
    accounts.issue_link(owner, maker=ada)
    accounts.issue_link(ada)
    token = accounts.issue_link(ada, maker=ada)
    add_passkey(ada)
    begin(ada, passkey="Phone")
    migrate()
    assert Passkey.objects.get().maker is None
    assert SignIn.objects.count() == 1
    assert accounts.use_link(token).maker_id == ada.pk


@pytest.mark.parametrize(
    ("join", "is_by_other"), [(join_by_invitation, False), (join_by_own_group, True)]
)
def test_migration_counts_links_since_the_last_invitation(
    ada: Person, owner: Person, join: Callable[[Person], None], is_by_other: bool
):
    accounts.issue_link(ada, maker=owner)
    join(ada)
    add_passkey(ada)
    migrate()
    assert Passkey.objects.get().maker == (owner if is_by_other else None)


def test_migration_ends_sessions_that_anothers_passkey_may_have_begun(ada: Person, owner: Person):
    accounts.issue_link(ada, maker=owner)
    by_link = begin(ada, link_maker=str(ada.pk))
    SignIn.objects.update(began_at=F("began_at") - timedelta(minutes=1))
    LedgerEntry.objects.update(at=F("at") - timedelta(minutes=1))
    begin(ada, passkey="Phone")
    own_session = begin(owner, passkey="Phone")
    migrate()
    assert {row.pk for row in SignIn.objects.all()} == {by_link, own_session}


def test_migration_counts_unused_links_as_the_other_persons(ada: Person, owner: Person):
    accounts.issue_link(ada, maker=owner)
    token = accounts.issue_link(ada, maker=ada)
    migrate()
    assert accounts.use_link(token).maker_id == owner.pk
    assert not SignInLink.objects.filter(maker=ada).exists()
