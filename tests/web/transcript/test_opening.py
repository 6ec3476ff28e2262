"""Whose pages may open a socket, and until when it is theirs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator

from jpweb.asgi import application
from jpweb.runtime.crossing import in_store
from jpweb.store import accounts
from tests.web.sockets import line_of
from tests.web.world import World

HERE, LOCAL = b"127.0.0.1:8000", b"http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("host", "origin", "allowed"),
    [
        (HERE, LOCAL, True),
        (HERE, b"http://evil.example", False),
        (HERE, b"http://127.0.0.1:3000", False),
        (HERE, b"http://localhost:8000", False),
        (HERE, b"https://127.0.0.1:8000", False),
        (HERE, b"null", False),
        (HERE, None, False),
        (None, LOCAL, False),
        (b"evil.example", b"http://evil.example", False),
        (b"127.0.0.1:9000", b"https://desk.example", True),
    ],
)
async def test_pages_of_this_site_alone_open_a_socket(
    lasting: World, host: bytes | None, origin: bytes | None, allowed: bool, settings: Any
):
    settings.CSRF_TRUSTED_ORIGINS = ["https://desk.example"]
    named = ((b"host", host), (b"origin", origin))
    headers = [(name, value) for name, value in named if value is not None]
    line = WebsocketCommunicator(application, "/ws", headers)
    connected, _ = await line.connect(5)
    assert connected is allowed
    if allowed:  # but nobody is signed in
        assert (await line.receive_output(5))["code"] == 4401
    await line.disconnect()


async def test_signing_out_closes_the_pages_of_that_sign_in_alone(lasting: World):
    mine, other = [await in_store(lasting.client, "reader") for _ in range(2)]
    left, stays = line_of(mine), line_of(other)
    for line in (left, stays):
        assert (await line.connect(5))[0]
    await in_store(mine.post, "/sign-out")
    assert (await left.receive_output(5))["code"] == 4401
    assert await stays.receive_nothing()
    for line in (left, stays):
        await line.disconnect()


async def test_signing_in_anew_closes_the_pages_of_the_sign_in_before(lasting: World):
    client = await in_store(lasting.client, "owner")
    line = line_of(client)
    assert (await line.connect(5))[0]
    token = await in_store(accounts.issue_link, lasting.people["responder"])
    assert (await in_store(client.get, f"/sign-in/{token}")).status_code == 302
    assert (await line.receive_output(5))["code"] == 4401
    await line.disconnect()


async def test_a_session_is_who_one_is(lasting: World):
    line = line_of(await in_store(lasting.client, "reader"))
    assert (await line.connect(5))[0]
    await line.send_to(text_data=json.dumps({"shown": []}))
    assert 'id="waiting"' in await line.receive_from(5)
    await line.disconnect()
