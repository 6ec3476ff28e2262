"""Second factors and sign-ins that another person's link may have led to."""

from __future__ import annotations

import pytest
from django.test import Client

from jpweb.store import accounts
from jpweb.store.choices import Role
from jpweb.store.database import clock
from jpweb.store.models import Passkey, Person, SecondFactor
from jpweb.store.people import invitations, second_factors, totp
from tests.web.reading import parse_page
from tests.web.views.identity.authenticator import Authenticator, add_passkey, at_domain
from tests.web.world import World, take_invitation

PAGE = "/account/second-factor"


def open_link(person: Person, maker: Person | None = None) -> Client:
    client = at_domain(Client())
    client.post("/sign-in", {"code": accounts.issue_link(person, maker)})
    return client


def make_code(person: Person) -> str:
    secret = totp.open_secret(SecondFactor.objects.get().sealed_secret, person.pk)
    assert secret
    return totp.compute_code(secret, int(clock.get_timestamp()) // totp.STEP_SECONDS)


def set_up(client: Client, person: Person) -> str:
    """Turn a factor on in a browser; return the text of the page with the recovery codes."""
    client.post(f"{PAGE}/start")
    return parse_page(client.post(f"{PAGE}/confirm", {"code": make_code(person)})).text


@pytest.fixture
def ada(world: World) -> Person:
    return world.people["reader"]


@pytest.mark.parametrize("is_by_owner", [True, False])
def test_factor_that_anothers_link_led_to_ends_on_joining(
    world: World, ada: Person, is_by_owner: bool
):
    """Otherwise every link of the person asks for a code of the owner's app."""
    client = open_link(ada)
    set_up(open_link(ada, world.people["owner"]) if is_by_owner else client, ada)
    assert second_factors.find_factor(ada.pk)
    token = invitations.create_invitation(
        world.other_workspace, "New", Role.READER, world.people["rival"]
    )
    offer = parse_page(client.post("/join", {"code": token})).text
    assert ("Joining turns your second factor off" in offer) is is_by_owner
    page = parse_page(take_invitation(client, token)).text
    assert ("Your second factor is off" in page) is is_by_owner
    assert (second_factors.find_factor(ada.pk) is None) is is_by_owner


def test_factor_that_anothers_link_led_to_ends_where_a_group_admits(world: World, ada: Person):
    set_up(open_link(ada, world.people["owner"]), ada)
    world.join_elsewhere("reader")
    assert second_factors.find_factor(ada.pk) is None


def test_second_factor_setup_ends_sign_ins_by_anothers_link(world: World, ada: Person):
    """Neither a live session nor a passkey asks for a code."""
    owner_client, own_client = open_link(ada, world.people["owner"]), open_link(ada)
    add_passkey(owner_client, Authenticator(), "Olga's phone")
    add_passkey(own_client, Authenticator(), "Phone")
    page = set_up(own_client, ada)
    assert "The sign-ins that someone else's link began have ended." in page
    assert "Removed from your account: “Olga's phone”." in page
    assert owner_client.get("/")["Location"].startswith("/sign-in")
    assert own_client.get("/").status_code == 200
    assert Passkey.objects.get().name == "Phone"


def test_second_factor_setup_without_sign_ins_of_others_is_confirmed(ada: Person):
    page = set_up(open_link(ada), ada)
    assert "Your sign-in links now also ask for a code." in page
    assert "have ended" not in page
    assert "Removed from" not in page


def test_setup_of_an_own_session_is_not_shown_to_anothers(world: World, ada: Person):
    """The owner would learn the secret of an app before the person confirms it."""
    own_client, owner_client = open_link(ada), open_link(ada, world.people["owner"])
    own_client.post(f"{PAGE}/start")
    assert owner_client.post(f"{PAGE}/confirm", {"code": "000000"})["Location"] == PAGE
    assert "is turned off when you join" in parse_page(owner_client.get(PAGE)).text
    assert "is turned off when you join" not in parse_page(own_client.get(PAGE)).text
    own_client.post(f"{PAGE}/confirm", {"code": make_code(ada)})
    assert second_factors.find_factor(ada.pk)
