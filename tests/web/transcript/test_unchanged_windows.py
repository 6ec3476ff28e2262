"""A window that the browser has already is not sent again; anything new in it is."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jpweb.store import journal
from jpweb.stream.events import ChatResponse
from tests.store import making
from tests.web.world import World, signed_in


def get_conversation(client: Client, world: World, etag: str = "", **headers: str) -> Any:
    request_headers = {"Host": "localhost"} | ({"If-None-Match": etag} if etag else {}) | headers
    return client.get(f"/conversations/{world.conversation.pk}", headers=request_headers)


def test_the_same_page_is_not_sent_twice(world: World):
    client = world.client("reader")
    first = get_conversation(client, world)
    second_response = get_conversation(client, world, first["ETag"])
    assert (first.status_code, second_response.status_code, second_response.content) == (
        200,
        304,
        b"",
    )
    assert "Cookie" in first["Vary"]
    assert "HX-Request" in first["Vary"]


@pytest.mark.parametrize("change", ["event", "title", "person", "sign-in"])
def test_a_page_that_changed_is_sent(world: World, change: str):
    client = world.client("reader")
    etag = get_conversation(client, world)["ETag"]
    match change:
        case "event":
            event = making.event(ChatResponse("message", "A word"))
            journal.append_events(world.conversation.pk, [event], world.run)
        case "title":
            type(world.conversation).objects.update(title="Another")
        case "person":
            client = world.client("auditor")
        case _:
            client = signed_in(world.people["reader"])
    assert get_conversation(client, world, etag).status_code == 200
