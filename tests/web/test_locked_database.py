"""Pages open while the database takes no write; what was sent is answered with what may be so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, RequestFactory
from django.urls import resolve, reverse

from jpweb.store.annotations import threads
from jpweb.store.models import Mention, Person, SavedSearch
from jpweb.store.people.sessions import SessionStore
from jpweb.web.middleware import SessionOutageMiddleware
from tests.web.security.route_rules import ROUTES
from tests.web.test_access import make_address
from tests.web.world import SignIns, World, undone

#: Files that the ledger records before their first byte.
RECORDED_ROUTES = {
    "audit-csv", "audit-jsonl", "audit-evidence", "conversation-evidence", "conversation-export",
    "decisions-csv", "decisions-evidence", "decisions-jsonl", "ledger-csv", "ledger-file",
    "ledger-jsonl", "personal-data", "review-queue-csv", "review-queue-evidence",
    "review-queue-jsonl", "secrets-csv", "secrets-jsonl",
}  # fmt: skip
READ_ROUTES = [name for name, route in ROUTES.items() if route.method == "get"]
WRITE_PATTERN = re.compile(r"(^|; )\s*(INSERT|UPDATE|DELETE)\b")
NOTICE = "No earlier"


def refuse(*_: object, **__: object) -> None:
    raise OperationalError("database is locked")


@contextmanager
def refuse_writes() -> Iterator[None]:
    """Refuse every write, as SQLite does whose lock another program holds."""

    def execute_read(execute: Any, sql: str, *args: Any) -> Any:
        if WRITE_PATTERN.search(sql):
            refuse()
        return execute(sql, *args)

    with connection.execute_wrapper(execute_read):
        yield


def mention_owner(world: World) -> None:
    author = world.people["reader"]
    threads.add_comment(world.conversation, world.anchor, author, "@owner, look")


def test_pages_open_while_nothing_can_be_written(world: World):
    mention_owner(world)
    addresses = {name: make_address(name, world) for name in READ_ROUTES}
    sign_ins = SignIns(world, "owner")
    faults = []
    for name, url in addresses.items():
        with undone(), refuse_writes():
            response = sign_ins.client("owner").get(url, dict(ROUTES[name].data))
        if response.status_code != (503 if name in RECORDED_ROUTES else ROUTES[name].status):
            faults.append(f"{name}: {response.status_code}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("name", ["conversation", "comments"])
def test_mention_that_could_not_be_marked_stays_new(world: World, name: str):
    mention_owner(world)
    client, url = world.client("owner"), make_address(name, world)
    with refuse_writes():
        client.get(url)
    assert Mention.objects.get().seen_at is None
    client.get(url)
    assert Mention.objects.get().seen_at is not None
    assert Person.objects.get(username="owner").unseen_mention_count == 0


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
