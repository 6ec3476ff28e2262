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
from jpweb.web.websocket import conversation_updates, inbox_updates
from tests.store import making
from tests.web.reading import read
from tests.web.sockets import Socket, page, shows
from tests.web.transcript.test_consumers import append
from tests.web.world import World


async def test_the_same_change_for_fifty_pages_takes_as_many_queries_as_for_two(lasting: World):
    people = await run_in_db_thread(crew, lasting)
    counted: list[list[int]] = []
    for many in (2, 50):
        says = await run_in_db_thread(shows, lasting)
        async with AsyncExitStack() as opened:
            pages = [
                await opened.enter_async_context(page(people[n % len(people)], **says))
                for n in range(many)
            ]
            for each in pages:
                await each.hears()
            assert await pages[0].hears_nothing()
            talk, home = lasting.talk.pk, lasting.home.pk
            await run_in_db_thread(journal.append_events, talk, [making.event(response("A word"))])
            told = [await queries(publisher.publish_conversation_changed(talk), pages)]
            await run_in_db_thread(making.question, lasting.run)
            told.append(await queries(publisher.publish_questions_changed(home), pages))
            told.append(await queries(publisher.publish_partial_text(talk, "message", "Te"), pages))
            counted.append(told)
            await publisher.publish_partial_text(
                talk, "message", ""
            )  # pages that open get what came last
        await run_in_db_thread(Inquiry.objects.exclude(pk=lasting.question.pk).delete)
    assert counted == [[9, 5, 2]] * 2


def crew(world: World) -> list[Person]:
    """Return people of whom each may answer in the workspace and in one of their own."""
    made = [making.person(f"crew{n}", Role.RESPONDER, world.home) for n in range(9)]
    for each in made:
        home = making.workspace(each.username)
        Membership.objects.create(person=each, workspace=home, role=Role.OWNER)
    return made


async def asked(world: World) -> None:
    await run_in_db_thread(making.question, world.run)
    await publisher.publish_questions_changed(world.home.pk)


def capturing() -> CaptureQueriesContext:
    """Begin to note the queries of the thread in which the store is used."""
    return CaptureQueriesContext(connections["default"]).__enter__()


async def queries(signal: Coroutine[Any, Any, None], pages: list[Socket]) -> int:
    """Return how many queries a signal takes until every page has heard something of it."""
    captured = await run_in_db_thread(capturing)
    await signal
    for each in pages:
        assert await each.hears()
    assert await pages[0].hears_nothing()
    await run_in_db_thread(captured.__exit__, None, None, None)
    return len(captured)


async def test_pages_that_are_alike_are_rendered_once(
    lasting: World, monkeypatch: pytest.MonkeyPatch
):
    rendered: list[str] = []
    render = render_to_string

    def counted(name: str, *about: Any) -> str:
        rendered.append(name)
        return render(name, *about)

    for module in (conversation_updates, inbox_updates):
        monkeypatch.setattr(module, "render_to_string", counted)
    says = await run_in_db_thread(shows, lasting)
    async with AsyncExitStack() as opened:
        who = [lasting.people[name] for name in ("owner", "auditor", "responder", "owner")]
        pages = [await opened.enter_async_context(page(each, **says)) for each in who]
        for each in pages:
            await each.everything()
        rendered.clear()
        await append(lasting, response("A word"))
        assert len({await each.hears() for each in pages}) == 1
        await asked(lasting)
        assert len({await each.hears() for each in pages}) == 1
    assert sorted(rendered) == sorted(set(rendered))
    assert "questions/_oob_append.html" in rendered


async def test_many_cards_that_come_at_once_take_as_many_queries_as_two(lasting: World):
    counted = []
    for many in (2, 12):
        for _ in range(many):
            await run_in_db_thread(making.question, lasting.run)
        captured = await run_in_db_thread(capturing)
        async with page(lasting.people["responder"], inbox=True) as socket:
            await socket.everything()
        await run_in_db_thread(captured.__exit__, None, None, None)
        counted.append(len(captured))
    assert counted[0] == counted[1]


async def test_the_count_says_what_came_to_wait_last(lasting: World):
    async with page(lasting.people["responder"], conversation=lasting.talk.pk) as socket:
        await socket.everything()
        for make in (making.question, making.prompt):
            row = await run_in_db_thread(make, lasting.run)
            await publisher.publish_questions_changed(lasting.home.pk)
            newest = read(await socket.everything()).one(id="question-count")["data-newest"]
            assert newest.endswith(f"-{row.pk}")
            assert newest.startswith("approval" if make is making.prompt else "question")


async def test_changes_that_come_at_once_are_told_together(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["reader"], **says) as socket:
        await socket.everything()
        for word in ("One", "Two", "Three"):
            await run_in_db_thread(
                journal.append_events, lasting.talk.pk, [making.event(response(word))]
            )
        for _ in range(30):
            await publisher.publish_conversation_changed(lasting.talk.pk)
        assert read(await socket.hears()).all(**{"data-kind": "chat_response"})
        assert await socket.hears_nothing()


def response(text: str) -> ChatResponse:
    return ChatResponse("message", text)


async def test_a_browser_that_takes_nothing_is_sent_the_latest_once_it_does(lasting: World):
    says, line = await run_in_db_thread(shows, lasting), FlowControl()
    async with (
        page(lasting.people["responder"], line, **says) as slow,
        page(lasting.people["responder"], **says) as other,
    ):
        await slow.everything()
        await other.everything()
        line.pauseProducing()
        for word in ("One", "Two"):
            await publisher.publish_partial_text(
                lasting.talk.pk, "message", word + " is being received"
            )
            await append(lasting, response(word))
            assert word in await other.everything()
        await asked(lasting)
        await publisher.publish_partial_text(lasting.talk.pk, "message", "An old glance")
        await publisher.publish_partial_text(lasting.talk.pk, "message", "A last glance")
        assert await other.everything()
        assert await slow.hears_nothing()
        line.resumeProducing()
        heard = [await slow.hears(), await slow.hears()]
        assert await slow.hears_nothing()
    talk, desk = sorted(heard, key=lambda said: "data-outcome" in said and "_waiting" in said)
    both = talk + desk
    assert "One" in both
    assert "Two" in both
    assert "is being received" not in both, "that is on record by now"
    assert "An old glance" not in both
    assert both.index("A last glance") > both.index("Two")
    assert read(both).one(id="question-count")["data-count"] == "2"


async def test_for_browsers_that_take_nothing_nothing_is_read(lasting: World):
    line = FlowControl()
    async with page(
        lasting.people["owner"], line, **await run_in_db_thread(shows, lasting)
    ) as socket:
        await socket.everything()
        line.pauseProducing()
        captured = await run_in_db_thread(capturing)
        for _ in range(10):
            await publisher.publish_conversation_changed(lasting.talk.pk)
            await publisher.publish_questions_changed(lasting.home.pk)
        assert await socket.hears_nothing()
        await run_in_db_thread(captured.__exit__, None, None, None)
    assert len(captured) == 0


async def test_a_browser_that_takes_nothing_is_still_signed_out(lasting: World):
    line = FlowControl()
    async with page(
        lasting.people["reader"], line, **await run_in_db_thread(shows, lasting)
    ) as socket:
        await socket.everything()
        line.pauseProducing()
        local_bus.add_subscriber("session-x", socket.consumers[0].on_signal)
        local_bus.dispatch_signal({"kind": "session", "to": "session-x"})
        assert await socket.closes() == 4401
        local_bus.remove_subscriber("session-x", socket.consumers[0].on_signal)


async def test_a_page_that_goes_leaves_nobody_listening(lasting: World):
    async with page(lasting.people["owner"], **await run_in_db_thread(shows, lasting)) as socket:
        await socket.everything()
        assert local_bus.list_watched_keys("conversation") == {lasting.talk.pk}
        assert local_bus.list_watched_keys("workspace") == {lasting.home.pk}
    assert not any(
        local_bus.list_topic_keys(subject) for subject in ("conversation", "workspace", "session")
    )


async def test_a_page_that_goes_to_another_conversation_hears_of_that_alone(lasting: World):
    other = await run_in_db_thread(making.conversation, lasting.home)
    async with page(lasting.people["owner"], conversation=lasting.talk.pk) as socket:
        await socket.everything()
        await socket.hello(conversation=other.pk)
        await socket.everything()
        assert local_bus.list_watched_keys("conversation") == {other.pk}
        await socket.hello(inbox=True)
        await socket.everything()
        assert local_bus.list_watched_keys("conversation") == set()


async def test_who_became_a_reader_is_told_of_no_card_any_more(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["responder"], inbox=True, questions=says["questions"]) as socket:
        await socket.everything()
        member = Membership.objects.filter(person=lasting.people["responder"])
        await run_in_db_thread(member.update, role=Role.READER)
        await asked(lasting)
        heard = read(await socket.everything())
        assert "no longer available" in heard.text
        assert heard.one(id="question-count")["data-count"] == "0"
        await asked(lasting)
        assert await socket.hears_nothing()


async def test_a_change_that_cannot_be_rendered_lets_the_browser_come_back(
    lasting: World, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_: object) -> None:
        raise OSError("broken")

    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["reader"], **says) as socket:
        await socket.everything()
        monkeypatch.setattr(conversation_updates, "find_conversation_updates", broken)
        await append(lasting, response("A word"))
        assert await socket.closes() == close_codes.SERVER_FAULT


async def test_page_of_a_broken_conversation_stays_and_hears_of_questions(
    lasting: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def broken(*_: object) -> None:
        raise KeyError("rows that do not fit each other")

    says = await run_in_db_thread(shows, lasting)
    monkeypatch.setattr(conversation_updates, "find_conversation_updates", broken)
    async with page(lasting.people["responder"], **says) as socket:
        await socket.everything()
        await append(lasting, response("A word"))
        assert await socket.hears_nothing()
        row = await run_in_db_thread(making.question, lasting.run)
        await publisher.publish_questions_changed(lasting.home.pk)
        assert f"question-{row.pk}" in await socket.everything()
        monkeypatch.undo()
        await append(lasting, response("Another word"))
        assert "Another word" in await socket.everything()
    assert len([record for record in caplog.records if record.exc_info]) == 1


async def test_page_comes_back_where_the_database_was_gone_when_it_greeted(
    lasting: World, monkeypatch: pytest.MonkeyPatch
):
    def gone(*_: object) -> None:
        raise DATABASE_UNAVAILABLE[0]("gone")

    says = await run_in_db_thread(shows, lasting)
    monkeypatch.setattr(conversation_updates, "find_conversation_updates", gone)
    async with page(lasting.people["responder"], **says) as socket:
        assert await socket.closes() == close_codes.SERVER_FAULT


async def test_a_page_that_cannot_even_be_closed_is_forgotten(
    lasting: World, monkeypatch: pytest.MonkeyPatch
):
    async def broken(*_: object) -> None:
        raise OSError("broken")

    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["responder"], **says) as socket:
        await socket.everything()
        (consumer,) = socket.consumers
        monkeypatch.setattr(consumer, "close", broken)
        with pytest.raises(OSError, match="broken"):
            await consumer.close_and_cleanup(close_codes.SERVER_FAULT)
        assert (consumer.person_id, consumer.topics) == (None, ())
        await append(lasting, response("A word"))
        assert await socket.hears_nothing()


async def test_a_page_that_says_the_same_again_joins_nothing_again(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["responder"], **says) as socket:
        await socket.everything()
        (consumer,) = socket.consumers
        topics = consumer.topics
        for _ in range(3):
            await socket.hello(**says)
            await socket.everything()
        assert consumer.topics == topics
