"""Whose pages may open a socket, and until when it is theirs."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.db import OperationalError
from django.utils import timezone

from jpweb.asgi import application
from jpweb.runtime.broadcast import session_expiry
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import presence
from jpweb.store import accounts
from jpweb.store.choices import Role
from jpweb.store.maintenance import deactivation
from jpweb.store.models import Membership, Person, SignIn
from jpweb.store.people import sessions
from jpweb.web.security import rate_limits
from tests.web.sockets import line_of
from tests.web.world import World, signed_in

HERE, LOCAL = b"127.0.0.1:8000", b"http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("host", "origin", "is_allowed"),
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
    shared_world: World, host: bytes | None, origin: bytes | None, is_allowed: bool, settings: Any
):
    settings.CSRF_TRUSTED_ORIGINS = ["https://desk.example"]
    pairs = ((b"host", host), (b"origin", origin))
    headers = [(name, value) for name, value in pairs if value is not None]
    line = WebsocketCommunicator(application, "/ws", headers)
    connected, _ = await line.connect(5)
    assert connected is is_allowed
    if is_allowed:  # but nobody is signed in
        assert (await line.receive_output(5))["code"] == 4401
    await line.disconnect()


async def test_signing_out_closes_the_pages_of_that_sign_in_alone(shared_world: World):
    own_client, other_client = [
        await run_in_db_thread(shared_world.client, "reader") for _ in range(2)
    ]
    own_line, other_line = line_of(own_client), line_of(other_client)
    for line in (own_line, other_line):
        assert (await line.connect(5))[0]
    await run_in_db_thread(own_client.post, "/sign-out")
    assert (await own_line.receive_output(5))["code"] == 4401
    assert await other_line.receive_nothing()
    for line in (own_line, other_line):
        await line.disconnect()


async def test_new_sign_in_closes_sockets_of_the_previous_one(shared_world: World):
    client = await run_in_db_thread(shared_world.client, "owner")
    line = line_of(client)
    assert (await line.connect(5))[0]
    token = await run_in_db_thread(accounts.issue_link, shared_world.people["responder"])
    assert (await run_in_db_thread(client.post, "/sign-in", {"code": token})).status_code == 302
    assert (await line.receive_output(5))["code"] == 4401
    await line.disconnect()


async def test_socket_takes_its_person_from_the_session(shared_world: World):
    line = line_of(await run_in_db_thread(shared_world.client, "reader"))
    assert (await line.connect(5))[0]
    await line.send_to(text_data=json.dumps({"questions": []}))
    assert 'id="question-count"' in await line.receive_from(5)
    await line.disconnect()


def end_silently(way: str, person: Person) -> None:
    """End a sign-in so that no signal tells of it."""
    if way == "row gone":
        SignIn.objects.filter(person=person).delete()
    elif way == "idle":
        SignIn.objects.filter(person=person).update(seen_at=timezone.now() - timedelta(days=365))
    elif way == "inactive":
        Person.objects.filter(pk=person.pk).update(is_active=False)
    else:
        deactivation.deactivate_person(person)


@pytest.mark.parametrize("way", ["row gone", "idle", "inactive", "deactivated"])
@pytest.mark.parametrize("does_ask", [True, False])
async def test_a_page_whose_sign_in_ended_silently_is_closed(
    shared_world: World, way: str, does_ask: bool
):
    """By the next look at all pages, or by what the page says before; another page stays."""
    own_person, other_person = shared_world.people["reader"], shared_world.people["owner"]
    own_line, other_line = [
        line_of(await run_in_db_thread(signed_in, person)) for person in (own_person, other_person)
    ]
    for line in (own_line, other_line):
        assert (await line.connect(5))[0]
    await run_in_db_thread(end_silently, way, own_person)
    if does_ask:
        await own_line.send_to(
            text_data=json.dumps({"conversation": shared_world.conversation.pk, "inbox": True})
        )
    else:
        await session_expiry.check_pages()
    assert (await own_line.receive_output(5))["code"] == 4401
    assert await own_line.receive_nothing()
    assert await other_line.receive_nothing()
    for line in (own_line, other_line):
        await line.disconnect()


async def test_a_role_that_changed_silently_reaches_the_page(shared_world: World):
    person, workspace_id = shared_world.people["responder"], shared_world.workspace.pk
    line = line_of(await run_in_db_thread(signed_in, person))
    assert (await line.connect(5))[0]
    await line.send_to(text_data=json.dumps({"inbox": True}))
    assert 'data-count="1"' in await line.receive_from(5)
    assert await presence.is_reachable(workspace_id)
    await session_expiry.check_pages()
    assert await line.receive_nothing(), "nothing has changed"
    await run_in_db_thread(Membership.objects.filter(person=person).update, role=Role.READER)
    await session_expiry.check_pages()
    assert 'data-count="0"' in await line.receive_from(5)
    assert not await presence.is_reachable(workspace_id)
    await line.disconnect()


async def test_sign_in_use_is_written_later_and_kept_when_writing_fails(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    client = await run_in_db_thread(signed_in, shared_world.people["reader"])
    long_ago = timezone.now() - timedelta(hours=11)
    await run_in_db_thread(SignIn.objects.update, seen_at=long_ago)
    session_expiry.used_key_hashes.clear()
    assert (
        await run_in_db_thread(client.get, "/", headers={"X-Automatic": "1"})
    ).status_code == 200
    assert session_expiry.used_key_hashes == set()
    assert (await run_in_db_thread(client.get, "/")).status_code == 200

    def fails(_keys: object) -> None:
        raise OperationalError("away")

    with monkeypatch.context() as broken:
        broken.setattr(sessions, "record_requests", fails)
        with pytest.raises(OperationalError):
            await session_expiry.write_used_sign_ins()
    assert len(session_expiry.used_key_hashes) == 1
    await session_expiry.write_used_sign_ins()
    assert session_expiry.used_key_hashes == set()
    assert (await run_in_db_thread(SignIn.objects.get)).seen_at > timezone.now() - timedelta(
        minutes=5
    )


async def test_sockets_of_one_person_above_the_limit_are_refused(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(rate_limits.SOCKET_LIMIT, "count", 1)
    client = await run_in_db_thread(signed_in, shared_world.people["reader"])
    first, second = line_of(client), line_of(client)
    assert (await first.connect(5))[0] is True
    assert (await second.connect(5))[0] is False
    await first.disconnect()
