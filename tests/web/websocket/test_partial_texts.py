"""Partial text of a reply on pages that open while it streams, and after it was stored."""

from __future__ import annotations

import pytest

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import journal
from jpweb.stream.events import ChatResponse
from tests.store import making
from tests.web.reading import parse_page
from tests.web.sockets import connect_page, make_hello
from tests.web.transcript.test_consumers import append_events, ids
from tests.web.world import World


async def test_page_opened_during_a_reply_gets_its_partial_text(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    await publisher.publish_partial_text(shared_world.conversation.pk, "message", "Some text")
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        assert (
            "Some text" in parse_page(await socket.receive_all()).find_one(id="partial-text").text
        )
    await publisher.publish_partial_text(shared_world.conversation.pk, "message", "")
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        assert "partial-text" not in ids(await socket.receive_all())


async def test_page_that_opens_once_a_text_is_on_record_shows_it_once(shared_world: World):
    await publisher.publish_partial_text(shared_world.conversation.pk, "message", "Some text")
    await append_events(shared_world, ChatResponse("message", "Some text"))
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        assert "partial-text" not in ids(await socket.receive_all())


async def test_page_of_an_outsider_gets_no_text_that_came(shared_world: World):
    await publisher.publish_partial_text(shared_world.conversation.pk, "message", "Some text")
    async with connect_page(
        shared_world.people["outsider"], **await run_in_db_thread(make_hello, shared_world)
    ) as socket:
        assert await socket.closes() == 4404
        assert await socket.hears_nothing()


@pytest.mark.parametrize("is_subscribed", [False, True])
async def test_text_that_the_page_has_as_an_event_is_not_sent_again(
    shared_world: World, is_subscribed: bool
):
    """Lost are the signal of the event and the one that clears the text, or both are late."""
    key = shared_world.conversation.pk
    length = (await run_in_db_thread(make_hello, shared_world))["entry_count"]
    await publisher.publish_partial_text(key, "message", "Some text", length)
    stored = making.event(ChatResponse("message", "Some text"))
    await run_in_db_thread(journal.append_events, key, [stored], shared_world.run)
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        assert "partial-text" not in ids(await socket.receive_all())
        if is_subscribed:
            await publisher.publish_partial_text(key, "message", "Some text, late", length)
            assert await socket.hears_nothing()
        await publisher.publish_partial_text(key, "message", "The next one", length + 1)
        assert "The next one" in parse_page(await socket.receive_all()).text
