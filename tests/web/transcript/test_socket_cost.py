"""What a socket costs, and what it is spared."""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any

import pytest
from django.db import connections
from django.template.loader import render_to_string
from django.test.utils import CaptureQueriesContext

from jpweb.runtime.broadcast import close_codes, local_bus, publisher
from jpweb.runtime.broadcast.flow_control import FlowControl
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import journal
from jpweb.store.choices import Role
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.models import Inquiry, Membership, Person
from jpweb.stream.events import ChatResponse
from jpweb.web.websocket import conversation_updates, inbox_updates, live_updates
from tests.store import making
from tests.web.reading import parse_page
from tests.web.sockets import Socket, connect_page, make_hello
from tests.web.transcript.test_consumers import append_events
from tests.web.world import World


async def test_the_same_change_for_fifty_pages_takes_as_many_queries_as_for_two(
    shared_world: World,
):
    people = await run_in_db_thread(responders, shared_world)
    count_lists: list[list[int]] = []
    for many in (2, 50):
        hello = await run_in_db_thread(make_hello, shared_world)
        async with AsyncExitStack() as stack:
            pages = [
                await stack.enter_async_context(connect_page(people[n % len(people)], **hello))
                for n in range(many)
            ]
            for open_socket in pages:
                await open_socket.receive()
            assert await pages[0].hears_nothing()
            conversation, workspace_id = shared_world.conversation.pk, shared_world.workspace.pk
            await run_in_db_thread(
                journal.append_events, conversation, [making.event(response("A word"))]
            )
            counts = [await queries(publisher.publish_conversation_changed(conversation), pages)]
            await run_in_db_thread(making.question, shared_world.run)
            counts.append(await queries(publisher.publish_questions_changed(workspace_id), pages))
            counts.append(
                await queries(publisher.publish_partial_text(conversation, "message", "Te"), pages)
            )
            count_lists.append(counts)
            await publisher.publish_partial_text(
                conversation, "message", ""
            )  # pages that open get what came last
        await run_in_db_thread(Inquiry.objects.exclude(pk=shared_world.question.pk).delete)
    assert count_lists == [[10, 7, 2]] * 2


def responders(world: World) -> list[Person]:
    """Return people of whom each may answer in the workspace and in one of their own."""
    people = [making.person(f"crew{n}", Role.RESPONDER, world.workspace) for n in range(9)]
    for person in people:
        workspace = making.workspace(person.username)
        Membership.objects.create(person=person, workspace=workspace, role=Role.OWNER)
    return people


async def ask_question(world: World) -> None:
    await run_in_db_thread(making.question, world.run)
    await publisher.publish_questions_changed(world.workspace.pk)


def capturing() -> CaptureQueriesContext:
    """Begin to note the queries of the thread in which the store is used."""
    return CaptureQueriesContext(connections["default"]).__enter__()


async def queries(signal: Coroutine[Any, Any, None], pages: list[Socket]) -> int:
    """Return how many queries a signal takes until every page has heard something of it."""
    captured = await run_in_db_thread(capturing)
    await signal
    for open_socket in pages:
        assert await open_socket.receive()
    assert await pages[0].hears_nothing()
    await run_in_db_thread(captured.__exit__, None, None, None)
    return len(captured)


async def test_fanout_renders_equal_pages_once(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    rendered: list[str] = []
    render = render_to_string

    def count_render(name: str, *about: Any) -> str:
        rendered.append(name)
        return render(name, *about)

    for module in (conversation_updates, inbox_updates):
        monkeypatch.setattr(module, "render_to_string", count_render)
    hello = await run_in_db_thread(make_hello, shared_world)
    async with AsyncExitStack() as stack:
        viewers = [shared_world.people[name] for name in ("owner", "auditor", "responder", "owner")]
        pages = [
            await stack.enter_async_context(connect_page(person, **hello)) for person in viewers
        ]
        for open_socket in pages:
            await open_socket.receive_all()
        rendered.clear()
        await append_events(shared_world, response("A word"))
        assert len({await open_socket.receive() for open_socket in pages}) == 1
        await ask_question(shared_world)
        assert len({await open_socket.receive() for open_socket in pages}) == 1
    assert sorted(rendered) == sorted(set(rendered))
    assert "questions/_oob_append.html" in rendered


async def test_fanout_queries_do_not_grow_with_new_cards(shared_world: World):
    counts = []
    for many in (2, 12):
        for _ in range(many):
            await run_in_db_thread(making.question, shared_world.run)
        captured = await run_in_db_thread(capturing)
        async with connect_page(shared_world.people["responder"], inbox=True) as socket:
            await socket.receive_all()
        await run_in_db_thread(captured.__exit__, None, None, None)
        counts.append(len(captured))
    assert counts[0] == counts[1]


async def test_fanout_count_names_the_newest_question(shared_world: World):
    async with connect_page(
        shared_world.people["responder"], conversation=shared_world.conversation.pk
    ) as socket:
        await socket.receive_all()
        for make in (making.question, making.prompt):
            row = await run_in_db_thread(make, shared_world.run)
            await publisher.publish_questions_changed(shared_world.workspace.pk)
            newest = parse_page(await socket.receive_all()).find_one(id="question-count")[
                "data-newest"
            ]
            assert newest.endswith(f"-{row.pk}")
            assert newest.startswith("approval" if make is making.prompt else "question")


async def test_fanout_sends_concurrent_changes_together(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        await socket.receive_all()
        for word in ("One", "Two", "Three"):
            await run_in_db_thread(
                journal.append_events, shared_world.conversation.pk, [making.event(response(word))]
            )
        for _ in range(30):
            await publisher.publish_conversation_changed(shared_world.conversation.pk)
        assert parse_page(await socket.receive()).find_all(**{"data-kind": "chat_response"})
        assert await socket.hears_nothing()


def response(text: str) -> ChatResponse:
    return ChatResponse("message", text)


async def test_fanout_sends_the_latest_state_after_backpressure(shared_world: World):
    hello, line = await run_in_db_thread(make_hello, shared_world), FlowControl()
    async with (
        connect_page(shared_world.people["responder"], line, **hello) as slow,
        connect_page(shared_world.people["responder"], **hello) as other_socket,
    ):
        await slow.receive_all()
        await other_socket.receive_all()
        line.pauseProducing()
        for word in ("One", "Two"):
            await publisher.publish_partial_text(
                shared_world.conversation.pk, "message", word + " is being received"
            )
            await append_events(shared_world, response(word))
            assert word in await other_socket.receive_all()
        await ask_question(shared_world)
        await publisher.publish_partial_text(
            shared_world.conversation.pk, "message", "An old glance"
        )
        await publisher.publish_partial_text(
            shared_world.conversation.pk, "message", "A last glance"
        )
        assert await other_socket.receive_all()
        assert await slow.hears_nothing()
        line.resumeProducing()
        frames = [await slow.receive(), await slow.receive()]
        assert await slow.hears_nothing()
    conversation, inbox_socket = sorted(
        frames, key=lambda text: "data-outcome" in text and "_waiting" in text
    )
    html = conversation + inbox_socket
    assert "One" in html
    assert "Two" in html
    assert "is being received" not in html, "that is on record by now"
    assert "An old glance" not in html
    assert html.index("A last glance") > html.index("Two")
    assert parse_page(html).find_one(id="question-count")["data-count"] == "2"


async def test_fanout_reads_nothing_for_browsers_under_backpressure(shared_world: World):
    line = FlowControl()
    async with connect_page(
        shared_world.people["owner"], line, **await run_in_db_thread(make_hello, shared_world)
    ) as socket:
        await socket.receive_all()
        line.pauseProducing()
        captured = await run_in_db_thread(capturing)
        for _ in range(10):
            await publisher.publish_conversation_changed(shared_world.conversation.pk)
            await publisher.publish_questions_changed(shared_world.workspace.pk)
        assert await socket.hears_nothing()
        await run_in_db_thread(captured.__exit__, None, None, None)
    assert len(captured) == 0


async def test_fanout_signs_out_browsers_under_backpressure(shared_world: World):
    line = FlowControl()
    async with connect_page(
        shared_world.people["reader"], line, **await run_in_db_thread(make_hello, shared_world)
    ) as socket:
        await socket.receive_all()
        line.pauseProducing()
        local_bus.add_subscriber("session-x", socket.consumers[0].on_signal)
        local_bus.dispatch_signal({"kind": "session", "to": "session-x"})
        assert await socket.closes() == 4401
        local_bus.remove_subscriber("session-x", socket.consumers[0].on_signal)


async def test_fanout_removes_subscriptions_of_closed_pages(shared_world: World):
    async with connect_page(
        shared_world.people["owner"], **await run_in_db_thread(make_hello, shared_world)
    ) as socket:
        await socket.receive_all()
        assert local_bus.list_watched_keys("conversation") == {shared_world.conversation.pk}
        assert local_bus.list_watched_keys("workspace") == {shared_world.workspace.pk}
    assert not any(
        local_bus.list_topic_keys(subject) for subject in ("conversation", "workspace", "session")
    )


async def test_fanout_follows_a_page_to_another_conversation(shared_world: World):
    other_conversation = await run_in_db_thread(making.conversation, shared_world.workspace)
    async with connect_page(
        shared_world.people["owner"], conversation=shared_world.conversation.pk
    ) as socket:
        await socket.receive_all()
        await socket.hello(conversation=other_conversation.pk)
        await socket.receive_all()
        assert local_bus.list_watched_keys("conversation") == {other_conversation.pk}
        await socket.hello(inbox=True)
        await socket.receive_all()
        assert local_bus.list_watched_keys("conversation") == set()


async def test_fanout_sends_no_cards_to_a_person_who_became_a_reader(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(
        shared_world.people["responder"], inbox=True, questions=hello["questions"]
    ) as socket:
        await socket.receive_all()
        member = Membership.objects.filter(person=shared_world.people["responder"])
        await run_in_db_thread(member.update, role=Role.READER)
        await ask_question(shared_world)
        html_page = parse_page(await socket.receive_all())
        assert "no longer available" in html_page.text
        assert html_page.find_one(id="question-count")["data-count"] == "0"
        await ask_question(shared_world)
        assert await socket.hears_nothing()


async def test_fanout_closes_sockets_for_a_reconnect_when_rendering_fails(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_: object) -> None:
        raise OSError("broken")

    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        await socket.receive_all()
        monkeypatch.setattr(conversation_updates, "find_conversation_updates", broken)
        await append_events(shared_world, response("A word"))
        assert await socket.closes() == close_codes.SERVER_FAULT


async def test_page_of_a_broken_conversation_stays_and_hears_of_questions(
    shared_world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def broken(*_: object) -> None:
        raise KeyError("rows that do not fit each other")

    hello = await run_in_db_thread(make_hello, shared_world)
    # Of errors in a row the first is logged, and an earlier test may have left one.
    monkeypatch.setattr(live_updates.conversation_batches, "_failed_keys", {})
    monkeypatch.setattr(conversation_updates, "find_conversation_updates", broken)
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        await socket.receive_all()
        await append_events(shared_world, response("A word"))
        assert await socket.hears_nothing()
        row = await run_in_db_thread(making.question, shared_world.run)
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        assert f"question-{row.pk}" in await socket.receive_all()
        monkeypatch.undo()
        await append_events(shared_world, response("Another word"))
        assert "Another word" in await socket.receive_all()
    assert len([record for record in caplog.records if record.exc_info]) == 1


async def test_fanout_closes_a_socket_greeted_during_a_database_outage(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    def raise_unavailable(*_: object) -> None:
        raise DATABASE_UNAVAILABLE[0]("gone")

    hello = await run_in_db_thread(make_hello, shared_world)
    monkeypatch.setattr(conversation_updates, "find_conversation_updates", raise_unavailable)
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        assert await socket.closes() == close_codes.SERVER_FAULT


async def test_a_page_that_cannot_even_be_closed_is_forgotten(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    async def broken(*_: object) -> None:
        raise OSError("broken")

    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        await socket.receive_all()
        (consumer,) = socket.consumers
        monkeypatch.setattr(consumer, "close", broken)
        with pytest.raises(OSError, match="broken"):
            await consumer.close_and_cleanup(close_codes.SERVER_FAULT)
        assert (consumer.person_id, consumer.topics) == (None, ())
        await append_events(shared_world, response("A word"))
        assert await socket.hears_nothing()


async def test_fanout_ignores_a_repeated_hello(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        await socket.receive_all()
        (consumer,) = socket.consumers
        topics = consumer.topics
        for _ in range(3):
            await socket.hello(**hello)
            await socket.receive_all()
        assert consumer.topics == topics
