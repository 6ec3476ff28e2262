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
from tests.builders import called, returned, stream
from tests.store import making
from tests.web.reading import read
from tests.web.sockets import page, shows
from tests.web.transcript.test_consumers import append
from tests.web.world import World

A_WORD = ChatResponse("message", "A word")


async def told(world: World, *kinds: Any, **says: Any) -> Any:
    """Return what a page is told that shows so much, as events come."""
    usual = await run_in_db_thread(shows, world)
    async with page(world.people["reader"], **(usual | {"questions": []} | says)) as socket:
        await socket.everything()
        await append(world, *kinds)
        return read(await socket.everything())


def added(heard: Any) -> list[str]:
    frames = [tag for tag in heard if tag.get("hx-swap-oob") == "beforeend:#transcript-end"]
    inside = [tag for tag in heard if any(frame in tag.parents for frame in frames)]
    return [tag["data-kind"] for tag in inside if "data-kind" in tag]


async def test_a_page_that_shows_the_end_is_given_what_comes(lasting: World):
    heard = await told(lasting, A_WORD)
    assert added(heard) == ["chat_response"]


async def test_the_time_that_passed_before_what_comes_is_told(lasting: World):
    usual = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["reader"], **(usual | {"questions": []})) as socket:
        await socket.everything()
        for at in ("2036-01-02 03:00:00.0", "2036-01-02 03:01:00.0", "2036-01-02 04:01:00.0"):
            await run_in_db_thread(
                journal.append_events, lasting.talk.pk, [making.event(A_WORD, at)]
            )
        await publisher.publish_conversation_changed(lasting.talk.pk)
        heard = read(await socket.everything())
    assert len([tag for tag in heard if tag.get("class") == "gap"]) == 2
    assert "1 h 0 min later" in heard.text


async def test_a_page_that_does_not_show_the_end_is_told_how_much_there_is(lasting: World):
    heard = await told(lasting, A_WORD, first=0, last=1)
    assert added(heard) == []
    length = await run_in_db_thread(
        lambda: Conversation.objects.get(pk=lasting.talk.pk).entry_count
    )
    assert heard.one(id="counts")["data-entry-count"] == str(length)


async def test_a_page_of_some_kinds_is_given_those_alone(lasting: World):
    heard = await told(lasting, A_WORD, ChatResponse("reasoning", "Hm"), show="reasoning")
    assert added(heard) == ["chat_response"]
    assert [tag["data-variant"] for tag in heard if "data-variant" in tag] == ["reasoning"]


async def test_a_changed_call_comes_where_it_is_on_the_page_alone(lasting: World):
    changed = await told(lasting, returned("call_1", "Done."), first=0, last=2)
    assert changed.one(**{"data-kind": "tool_call_request"})["hx-swap-oob"] == "true"
    await append(lasting, called("call_2"), A_WORD)
    elsewhere = await told(lasting, returned("call_2", "Done."), first=0, last=2)
    assert not [tag for tag in elsewhere if "data-kind" in tag]


async def test_a_page_that_missed_very_much_is_given_the_end_anew(lasting: World):
    usual = await run_in_db_thread(shows, lasting)
    await append(lasting, *(ChatResponse("message", f"Word {n}") for n in range(80)))
    async with page(lasting.people["reader"], **(usual | {"questions": []})) as socket:
        heard = read(await socket.everything())
    assert any(tag.get("hx-swap-oob") == "innerHTML:#transcript" for tag in heard)
    assert "Word 79" in heard.one(id="transcript-end").text
    assert any(tag.get("rel") == "prev" for tag in heard)


async def test_however_much_a_page_missed_what_changed_on_it_is_told(lasting: World):
    usual = await run_in_db_thread(shows, lasting) | {"questions": [], "first": 0, "last": 2}
    await append(lasting, returned("call_1", "Done."), TurnStart(), ChatRequest("And now?"))
    await append(lasting, *(ChatResponse("message", f"Word {n}") for n in range(80)))
    async with page(lasting.people["reader"], **usual) as socket:
        heard = read(await socket.everything())
    call = heard.one(**{"data-kind": "tool_call_request"})
    assert call["hx-swap-oob"] == "true"
    assert "Done." in heard.text
    assert [tag["data-outcome"] for tag in heard if tag.get("data-kind") == "inquiry_request"] == [
        "unanswered"
    ]
    assert "Word" not in heard.text


async def test_where_jp_changed_what_was_there_a_page_is_given_its_part_anew(lasting: World):
    def mirrored() -> Conversation:
        talk = Conversation.objects.create(
            workspace=lasting.home, jp_id=7, origin=Origin.MIRRORED, last_activity=timezone.now()
        )
        hold(talk, *(ChatRequest(f"Line {n}") for n in range(120)))
        return talk

    def hold(talk: Conversation, *kinds: Any) -> None:
        elements = stream(TurnStart(), *kinds)
        journal.replace_elements(talk, elements, anchor_ids.make_anchors(elements))
        talk.save()

    talk = await run_in_db_thread(mirrored)
    says = {"conversation": talk.pk, "entry_count": 121, "revision": 0, "first": 50, "last": 70}
    async with page(lasting.people["reader"], **says) as socket:
        await socket.everything()
        await run_in_db_thread(hold, talk, *(ChatRequest(f"Other {n}") for n in range(120)))
        await publisher.publish_conversation_changed(talk.pk)
        heard = read(await socket.everything())
    window = next(tag for tag in heard if tag.get("class") == "window")
    assert int(window["data-first"]) <= 50 <= int(window["data-last"])
    assert "Other 60" in window.text
    assert "id" not in window


@pytest.mark.parametrize("first", [500, 2**31, 10**30])
async def test_a_page_of_what_is_no_more_is_given_what_is_last_and_holds_up_no_other(
    lasting: World, first: int
):
    usual = await run_in_db_thread(shows, lasting) | {"questions": []}
    async with page(lasting.people["owner"], **usual) as other:
        await other.everything()
        says = usual | {"revision": 7, "first": first, "last": 2**31}
        async with page(lasting.people["reader"], **says) as socket:
            assert "call_1" in read(await socket.everything()).text
            await append(lasting, A_WORD)
            assert added(read(await other.everything())) == ["chat_response"]


async def test_the_first_event_of_a_conversation_ends_that_nothing_was_said(lasting: World):
    empty = await run_in_db_thread(
        lambda: Conversation.objects.create(
            workspace=lasting.home, jp_id=8, origin=Origin.NATIVE, last_activity=timezone.now()
        )
    )
    async with page(lasting.people["reader"], conversation=empty.pk, first=-1) as socket:
        await socket.everything()
        await run_in_db_thread(journal.append_events, empty.pk, [making.event(TurnStart())])
        await publisher.publish_conversation_changed(empty.pk)
        heard = read(await socket.everything())
    assert heard.one(id="empty-transcript")["hx-swap-oob"] == "delete"
