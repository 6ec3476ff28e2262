from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from jpweb.store import accounts
from jpweb.store.models import SignInLink
from tests.web.reading import read
from tests.web.world import World, signed_in


def link(world: World, name: str = "reader") -> str:
    return f"/sign-in/{accounts.issue_link(world.people[name])}"


def test_a_link_signs_in_once(world: World):
    url, first, second = link(world), Client(), Client()
    response = first.get(url)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert "Reader" in read(first.get("/")).text
    again = second.get(url)
    assert again.status_code == 403
    assert "not valid" in read(again).one(role="alert").text
    assert second.get("/")["Location"].startswith("/sign-in")


@pytest.mark.parametrize("own", [True, False])
def test_who_is_signed_in_goes_home_with_a_used_link(world: World, own: bool):
    url = link(world)
    Client().get(url)
    client = signed_in(world.people["reader" if own else "owner"])
    response = client.get(url)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert ("Reader" if own else "Owner") in read(client.get("/")).text


def test_a_fresh_link_of_another_person_changes_who_one_is(world: World):
    client = signed_in(world.people["owner"])
    client.get(link(world, "reader"))
    assert "Reader" in read(client.get("/")).text
    assert client.get(f"/workspaces/{world.home.pk}/people").status_code == 403


@pytest.mark.parametrize("token", ["guessed", "x" * 2000, "%00", "ünï"])
def test_a_link_that_nobody_made_is_refused(world: World, token: str):
    assert Client().get(f"/sign-in/{token}").status_code == 403


def test_a_link_grows_old(world: World):
    url = link(world)
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert Client().get(url).status_code == 403


def test_nothing_of_signing_in_is_kept_by_a_browser(world: World):
    for url in ("/sign-in", link(world)):
        assert "no-store" in Client().get(url)["Cache-Control"]


def test_the_page_says_how_to_sign_in_and_nothing_else(world: World):
    page = read(Client().get("/sign-in"))
    assert "link that works once" in page.text
    assert "ws-connect" not in next(tag for tag in page if tag.tag == "body")
    assert world.talk.title not in page.text


def test_signing_out_ends_the_session(world: World):
    client = signed_in(world.people["owner"])
    assert client.post("/sign-out")["Location"] == "/sign-in"
    assert client.get("/")["Location"].startswith("/sign-in")


def test_who_was_made_inactive_is_signed_out(world: World):
    client = signed_in(world.people["owner"])
    world.people["owner"].is_active = False
    world.people["owner"].save()
    assert client.get("/")["Location"].startswith("/sign-in")
    assert Client().get(link(world, "owner")).status_code == 403


def test_the_way_back_is_named_but_never_to_another_site(world: World):
    response = Client().get("/questions?a=1")
    assert response["Location"] == "/sign-in?next=%2Fquestions%3Fa%3D1"
    assert Client().get(link(world) + "?next=//evil.example")["Location"] == "/"
