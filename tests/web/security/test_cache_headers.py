"""What browsers keep of pages: nothing, or what they ask about and can be told to drop."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jpweb.store import accounts
from jpweb.store.models import Person, SignIn
from tests.web.security.route_rules import ROUTES
from tests.web.test_access import make_address
from tests.web.world import World, signed_in


def test_private_pages_are_not_cacheable(world: World):
    client = world.client("owner")
    for name, route in ROUTES.items():
        if route.method == "get" and name not in ("sign-in", "join"):
            response = client.get(make_address(name, world))
            assert "no-store" in response["Cache-Control"], (name, response["Cache-Control"])
            assert "private" in response["Cache-Control"], name
            assert "ETag" not in response, name


@pytest.mark.parametrize(
    ("headers", "cache_control"),
    [
        ({"host": "localhost"}, "private, no-cache"),
        ({"host": "127.0.0.1:8000"}, "private, no-cache"),
        ({"host": "testserver"}, "private, no-store"),
        ({"host": "testserver", "x-forwarded-proto": "https"}, "private, no-cache"),
    ],
)
def test_transcript_window_is_cached_when_clear_site_data_is_supported(
    world: World, settings: Any, headers: dict[str, str], cache_control: str
):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    response = world.client("reader").get(make_address("conversation", world), headers=headers)
    assert response["Cache-Control"] == cache_control
    assert ("ETag" in response) is ("no-cache" in cache_control)


def _end_sign_ins(person: Person) -> None:
    SignIn.objects.filter(person=person).delete()


def _deactivate(person: Person) -> None:
    Person.objects.filter(pk=person.pk).update(is_active=False)


@pytest.mark.parametrize("change", [_end_sign_ins, _deactivate, lambda _: None])
def test_sign_in_after_another_person_clears_the_cache(world: World, change: Any):
    client = world.client("owner")
    change(world.people["owner"])
    response = client.post("/sign-in", {"code": accounts.issue_link(world.people["reader"])})
    assert response["Clear-Site-Data"] == '"cache"'
    assert "Clear-Site-Data" not in client.get("/")


def test_sign_in_page_clears_the_cache_with_the_cookie_of_an_ended_session(world: World):
    client = world.client("owner")
    _end_sign_ins(world.people["owner"])
    response = client.get("/sign-in")
    assert response["Clear-Site-Data"] == '"cache"'
    assert not response.cookies["jpweb_session"].value


def test_sign_in_of_the_same_person_or_a_new_browser_clears_nothing(world: World):
    reader = world.people["reader"]
    for client in (Client(), signed_in(reader)):
        response = client.post("/sign-in", {"code": accounts.issue_link(reader)})
        assert (response["Location"], "Clear-Site-Data" in response) == ("/", False)
        assert "Clear-Site-Data" not in client.get("/")
