"""What comes while a page shows a part: at the end it is added, elsewhere it is counted."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import journal
from jpweb.store.choices import Origin
from jpweb.store.models import Conversation
from jpweb.stream import anchor_ids
from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from tests.builders import make_call, make_result, stream
from tests.store import making
from tests.web.reading import parse_page
from tests.web.sockets import connect_page, make_hello
from tests.web.transcript.test_consumers import append_events
from tests.web.world import World

A_WORD = ChatResponse("message", "A word")


async def collect_updates(world: World, *kinds: Any, **hello: Any) -> Any:
    """Return what a page is told that shows so much, as events come."""
    usual = await run_in_db_thread(make_hello, world)
    async with connect_page(
        world.people["reader"], **(usual | {"questions": []} | hello)
    ) as socket:
        await socket.receive_all()
        await append_events(world, *kinds)
        return parse_page(await socket.receive_all())


def list_added_kinds(html_page: Any) -> list[str]:
    frames = [tag for tag in html_page if tag.get("hx-swap-oob") == "beforeend:#transcript-end"]
    inside = [tag for tag in html_page if any(frame in tag.parents for frame in frames)]
    return [tag["data-kind"] for tag in inside if "data-kind" in tag]


async def test_page_that_shows_the_end_gets_new_events(shared_world: World):
    html_page = await collect_updates(shared_world, A_WORD)
    assert list_added_kinds(html_page) == ["chat_response"]


async def test_appended_events_have_the_gap_before_them(shared_world: World):
    usual = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["reader"], **(usual | {"questions": []})) as socket:
        await socket.receive_all()
        for at in ("2036-01-02 03:00:00.0", "2036-01-02 03:01:00.0", "2036-01-02 04:01:00.0"):
            await run_in_db_thread(
                journal.append_events, shared_world.conversation.pk, [making.event(A_WORD, at)]
            )
        await publisher.publish_conversation_changed(shared_world.conversation.pk)
        html_page = parse_page(await socket.receive_all())
    assert len([tag for tag in html_page if tag.get("class") == "gap"]) == 2
    assert "1 h 0 min later" in html_page.text


async def test_page_that_does_not_show_the_end_gets_the_entry_count(shared_world: World):
    html_page = await collect_updates(shared_world, A_WORD, first=0, last=1)
    assert list_added_kinds(html_page) == []
    length = await run_in_db_thread(
        lambda: Conversation.objects.get(pk=shared_world.conversation.pk).entry_count
    )
    assert html_page.find_one(id="counts")["data-entry-count"] == str(length)


async def test_a_page_of_some_kinds_is_given_those_alone(shared_world: World):
    html_page = await collect_updates(
        shared_world, A_WORD, ChatResponse("reasoning", "Hm"), show="reasoning"
    )
    assert list_added_kinds(html_page) == ["chat_response"]
    assert [tag["data-variant"] for tag in html_page if "data-variant" in tag] == ["reasoning"]


async def test_a_changed_call_comes_where_it_is_on_the_page_alone(shared_world: World):
    changed_page = await collect_updates(
        shared_world, make_result("call_1", "Done."), first=0, last=2
    )
    assert changed_page.find_one(**{"data-kind": "tool_call_request"})["hx-swap-oob"] == "true"
    await append_events(shared_world, make_call("call_2"), A_WORD)
    other_page = await collect_updates(
        shared_world, make_result("call_2", "Done."), first=0, last=2
    )
    assert not [tag for tag in other_page if "data-kind" in tag]


async def test_page_that_missed_too_many_events_gets_the_last_window(shared_world: World):
    usual = await run_in_db_thread(make_hello, shared_world)
    await append_events(shared_world, *(ChatResponse("message", f"Word {n}") for n in range(80)))
    async with connect_page(shared_world.people["reader"], **(usual | {"questions": []})) as socket:
        html_page = parse_page(await socket.receive_all())
    assert any(tag.get("hx-swap-oob") == "innerHTML:#transcript" for tag in html_page)
    assert "Word 79" in html_page.find_one(id="transcript-end").text
    assert any(tag.get("rel") == "prev" for tag in html_page)


async def test_page_that_missed_many_events_gets_its_changed_items(shared_world: World):
    usual = await run_in_db_thread(make_hello, shared_world) | {
        "questions": [],
        "first": 0,
        "last": 2,
    }
    await append_events(
        shared_world, make_result("call_1", "Done."), TurnStart(), ChatRequest("And now?")
    )
    await append_events(shared_world, *(ChatResponse("message", f"Word {n}") for n in range(80)))
    async with connect_page(shared_world.people["reader"], **usual) as socket:
        html_page = parse_page(await socket.receive_all())
    call = html_page.find_one(**{"data-kind": "tool_call_request"})
    assert call["hx-swap-oob"] == "true"
    assert "Done." in html_page.text
    assert [
        tag["data-outcome"] for tag in html_page if tag.get("data-kind") == "inquiry_request"
    ] == ["unanswered"]
    assert "Word" not in html_page.text


async def test_page_is_sent_its_window_again_when_jp_rewrote_it(shared_world: World):
    def mirrored() -> Conversation:
        conversation = Conversation.objects.create(
            workspace=shared_world.workspace,
            jp_id=7,
            origin=Origin.MIRRORED,
            last_activity=timezone.now(),
        )
        hold(conversation, *(ChatRequest(f"Line {n}") for n in range(120)))
        return conversation

    def hold(conversation: Conversation, *kinds: Any) -> None:
        elements = stream(TurnStart(), *kinds)
        journal.replace_elements(conversation, elements, anchor_ids.make_anchors(elements))
        conversation.save()

    conversation = await run_in_db_thread(mirrored)
    hello = {
        "conversation": conversation.pk,
        "entry_count": 121,
        "revision": 0,
        "first": 50,
        "last": 70,
    }
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        await socket.receive_all()
        await run_in_db_thread(hold, conversation, *(ChatRequest(f"Other {n}") for n in range(120)))
        await publisher.publish_conversation_changed(conversation.pk)
        html_page = parse_page(await socket.receive_all())
    window = next(tag for tag in html_page if tag.get("class") == "window")
    assert int(window["data-first"]) <= 50 <= int(window["data-last"])
    assert "Other 60" in window.text
    assert "id" not in window


@pytest.mark.parametrize("first", [500, 2**31, 10**30])
async def test_page_of_deleted_items_gets_the_last_ones_and_delays_no_other(
    shared_world: World, first: int
):
    usual = await run_in_db_thread(make_hello, shared_world) | {"questions": []}
    async with connect_page(shared_world.people["owner"], **usual) as other_socket:
        await other_socket.receive_all()
        hello = usual | {"revision": 7, "first": first, "last": 2**31}
        async with connect_page(shared_world.people["reader"], **hello) as socket:
            assert "call_1" in parse_page(await socket.receive_all()).text
            await append_events(shared_world, A_WORD)
            assert list_added_kinds(parse_page(await other_socket.receive_all())) == [
                "chat_response"
            ]


async def test_the_first_event_of_a_conversation_ends_that_nothing_was_said(shared_world: World):
    empty = await run_in_db_thread(
        lambda: Conversation.objects.create(
            workspace=shared_world.workspace,
            jp_id=8,
            origin=Origin.NATIVE,
            last_activity=timezone.now(),
        )
    )
    async with connect_page(
        shared_world.people["reader"], conversation=empty.pk, first=-1
    ) as socket:
        await socket.receive_all()
        await run_in_db_thread(journal.append_events, empty.pk, [making.event(TurnStart())])
        await publisher.publish_conversation_changed(empty.pk)
        html_page = parse_page(await socket.receive_all())
    assert "hidden" in html_page.find_one(id="empty-transcript")
