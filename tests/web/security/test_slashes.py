"""An address with a slash at its end leads to the page without it."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.web.world import World, signed_in

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/conversations/", "/conversations"),
        ("/audit//", "/audit"),
        ("/search/?q=a&sort=best", "/search?q=a&sort=best"),
    ],
)
def test_a_slash_at_the_end_is_left_out(world: World, path: str, location: str):
    response = signed_in(world.people["auditor"]).get(path)
    assert (response.status_code, response["Location"]) == (302, location)


@pytest.mark.parametrize(
    "path", ["/nothing/", "//conversations/", "//evil.example/", "/conversations/1/2/"]
)
def test_trailing_slash_of_unknown_paths_returns_404(world: World, path: str):
    # As the server gets it: the client would take what follows two slashes for a host.
    response = signed_in(world.people["auditor"]).get("/", PATH_INFO=path)
    assert response.status_code == 404


def test_a_form_is_not_sent_elsewhere(world: World):
    assert signed_in(world.people["auditor"]).post("/conversations/").status_code == 404


def test_a_stranger_signs_in_first():
    response = Client().get("/conversations/", follow=True)
    assert [status for _, status in response.redirect_chain] == [302, 302]
    assert response.redirect_chain[-1][0].startswith("/sign-in")
