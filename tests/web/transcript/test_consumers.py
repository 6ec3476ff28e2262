from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import journal
from jpweb.store.choices import RunState
from jpweb.store.models import Membership, Run
from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from jpweb.stream.inquiry import Answered
from tests.builders import returned
from tests.store import making
from tests.web.reading import read
from tests.web.sockets import page, shows
from tests.web.world import World


async def append(world: World, *kinds: Any) -> None:
    await run_in_db_thread(
        journal.append_events, world.talk.pk, [making.event(k) for k in kinds], world.run
    )
    await publisher.publish_conversation_changed(world.talk.pk)


def ids(heard: str) -> list[str]:
    return [element["id"] for element in read(heard) if "id" in element]


async def test_nobody_who_is_not_signed_in_hears_anything(lasting: World):
    async with page(AnonymousUser()) as socket:
        assert await socket.closes() == 4401
        await socket.hello(**await run_in_db_thread(shows, lasting))
        assert await socket.hears_nothing()


async def test_the_first_word_brings_what_is_missing(lasting: World):
    says = {"conversation": lasting.talk.pk, "inbox": True, "questions": []}
    async with page(lasting.people["responder"], **says) as socket:
        heard = read(await socket.everything())
        read_back = await run_in_db_thread(journal.read_elements, lasting.talk.pk)
        assert heard.one(id="counts")["data-entry-count"] == str(len(read_back))
        assert heard.one(id="question-count")["data-count"] == "1"
        assert heard.one(id=f"question-{lasting.question.pk}")["data-outcome"] == "open"
        assert heard.one(id="composer")["data-run"] == f"{lasting.run.pk}-running"
        assert {e["data-kind"] for e in heard if "data-kind" in e} >= {e.tag for e in read_back}


async def test_a_page_that_shows_everything_gets_the_counts_alone(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["responder"], **says) as socket:
        assert ids(await socket.everything()) == ["question-count", "hidden-count"]


async def test_a_page_without_a_conversation_or_a_desk_gets_the_counter_alone(lasting: World):
    async with page(lasting.people["responder"], questions=[]) as socket:
        heard = read(await socket.everything())
        assert [e["id"] for e in heard if "id" in e] == ["question-count"]
        assert heard.one(id="question-count")["data-count"] == "1"


async def test_new_events_are_appended_at_the_end(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["reader"], **says | {"questions": []}) as socket:
        await socket.everything()
        await append(lasting, ChatResponse("message", "A word"))
        heard = read(await socket.everything())
    frame = next(e for e in heard if e.get("hx-swap-oob", "").startswith("beforeend"))
    assert frame["hx-swap-oob"] == "beforeend:#transcript-end"
    assert [e["data-kind"] for e in heard if "data-kind" in e] == ["chat_response"]
    assert heard.one(id="partial-text")["hidden"] == ""
    assert heard.one(id="counts")["data-entry-count"] == str(says["entry_count"] + 1)


async def test_a_new_turn_is_appended_with_its_heading(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["reader"], **says) as socket:
        await socket.everything()
        await append(lasting, TurnStart(), ChatResponse("message", "Again"))
        heard = read(await socket.everything())
    assert heard.one(id="turn-1")["data-turn"] == "1"
    assert "turn-0" not in [e.get("id") for e in heard]


async def test_a_tool_call_that_changed_is_replaced(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["reader"], **says) as socket:
        await socket.everything()
        await run_in_db_thread(making.settle, lasting.question, Answered(True))
        await append(lasting, returned("call_1", "All done."))
        heard = read(await socket.everything())
    call = heard.one(**{"data-kind": "tool_call_request"})
    assert call["hx-swap-oob"] == "true"
    assert heard.one(id=lasting.anchor)["data-outcome"] == "answered"
    assert heard.one(**{"data-kind": "tool_call_response"})


async def test_a_new_question_comes_to_those_who_may_answer(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with (
        page(lasting.people["responder"], **says) as answering,
        page(lasting.people["reader"], **says | {"questions": []}) as reading,
    ):
        await answering.everything()
        await reading.everything()
        new = await run_in_db_thread(making.question, lasting.run)
        await publisher.publish_conversation_changed(lasting.talk.pk)
        await publisher.publish_questions_changed(lasting.home.pk)
        card = f"question-{new.pk}"
        heard, seen = await answering.everything(), await reading.everything()
    assert read(heard).one(id=card)["data-outcome"] == "open"
    assert read(heard).one(id="question-count")["data-count"] == "2"
    assert card not in ids(seen)
    assert new.anchor in ids(seen), "a reader sees it in the transcript"


async def test_a_settled_card_is_replaced_with_what_became_of_it(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["responder"], inbox=True, questions=says["questions"]) as socket:
        await socket.everything()
        await run_in_db_thread(making.settle, lasting.question, Answered(True))
        await publisher.publish_questions_changed(lasting.home.pk)
        heard = read(await socket.everything())
        card = heard.one(id=f"question-{lasting.question.pk}")
        assert (card["data-outcome"], card["hx-swap-oob"]) == ("answered", "true")
        assert heard.one(id="question-count")["data-count"] == "0"
        await publisher.publish_questions_changed(lasting.home.pk)
        assert ids(await socket.everything()) == ["question-count", "hidden-count"], (
            "it is told once"
        )


async def test_a_card_of_a_question_that_is_gone_is_taken_away(lasting: World):
    async with page(lasting.people["responder"], inbox=True, questions=[10**9]) as socket:
        heard = await socket.everything()
    assert "no longer available" in heard
    assert f"question-{10**9}" in ids(heard)


@pytest.mark.parametrize("who", ["outsider", "rival"])
async def test_naming_a_card_shows_nothing_of_other_peoples_questions(lasting: World, who: str):
    await run_in_db_thread(making.settle, lasting.question, Answered("a private answer"))
    async with page(lasting.people[who], inbox=True, questions=[lasting.question.pk]) as socket:
        heard = await socket.everything()
    assert "no longer available" in heard
    assert "private" not in heard
    assert "Go on?" not in heard


async def test_a_card_that_is_open_but_no_longer_ones_own_goes(lasting: World):
    await run_in_db_thread(
        Membership.objects.filter(person=lasting.people["responder"]).update, role=10
    )
    async with page(
        lasting.people["responder"], **await run_in_db_thread(shows, lasting)
    ) as socket:
        heard = await socket.everything()
    assert "no longer available" in heard
    assert "Go on?" not in heard


async def test_a_run_that_ends_changes_the_foot(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["responder"], **says) as socket:
        await socket.everything()
        ended = {"state": RunState.FAILED, "ended_at": datetime.now(UTC)}
        await run_in_db_thread(Run.objects.filter(pk=lasting.run.pk).update, **ended)
        await publisher.publish_conversation_changed(lasting.talk.pk)
        heard = read(await socket.everything())
    assert heard.one(id="composer")["data-run"] == f"{lasting.run.pk}-failed"
    assert [e["id"] for e in heard if "hx-swap-oob" in e] == ["composer"]


async def test_what_is_being_received_is_shown_as_it_is(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["reader"], **says) as socket:
        await socket.everything()
        await publisher.publish_partial_text(
            lasting.talk.pk, "reasoning", "Hm <script>alert(1)</script>"
        )
        heard = await socket.hears()
    shown = read(heard)
    assert "reasoning" in shown.one(id="partial-text")["class"]
    assert "Hm <script>" in shown.text
    assert not [e for e in shown if e.tag == "script"]


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
        f'{{"conversation": {"9" * 200}}}',
        f'{{"questions": [{2**63}]}}',
        "[" * 100000,
    ],
)
async def test_a_word_that_cannot_be_read_closes(lasting: World, text: str):
    async with page(lasting.people["owner"]) as socket:
        await socket.say(text)
        assert await socket.closes() == 4400
        await socket.hello(**await run_in_db_thread(shows, lasting))
        assert await socket.hears_nothing()


async def test_bytes_are_no_word(lasting: World):
    async with page(lasting.people["owner"]) as socket:
        await socket.say_bytes(b"{}")
        assert await socket.closes() == 4400


async def test_page_that_opens_while_a_model_pauses_gets_what_came(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    await publisher.publish_partial_text(lasting.talk.pk, "message", "Some text")
    async with page(lasting.people["reader"], **says) as socket:
        assert "Some text" in read(await socket.everything()).one(id="partial-text").text
    await publisher.publish_partial_text(lasting.talk.pk, "message", "")
    async with page(lasting.people["reader"], **says) as socket:
        assert "partial-text" not in ids(await socket.everything())


async def test_page_that_opens_once_a_text_is_on_record_shows_it_once(lasting: World):
    await publisher.publish_partial_text(lasting.talk.pk, "message", "Some text")
    await append(lasting, ChatResponse("message", "Some text"))
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["reader"], **says) as socket:
        assert "partial-text" not in ids(await socket.everything())


async def test_page_of_an_outsider_gets_no_text_that_came(lasting: World):
    await publisher.publish_partial_text(lasting.talk.pk, "message", "Some text")
    async with page(lasting.people["outsider"], **await run_in_db_thread(shows, lasting)) as socket:
        assert await socket.closes() == 4404
        assert await socket.hears_nothing()


@pytest.mark.parametrize("who", ["outsider", "rival"])
async def test_an_outsider_is_closed_and_told_nothing(lasting: World, who: str):
    async with page(lasting.people[who], **await run_in_db_thread(shows, lasting)) as socket:
        assert await socket.closes() == 4404
        await append(lasting, ChatResponse("message", "A word"))
        await publisher.publish_partial_text(lasting.talk.pk, "message", "Some text")
        assert await socket.hears_nothing()


async def test_a_missing_conversation_closes_like_one_of_others(lasting: World):
    async with page(lasting.people["owner"], conversation=2**63 - 1) as socket:
        assert await socket.closes() == 4404


async def test_who_is_removed_hears_nothing_of_the_next_change(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["responder"], **says) as socket:
        await socket.everything()
        await run_in_db_thread(Membership.objects.filter(person=lasting.people["responder"]).delete)
        await append(lasting, ChatResponse("message", "A word"))
        assert await socket.closes() == 4404
        await publisher.publish_questions_changed(lasting.home.pk)
        await publisher.publish_partial_text(lasting.talk.pk, "message", "Some text")
        assert await socket.hears_nothing()


async def test_who_is_removed_while_text_comes_in_hears_none_of_it(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["reader"], **says) as socket:
        await socket.everything()
        await run_in_db_thread(Membership.objects.filter(person=lasting.people["reader"]).delete)
        await publisher.publish_partial_text(lasting.talk.pk, "message", "Some text")
        assert await socket.closes() == 4404
        assert await socket.hears_nothing()


async def test_coming_back_brings_exactly_what_is_missing(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    await append(lasting, ChatResponse("message", "One"), ChatResponse("message", "Two"))
    async with page(lasting.people["reader"], **says | {"questions": []}) as socket:
        heard = read(await socket.everything())
        assert "One" in heard.text
        assert "Two" in heard.text
        assert [e["data-kind"] for e in heard if "data-kind" in e] == ["chat_response"] * 2
    later = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["reader"], **later | {"questions": []}) as socket:
        assert ids(await socket.everything()) == ["question-count", "hidden-count"]


async def test_entries_that_were_replaced_bring_the_whole_transcript(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    lasting.talk.revision += 1
    await run_in_db_thread(lasting.talk.save, update_fields=["revision"])
    async with page(lasting.people["reader"], **says | {"questions": []}) as socket:
        heard = read(await socket.everything())
    frame = next(e for e in heard if e.get("hx-swap-oob", "").startswith("innerHTML"))
    assert frame["hx-swap-oob"] == "innerHTML:#transcript"
    assert heard.one(id="counts")["data-revision"] == str(says["revision"] + 1)
    count = len(await run_in_db_thread(journal.read_elements, lasting.talk.pk))
    assert len([e for e in heard if e.get("id", "").startswith("e-")]) == count


async def test_a_question_that_the_next_turn_leaves_behind_is_unanswered_on_the_page(
    lasting: World,
):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["reader"], **says) as socket:
        await socket.everything()
        await append(lasting, ChatResponse("message", "A word"))
        assert lasting.anchor not in ids(await socket.everything())
        await append(lasting, TurnStart(), ChatRequest("Next"))
        heard = read(await socket.everything())
        assert heard.one(id=lasting.anchor)["data-outcome"] == "unanswered"
        await append(lasting, ChatResponse("message", "More"))
        assert lasting.anchor not in ids(await socket.everything())


async def test_what_jp_removed_is_said_once(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["reader"], **says) as socket:
        await socket.everything()
        lasting.talk.removed_at = datetime.now(UTC)
        await run_in_db_thread(lasting.talk.save, update_fields=["removed_at"])
        for heard in ("Deleted in jp; kept here", ""):
            await publisher.publish_conversation_changed(lasting.talk.pk)
            assert heard in read(await socket.everything()).text


async def test_signals_reach_both_of_two_pages(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with (
        page(lasting.people["owner"], **says) as one,
        page(lasting.people["owner"], **says) as two,
    ):
        await one.everything()
        await two.everything()
        await append(lasting, ChatResponse("message", "A word"))
        assert "A word" in await one.everything()
        assert "A word" in await two.everything()


async def test_a_second_word_joins_no_group_twice(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["owner"], **says) as socket:
        await socket.everything()
        await socket.hello(**says)
        await socket.everything()
        await publisher.publish_questions_changed(lasting.home.pk)
        assert await socket.hears()
        assert await socket.hears_nothing()
