"""Pages open while the database takes no write; what was sent is answered with what may be so."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, RequestFactory
from django.urls import resolve, reverse

from jpweb.store.models import SavedSearch
from jpweb.store.people.sessions import SessionStore
from jpweb.web.middleware import SessionOutageMiddleware
from tests.web.world import World

NOTICE = "No earlier"


def refuse(*_: object, **__: object) -> None:
    raise OperationalError("database is locked")


def make_step_url(world: World) -> str:
    """Return the address of a step that leads nowhere, which leaves a notice."""
    url = reverse("conversation-step", args=[world.conversation.pk])
    return f"{url}?what=item&to=previous&from=0"


def test_notice_whose_removal_could_not_be_saved_is_shown_again(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    client = world.client("reader")
    assert client.get(make_step_url(world)).status_code == 302
    with monkeypatch.context() as patch:
        patch.setattr(SessionStore, "save", refuse)
        assert NOTICE in client.get("/conversations").text
    assert NOTICE in client.get("/conversations").text
    assert NOTICE not in client.get("/conversations").text


async def test_notice_that_could_not_be_saved_is_left_out(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    client = AsyncClient()
    await client.aforce_login(shared_world.people["reader"])
    monkeypatch.setattr(SessionStore, "save", refuse)
    response = await client.get(make_step_url(shared_world))
    assert response.status_code == 302
    assert NOTICE not in (await client.get("/conversations")).content.decode()


def test_form_whose_session_cannot_be_saved_is_503_and_may_be_saved(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    client = world.client("reader")
    monkeypatch.setattr(SessionStore, "save", refuse)
    response = client.post("/search/save", {"query": "q=hello", "name": "Mine"})
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert response["Cache-Control"] == "private, no-store"
    assert "Database locked" in response.text
    assert "may not have been saved" in response.text
    assert SavedSearch.objects.count() == 1


def test_sign_in_that_cannot_be_saved_is_503(db: None, monkeypatch: pytest.MonkeyPatch):
    def sign_in(request: HttpRequest) -> HttpResponse:
        request.session["person"] = 1
        return HttpResponse()

    path = reverse("sign-on-callback", args=["any"])
    request = RequestFactory().get(path)
    request.resolver_match = resolve(path)
    monkeypatch.setattr(SessionStore, "save", refuse)
    response = SessionOutageMiddleware(sign_in)(request)
    assert isinstance(response, HttpResponse)
    assert response.status_code == 503


def test_session_that_breaks_otherwise_is_no_outage(world: World, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    client = world.client("reader")
    monkeypatch.setattr(SessionStore, "save", fail)
    with pytest.raises(ZeroDivisionError):
        client.get(make_step_url(world))
