from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import journal
from jpweb.store.models import Membership
from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from jpweb.stream.inquiry import Answered
from tests.builders import make_result
from tests.store import making
from tests.web.reading import parse_page
from tests.web.sockets import connect_page, make_hello
from tests.web.world import World


async def append_events(world: World, *kinds: Any) -> None:
    await run_in_db_thread(
        journal.append_events, world.conversation.pk, [making.event(k) for k in kinds], world.run
    )
    await publisher.publish_conversation_changed(world.conversation.pk)


def ids(html: str) -> list[str]:
    return [element["id"] for element in parse_page(html) if "id" in element]


async def test_socket_of_an_anonymous_user_is_closed(shared_world: World):
    async with connect_page(AnonymousUser()) as socket:
        assert await socket.closes() == 4401
        await socket.hello(**await run_in_db_thread(make_hello, shared_world))
        assert await socket.hears_nothing()


async def test_socket_hello_returns_missing_events(shared_world: World):
    hello = {"conversation": shared_world.conversation.pk, "inbox": True, "questions": []}
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        html_page = parse_page(await socket.receive_all())
        read_back = await run_in_db_thread(journal.read_elements, shared_world.conversation.pk)
        assert html_page.find_one(id="counts")["data-entry-count"] == str(len(read_back))
        assert html_page.find_one(id="question-count")["data-count"] == "1"
        assert (
            html_page.find_one(id=f"question-{shared_world.question.pk}")["data-outcome"] == "open"
        )
        assert html_page.find_one(id="composer")["data-run"] == f"{shared_world.run.pk}-running"
        assert {e["data-kind"] for e in html_page if "data-kind" in e} >= {e.tag for e in read_back}


async def test_a_page_that_shows_everything_gets_the_counts_alone(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        assert ids(await socket.receive_all()) == ["question-count", "hidden-count"]


async def test_a_page_without_a_conversation_or_a_desk_gets_the_counter_alone(shared_world: World):
    async with connect_page(shared_world.people["responder"], questions=[]) as socket:
        html_page = parse_page(await socket.receive_all())
        assert [e["id"] for e in html_page if "id" in e] == ["question-count"]
        assert html_page.find_one(id="question-count")["data-count"] == "1"


async def test_new_events_are_appended_at_the_end(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["reader"], **hello | {"questions": []}) as socket:
        await socket.receive_all()
        await append_events(shared_world, ChatResponse("message", "A word"))
        html_page = parse_page(await socket.receive_all())
    frame = next(e for e in html_page if e.get("hx-swap-oob", "").startswith("beforeend"))
    assert frame["hx-swap-oob"] == "beforeend:#transcript-end"
    assert [e["data-kind"] for e in html_page if "data-kind" in e] == ["chat_response"]
    assert html_page.find_one(id="partial-text")["hidden"] == ""
    assert html_page.find_one(id="counts")["data-entry-count"] == str(hello["entry_count"] + 1)


async def test_a_new_turn_is_appended_with_its_heading(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        await socket.receive_all()
        await append_events(shared_world, TurnStart(), ChatResponse("message", "Again"))
        html_page = parse_page(await socket.receive_all())
    assert html_page.find_one(id="turn-1")["data-turn"] == "1"
    assert "turn-0" not in [e.get("id") for e in html_page]


async def test_a_tool_call_that_changed_is_replaced(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        await socket.receive_all()
        await run_in_db_thread(making.settle, shared_world.question, Answered(True))
        await append_events(shared_world, make_result("call_1", "All done."))
        html_page = parse_page(await socket.receive_all())
    call = html_page.find_one(**{"data-kind": "tool_call_request"})
    assert call["hx-swap-oob"] == "true"
    assert html_page.find_one(id=shared_world.anchor)["data-outcome"] == "answered"
    assert html_page.find_one(**{"data-kind": "tool_call_response"})


async def test_a_new_question_comes_to_those_who_may_answer(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with (
        connect_page(shared_world.people["responder"], **hello) as answering_socket,
        connect_page(shared_world.people["reader"], **hello | {"questions": []}) as reading,
    ):
        await answering_socket.receive_all()
        await reading.receive_all()
        new = await run_in_db_thread(making.question, shared_world.run)
        await publisher.publish_conversation_changed(shared_world.conversation.pk)
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        card = f"question-{new.pk}"
        html, reader_html = await answering_socket.receive_all(), await reading.receive_all()
    assert parse_page(html).find_one(id=card)["data-outcome"] == "open"
    assert parse_page(html).find_one(id="question-count")["data-count"] == "2"
    assert card not in ids(reader_html)
    assert new.anchor in ids(reader_html), "a reader sees it in the transcript"


async def test_socket_replaces_a_settled_card_with_its_outcome(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(
        shared_world.people["responder"], inbox=True, questions=hello["questions"]
    ) as socket:
        await socket.receive_all()
        await run_in_db_thread(making.settle, shared_world.question, Answered(True))
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        html_page = parse_page(await socket.receive_all())
        card = html_page.find_one(id=f"question-{shared_world.question.pk}")
        assert (card["data-outcome"], card["hx-swap-oob"]) == ("answered", "true")
        assert html_page.find_one(id="question-count")["data-count"] == "0"
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        assert ids(await socket.receive_all()) == ["question-count", "hidden-count"], (
            "it is told once"
        )


async def test_socket_removes_the_card_of_a_deleted_question(shared_world: World):
    async with connect_page(
        shared_world.people["responder"], inbox=True, questions=[10**9]
    ) as socket:
        html = await socket.receive_all()
    assert "no longer available" in html
    assert f"question-{10**9}" in ids(html)


@pytest.mark.parametrize("person_name", ["outsider", "rival"])
async def test_naming_a_card_shows_nothing_of_other_peoples_questions(
    shared_world: World, person_name: str
):
    await run_in_db_thread(making.settle, shared_world.question, Answered("a private answer"))
    async with connect_page(
        shared_world.people[person_name], inbox=True, questions=[shared_world.question.pk]
    ) as socket:
        html = await socket.receive_all()
    assert "no longer available" in html
    assert "private" not in html
    assert "Go on?" not in html


async def test_socket_removes_open_cards_of_a_person_without_the_role(shared_world: World):
    await run_in_db_thread(
        Membership.objects.filter(person=shared_world.people["responder"]).update, role=10
    )
    async with connect_page(
        shared_world.people["responder"], **await run_in_db_thread(make_hello, shared_world)
    ) as socket:
        html = await socket.receive_all()
    assert "no longer available" in html
    assert "Go on?" not in html


async def test_socket_sends_partial_text_escaped(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        await socket.receive_all()
        await publisher.publish_partial_text(
            shared_world.conversation.pk, "reasoning", "Hm <script>alert(1)</script>"
        )
        html = await socket.receive()
    html_page = parse_page(html)
    assert "reasoning" in html_page.find_one(id="partial-text")["class"]
    assert "Hm <script>" in html_page.text
    assert not [e for e in html_page if e.tag == "script"]


@pytest.mark.parametrize(
    "text",
    [
        " ",
        "{",
        "[]",
        "1",
        '"x"',
        "null",
        '{"questions": 1}',
        '{"questions": ["x"]}',
        '{"questions": [null]}',
        '{"conversation": "x"}',
        '{"conversation": {}}',
        '{"conversation": -1}',
        '{"questions": [[]]}',
        '{"entry_count": "x"}',
        '{"entry_count": Infinity}',
        '{"entry_count": NaN}',
        '{"entry_count": -1}',
        '{"conversation": 1e30}',
        '{"search": "\\ud800"}',
        '{"run": "\\udfff"}',
        '{"metadata": "\\ud800"}',
        f'{{"conversation": {"9" * 200}}}',
        f'{{"questions": [{2**63}]}}',
        "[" * 100000,
    ],
)
async def test_a_word_that_cannot_be_read_closes(shared_world: World, text: str):
    async with connect_page(shared_world.people["owner"]) as socket:
        await socket.say(text)
        assert await socket.closes() == 4400
        await socket.hello(**await run_in_db_thread(make_hello, shared_world))
        assert await socket.hears_nothing()


async def test_a_page_that_searches_for_half_a_character_breaks_no_other(shared_world: World):
    hello, people = await run_in_db_thread(make_hello, shared_world), shared_world.people
    async with (
        connect_page(people["owner"], **hello) as owner,
        connect_page(people["reader"], **hello | {"search": "\ud800"}) as reader,
    ):
        await owner.receive_all()
        await reader.hears_nothing()
        await append_events(shared_world, ChatResponse("message", "A word"))
        assert "A word" in await owner.receive_all()


async def test_bytes_are_no_word(shared_world: World):
    async with connect_page(shared_world.people["owner"]) as socket:
        await socket.say_bytes(b"{}")
        assert await socket.closes() == 4400


@pytest.mark.parametrize("person_name", ["outsider", "rival"])
async def test_socket_of_an_outsider_closes_without_content(shared_world: World, person_name: str):
    async with connect_page(
        shared_world.people[person_name], **await run_in_db_thread(make_hello, shared_world)
    ) as socket:
        assert await socket.closes() == 4404
        await append_events(shared_world, ChatResponse("message", "A word"))
        await publisher.publish_partial_text(shared_world.conversation.pk, "message", "Some text")
        assert await socket.hears_nothing()


async def test_socket_of_a_missing_conversation_closes_like_a_forbidden_one(shared_world: World):
    async with connect_page(shared_world.people["owner"], conversation=2**63 - 1) as socket:
        assert await socket.closes() == 4404


async def test_socket_of_a_removed_member_closes_at_the_next_change(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        await socket.receive_all()
        await run_in_db_thread(
            Membership.objects.filter(person=shared_world.people["responder"]).delete
        )
        await append_events(shared_world, ChatResponse("message", "A word"))
        assert await socket.closes() == 4404
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        await publisher.publish_partial_text(shared_world.conversation.pk, "message", "Some text")
        assert await socket.hears_nothing()


async def test_socket_of_a_removed_member_gets_no_partial_text(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        await socket.receive_all()
        await run_in_db_thread(
            Membership.objects.filter(person=shared_world.people["reader"]).delete
        )
        await publisher.publish_partial_text(shared_world.conversation.pk, "message", "Some text")
        assert await socket.closes() == 4404
        assert await socket.hears_nothing()


async def test_socket_reconnect_returns_exactly_the_missed_events(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    await append_events(
        shared_world, ChatResponse("message", "One"), ChatResponse("message", "Two")
    )
    async with connect_page(shared_world.people["reader"], **hello | {"questions": []}) as socket:
        html_page = parse_page(await socket.receive_all())
        assert "One" in html_page.text
        assert "Two" in html_page.text
        assert [e["data-kind"] for e in html_page if "data-kind" in e] == ["chat_response"] * 2
    later_hello = await run_in_db_thread(make_hello, shared_world)
    later_hello["run"] += "-read"
    async with connect_page(
        shared_world.people["reader"], **later_hello | {"questions": []}
    ) as socket:
        assert ids(await socket.receive_all()) == ["question-count", "hidden-count"]


async def test_entries_that_were_replaced_bring_the_whole_transcript(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    shared_world.conversation.revision += 1
    await run_in_db_thread(shared_world.conversation.save, update_fields=["revision"])
    async with connect_page(shared_world.people["reader"], **hello | {"questions": []}) as socket:
        html_page = parse_page(await socket.receive_all())
    frame = next(e for e in html_page if e.get("hx-swap-oob", "").startswith("innerHTML"))
    assert frame["hx-swap-oob"] == "innerHTML:#transcript"
    assert html_page.find_one(id="counts")["data-revision"] == str(hello["revision"] + 1)
    count = len(await run_in_db_thread(journal.read_elements, shared_world.conversation.pk))
    assert len([e for e in html_page if e.get("id", "").startswith("e-")]) == count


async def test_question_of_an_earlier_turn_becomes_unanswered_on_the_page(
    shared_world: World,
):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        await socket.receive_all()
        await append_events(shared_world, ChatResponse("message", "A word"))
        assert shared_world.anchor not in ids(await socket.receive_all())
        await append_events(shared_world, TurnStart(), ChatRequest("Next"))
        html_page = parse_page(await socket.receive_all())
        assert html_page.find_one(id=shared_world.anchor)["data-outcome"] == "unanswered"
        await append_events(shared_world, ChatResponse("message", "More"))
        assert shared_world.anchor not in ids(await socket.receive_all())


async def test_socket_reports_a_conversation_deleted_in_jp_once(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["reader"], **hello) as socket:
        await socket.receive_all()
        shared_world.conversation.removed_at = datetime.now(UTC)
        await run_in_db_thread(shared_world.conversation.save, update_fields=["removed_at"])
        for text in ("Deleted in jp; kept here", ""):
            await publisher.publish_conversation_changed(shared_world.conversation.pk)
            assert text in parse_page(await socket.receive_all()).text


async def test_signals_reach_both_of_two_pages(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with (
        connect_page(shared_world.people["owner"], **hello) as first_socket,
        connect_page(shared_world.people["owner"], **hello) as second_socket,
    ):
        await first_socket.receive_all()
        await second_socket.receive_all()
        await append_events(shared_world, ChatResponse("message", "A word"))
        assert "A word" in await first_socket.receive_all()
        assert "A word" in await second_socket.receive_all()


async def test_a_second_word_joins_no_group_twice(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["owner"], **hello) as socket:
        await socket.receive_all()
        await socket.hello(**hello)
        await socket.receive_all()
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        assert await socket.receive()
        assert await socket.hears_nothing()
