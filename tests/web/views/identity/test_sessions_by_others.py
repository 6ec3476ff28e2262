"""A session that another person's link began stays one, whoever invites the person into it.

The link's maker may have a second account, which invites.
"""

from __future__ import annotations

import pytest
from django.test import Client

from jpweb.store import accounts
from jpweb.store.choices import Role
from jpweb.store.models import Passkey, Person, SignInLink
from jpweb.store.people import invitations
from tests.store import making
from tests.web.reading import parse_page
from tests.web.views.identity.authenticator import Authenticator, add_passkey, at_domain
from tests.web.world import World, take_invitation

OWN_SIGN_IN_HINT = "ask the operator to run jpweb sign_in_link"


@pytest.fixture
def olga(world: World) -> Person:
    """An owner who makes links for the others; ``rival`` is her second account."""
    return making.person("olga", Role.OWNER, world.workspace)


@pytest.fixture
def client(world: World, olga: Person) -> Client:
    """The first person's session, which Olga's link began."""
    client = at_domain(Client())
    client.post("/sign-in", {"code": accounts.issue_link(world.people["owner"], olga)})
    return client


def join_elsewhere(world: World, client: Client) -> str:
    """Take an invitation by the second account; return the text of the page that follows."""
    rival = world.people["rival"]
    token = invitations.create_invitation(world.other_workspace, "New", Role.READER, rival)
    return parse_page(take_invitation(client, token)).text


def test_invitation_by_a_second_account_leaves_the_session_anothers(world: World, client: Client):
    assert client.get("/workspaces/add").status_code == 403
    page = join_elsewhere(world, client)
    assert "You joined Elsewhere as Reader." in page
    assert OWN_SIGN_IN_HINT in page
    assert client.get("/workspaces/add").status_code == 403
    add_passkey(client, Authenticator())
    assert not Passkey.objects.get().is_own
    assert "(by someone else's link)" in parse_page(client.get("/account")).text


def test_invitation_in_an_own_session_says_nothing_of_links(world: World):
    client = at_domain(Client())
    client.post("/sign-in", {"code": accounts.issue_link(world.people["owner"])})
    page = join_elsewhere(world, client)
    assert "You joined Elsewhere as Reader." in page
    assert OWN_SIGN_IN_HINT not in page
    assert client.get("/workspaces/add").status_code == 200
    add_passkey(client, Authenticator())
    assert Passkey.objects.get().is_own


def test_link_that_would_not_work_is_refused_with_another_way(world: World, client: Client):
    """The link's maker does not own the workspace that the person joined."""
    assert client.post("/account/link").status_code == 200
    join_elsewhere(world, client)
    response = client.post("/account/link")
    assert response.status_code == 422
    assert OWN_SIGN_IN_HINT in parse_page(response).find_one(role="alert").text
    assert not SignInLink.objects.filter(used_at=None).exists()
