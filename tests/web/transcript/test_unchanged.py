"""A window that the browser has already is not sent again; anything new in it is."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jpweb.store import journal
from jpweb.stream.events import ChatResponse
from tests.store import making
from tests.web.world import World, signed_in


def seen(client: Client, world: World, etag: str = "", **headers: str) -> Any:
    sent = {"Host": "localhost"} | ({"If-None-Match": etag} if etag else {}) | headers
    return client.get(f"/conversations/{world.talk.pk}", headers=sent)


def test_the_same_page_is_not_sent_twice(world: World):
    client = world.client("reader")
    first = seen(client, world)
    again = seen(client, world, first["ETag"])
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    assert "Cookie" in first["Vary"]
    assert "HX-Request" in first["Vary"]


@pytest.mark.parametrize("what", ["event", "title", "person", "sign-in"])
def test_a_page_that_changed_is_sent(world: World, what: str):
    client = world.client("reader")
    etag = seen(client, world)["ETag"]
    match what:
        case "event":
            said = making.event(ChatResponse("message", "A word"))
            journal.append_events(world.talk.pk, [said], world.run)
        case "title":
            type(world.talk).objects.update(title="Another")
        case "person":
            client = world.client("auditor")
        case _:
            client = signed_in(world.people["reader"])
    assert seen(client, world, etag).status_code == 200
