"""Whoever joins a workspace says which passkeys and identities are theirs; the others end."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.test import Client

from jpweb.store import accounts
from jpweb.store.choices import Role
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import Identity, Passkey, Person, Workspace
from jpweb.store.people import group_members, groups, identities, invitations
from jpweb.store.people.identities import ProvenIdentity
from tests.store import making
from tests.web.reading import parse_page
from tests.web.views.identity.authenticator import Authenticator, add_passkey, at_domain, sign_in
from tests.web.world import World, take_invitation

PROVEN = ProvenIdentity("Company", "https://company.example", "ada", "ada@company.example")


@pytest.fixture
def phone() -> Authenticator:
    """An authenticator of the inviter, with a passkey of the account to which they invited."""
    return Authenticator()


@pytest.fixture
def bob(world: World, phone: Authenticator) -> Person:
    """A person whose invitation the inviter took themselves, to add a passkey."""
    client = at_domain(Client())
    take_invitation(client, invite(world.workspace, world.people["owner"]))
    add_passkey(client, phone, "Olga's phone")
    return Person.objects.get(first_name="Bob")


def invite(workspace: Workspace, inviter: Person) -> str:
    return invitations.create_invitation(workspace, "Bob", Role.READER, inviter)


def open_link(person: Person, maker: Person | None = None) -> Client:
    client = at_domain(Client())
    client.post("/sign-in", {"code": accounts.issue_link(person, maker)})
    return client


def list_names() -> list[str]:
    return list(Passkey.objects.order_by("pk").values_list("name", flat=True))


def test_passkey_of_the_inviter_ends_when_the_person_joins_another(
    world: World, bob: Person, phone: Authenticator
):
    """The owner took the invitation of their own, and later sent the person a link."""
    client = open_link(bob, world.people["owner"])
    response = take_invitation(client, invite(world.other_workspace, world.people["rival"]))
    assert accounts.get_role(bob.pk, world.other_workspace.pk) == Role.READER
    assert "Removed from your account: “Olga's phone”." in parse_page(response).text
    assert list_names() == []
    assert sign_in(at_domain(Client()), phone).status_code == 403


def test_page_preselects_credentials_used_in_this_session(
    world: World, bob: Person, phone: Authenticator
):
    tablet, laptop = Authenticator(), Authenticator()
    add_passkey(open_link(bob), tablet, "Tablet")
    client = at_domain(Client())
    sign_in(client, tablet)
    add_passkey(client, laptop, "Laptop")
    token = invite(world.other_workspace, world.people["rival"])
    offer = parse_page(client.post("/join", {"code": token}))
    boxes = offer.find_all(name="keep")
    assert ["checked" in box for box in boxes] == [False, True, True]
    assert "Keep Olga's phone passkey added" in offer.text
    take_invitation(client, token)
    assert list_names() == ["Tablet", "Laptop"]
    assert sign_in(at_domain(Client()), phone).status_code == 403


def test_refused_offer_keeps_the_ticks_of_the_person(world: World, bob: Person):
    client = open_link(bob)
    token = invite(world.other_workspace, world.people["rival"])
    making.person("b0b", Role.READER, world.other_workspace)
    key = f"passkey:{Passkey.objects.get().pk}"
    for ticks, is_kept in (([key], True), ([], False)):
        response = client.post("/join", {"code": token, "do": "join", "keep": ticks})
        assert response.status_code == 422
        assert ("checked" in parse_page(response).find_one(name="keep")) is is_kept
    assert list_names() == ["Olga's phone"]


def test_identity_that_is_not_kept_ends(
    world: World, bob: Person, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "jpweb.security")
    identities.connect_identity(bob, PROVEN, is_own=True)
    keys = [credential.key for credential in identities.list_credentials(bob.pk)]
    token = invite(world.other_workspace, world.people["rival"])
    page = open_link(bob).post("/join", {"code": token, "do": "join", "keep": keys[:1]})
    assert page["Location"] == "/"
    assert (list_names(), Identity.objects.count()) == (["Olga's phone"], 0)
    assert "passkey or identity removed" in caplog.text


def test_credentials_added_by_anothers_link_cannot_be_kept(world: World, bob: Person):
    Passkey.objects.update(is_own=False)
    token = invite(world.other_workspace, world.people["rival"])
    client = open_link(bob)
    offer = parse_page(client.post("/join", {"code": token}))
    assert not offer.find_all(name="keep")
    assert "Joining removes Olga's phone" in offer.text
    key = f"passkey:{Passkey.objects.get().pk}"
    client.post("/join", {"code": token, "do": "join", "keep": key})
    assert list_names() == []


def test_session_by_a_removed_passkey_ends_where_own_sign_ins_stay(
    world: World, bob: Person, phone: Authenticator
):
    """The maker of the session's link invited, so that sign-ins of the person's own stay."""
    owner, cellar = world.people["owner"], making.workspace("Cellar")
    accounts.make_owner(owner, cellar)
    by_phone, by_operator = at_domain(Client()), open_link(bob)
    sign_in(by_phone, phone)
    take_invitation(open_link(bob, owner), invite(cellar, owner))
    assert by_phone.get("/")["Location"].startswith("/sign-in")
    assert by_operator.get("/").status_code == 200


def test_pending_groups_warn_about_credentials_of_others(world: World, bob: Person):
    owner = world.people["owner"]
    group = groups.create_group("Night shift", owner)
    group_members.add_person(group, bob, Actor.from_person(owner))
    client, warning = open_link(bob), "remove passkeys and identities that aren't yours"
    assert warning in read_account(client)
    client.post("/account/groups/join", {"group": group.pk})
    assert warning not in read_account(client)


def read_account(client: Client) -> Any:
    return parse_page(client.get("/account")).text
