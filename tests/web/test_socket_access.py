"""Every socket, for everybody: what a page gets by its WebSocket, and what it may do."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from channels.security.websocket import WebsocketDenier
from django.contrib.auth.models import AnonymousUser

from jpweb.runtime import read_log
from jpweb.runtime.broadcast.close_codes import FORBIDDEN, SIGNED_OUT
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import inquiries
from jpweb.store.choices import Act
from jpweb.store.ledger.entries import Place
from jpweb.stream.events import ChatResponse
from jpweb.web.websocket import content_reads, routing
from tests.web.sockets import SOON, connect_page, line_of, make_hello
from tests.web.transcript.test_consumers import append_events
from tests.web.world import EVERYBODY, World


class SocketRights(NamedTuple):
    """What a socket gives; ``answer_status`` is the reply to an answer, None without a socket."""

    close_code: int | None
    has_card: bool
    answer_status: int | None


MAY_READ = SocketRights(None, False, 403)
MAY_ANSWER = SocketRights(None, True, 200)
RIGHTS = {
    "reader": MAY_READ,
    "auditor only": MAY_READ,
    "responder": MAY_ANSWER,
    "auditor": MAY_ANSWER,
    "owner": MAY_ANSWER,
    "outsider": SocketRights(FORBIDDEN, False, 404),
    "rival": SocketRights(FORBIDDEN, False, 404),
    "anonymous": SocketRights(SIGNED_OUT, False, None),
}


def test_socket_access_table_covers_all_routes_and_people():
    *open_routes, last_route = routing.routes
    assert [str(route.pattern) for route in open_routes] == ["ws"]
    assert last_route.callback.consumer_class is WebsocketDenier
    assert set(RIGHTS) == set(EVERYBODY)


@pytest.mark.parametrize("name", RIGHTS)
async def test_socket_shows_a_conversation_and_its_cards_as_the_role_allows(
    shared_world: World, name: str
):
    person = shared_world.people.get(name, AnonymousUser())
    hello = await run_in_db_thread(make_hello, shared_world)
    card = f"/questions/{shared_world.question.pk}/answer"
    async with connect_page(person, **hello | {"questions": []}) as socket:
        if RIGHTS[name].close_code is None:
            assert (card in await socket.receive_all()) is RIGHTS[name].has_card
        else:
            assert await socket.closes() == RIGHTS[name].close_code


@pytest.mark.parametrize("name", [name for name in RIGHTS if RIGHTS[name].answer_status])
async def test_answer_over_the_socket_is_taken_as_the_role_allows(
    shared_world: World, name: str, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO", "jpweb.security")
    line = line_of(await run_in_db_thread(shared_world.client, name))
    assert (await line.connect(SOON))[0]
    question, status = shared_world.question, RIGHTS[name].answer_status
    answer = {"number": 1, "question": question.pk, "answer": "true"}
    for _ in range(2):  # the page stays
        await line.send_to(text_data=json.dumps(answer))
        reply = json.loads(await line.receive_from(SOON))
        assert reply["status"] in (status, 409 if status == 200 else status)
    row = await run_in_db_thread(inquiries.get_inquiry, question.pk)
    assert row.state == ("answered" if status == 200 else "open")
    denials = [text for text in caplog.messages if text.startswith("denied ")]
    assert len(denials) == (0 if status == 200 else 2)
    path = f"/questions/{question.pk}/answer"
    assert all(f'account="{name}"' in text and path in text for text in denials)
    await line.disconnect()


def list_reads(world: World) -> list[read_log.ReadRecord]:
    """Return the live reads of a world that wait to be written, and forget them."""
    place = Place(world.workspace.pk, world.conversation.pk)
    reads = [record for record in read_log._gathered_reads.elements() if record.place == place]
    read_log._gathered_reads.clear()
    return reads


async def test_socket_that_is_sent_content_is_a_read_then_one_an_hour(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    hello = await run_in_db_thread(make_hello, shared_world)
    read_log._gathered_reads.clear()
    reader = shared_world.people["reader"]
    async with connect_page(reader, **hello | {"questions": []}) as socket:
        await socket.receive_all()
        assert list_reads(shared_world) == []
        counts = []
        for interval_seconds in (3_600.0, 3_600.0, 0.0):
            monkeypatch.setattr(content_reads, "READ_INTERVAL_SECONDS", interval_seconds)
            await append_events(shared_world, ChatResponse("message", "A word"))
            assert "A word" in await socket.receive_all()
            counts.append(len(list_reads(shared_world)))
        assert counts == [1, 0, 1]


async def test_socket_that_begins_with_an_empty_page_is_a_read_of_its_person(shared_world: World):
    read_log._gathered_reads.clear()
    reader = shared_world.people["reader"]
    async with connect_page(reader, conversation=shared_world.conversation.pk) as socket:
        await socket.receive_all()
    (record,) = list_reads(shared_world)
    assert (record.act, record.actor.person_id, record.view) == (
        Act.READ,
        reader.pk,
        "live-updates",
    )
