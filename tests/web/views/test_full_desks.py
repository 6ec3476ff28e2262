"""Desks for which more waits than they show."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.choices import Role
from jpweb.store.inbox.queue import MAX_INBOX_CARDS
from jpweb.store.models import Conversation, Inquiry
from jpweb.stream.inquiry import Answered
from jpweb.web.websocket import inbox_updates, update_batches
from jpweb.web.websocket.inbox_updates import CardKeys, InboxView
from tests.store import making
from tests.web.reading import Page, read
from tests.web.sockets import page
from tests.web.world import World

MANY = 150


def ask(world: World, many: int) -> list[Inquiry]:
    """Let many questions wait beside the world's own, asked after it; return them in order."""
    asked, there = [], Inquiry.objects.count()
    for n in range(there, there + many):
        row = copy(world.question)
        row.pk, row.anchor, row.inquiry_id = None, f"many-{n}", f"many-{n}"
        asked.append(row)
    Inquiry.objects.bulk_create(asked)
    return list(Inquiry.objects.exclude(pk=world.question.pk).order_by("pk"))


def open_cards(found: Page) -> list[str]:
    articles = [tag for tag in found if tag.tag == "article" and "data-answer-type" in tag]
    return [tag["id"] for tag in articles if tag["data-outcome"] == "open"]


def named(rows: Sequence[Inquiry]) -> list[str]:
    return [f"question-{row.pk}" for row in rows]


@pytest.mark.parametrize("path", ["/questions", "talk"])
def test_a_page_shows_the_oldest_and_weighs_the_same_however_many_wait(world: World, path: str):
    address = f"/conversations/{world.talk.pk}?at=0" if path == "talk" else path
    weights: list[int] = []
    queries: list[int] = []
    rows = [world.question]
    world.client("responder").get(address)  # which notes how far it was read
    for _ in range(2):
        rows = [world.question, *ask(world, MANY)]
        with CaptureQueriesContext(connection) as captured:
            response = world.client("responder").get(address)
        queries.append(len(captured))
        weights.append(len(response.content))
        assert open_cards(read(response)) == named(rows[:MAX_INBOX_CARDS])
    assert queries[0] == queries[1]
    assert weights[0] < 300_000
    assert abs(weights[1] - weights[0]) < 1000


@pytest.mark.parametrize("path", ["/questions", "talk"])
def test_the_page_says_how_many_more_wait(world: World, path: str):
    ask(world, 1203)
    address = f"/conversations/{world.talk.pk}" if path == "talk" else path
    found = read(world.client("responder").get(address))
    assert [tag.text for tag in found if "data-position" in tag][2] == "3 of 1,204"
    assert found.one(id="question-count").text == "999+ waiting"
    assert found.one(id="hidden-count")["data-hidden-count"] == "1104"
    assert found.one(id="hidden-count").text.startswith("1,104 more waiting,")
    Inquiry.objects.exclude(pk=world.question.pk).delete()
    found = read(world.client("responder").get("/questions"))
    assert "hidden" in found.one(id="hidden-count")


@pytest.mark.parametrize("of_talk", [False, True])
async def test_as_cards_are_settled_those_behind_come_up(lasting: World, of_talk: bool):
    rows = [lasting.question, *await run_in_db_thread(ask, lasting, MANY - 1)]
    says: dict[str, Any] = {"inbox": True, "questions": [row.pk for row in rows[:MAX_INBOX_CARDS]]}
    if of_talk:
        await run_in_db_thread(Conversation.objects.get, pk=lasting.talk.pk)
        says["conversation"] = lasting.talk.pk
    async with page(lasting.people["responder"], **says) as socket:
        heard = read(await socket.everything())
        assert not open_cards(heard)
        assert heard.one(id="hidden-count")["data-hidden-count"] == "50"
        assert heard.one(id="question-count")["data-count"] == "150"
        await run_in_db_thread(making.settle, lasting.question, Answered(True))
        await publisher.publish_questions_changed(lasting.home.pk)
        heard = read(await socket.everything())
        assert open_cards(heard) == named(rows[MAX_INBOX_CARDS : MAX_INBOX_CARDS + 1])
        assert heard.one(id="hidden-count")["data-hidden-count"] == "49"


def test_a_card_that_falls_behind_stays_where_it_is_shown(world: World):
    rows = [world.question, *ask(world, MANY - 1)]
    home = frozenset({world.home.pk})
    shown = CardKeys(frozenset(row.pk for row in rows[1 : MAX_INBOX_CARDS + 1]))
    desk = InboxView(home, home, None, shown)
    told = inbox_updates.render_inbox_updates({desk})[desk]
    assert open_cards(read(told.html)) == named(rows[:1])
    assert "no longer available" not in told.html
    assert told.cards.questions == {row.pk for row in rows[: MAX_INBOX_CARDS + 1]}
    assert read(told.html).one(id="hidden-count")["data-hidden-count"] == str(
        MANY - MAX_INBOX_CARDS - 1
    )


def test_what_desks_lack_takes_as_many_queries_however_many_they_and_their_places_are(
    world: World,
):
    ask(world, MANY)
    homes = [making.workspace(f"home {n}") for n in range(12)]
    for home in homes:
        making.person(f"of {home.pk}", Role.OWNER, home)
        making.question(making.running(making.conversation(home)))
    counted = []
    for places in ([world.home], [world.home, *homes]):
        keys = frozenset(home.pk for home in places)
        talks = Conversation.objects.filter(workspace__in=keys)
        desks = {InboxView(keys, keys, talk.pk, CardKeys()) for talk in talks}
        desks |= {InboxView(frozenset({key}), keys, None, CardKeys()) for key in keys}
        with CaptureQueriesContext(connection) as captured:
            told = inbox_updates.render_inbox_updates(desks)
        counted.append(len(captured))
        assert max(len(each.html) for each in told.values()) < 300_000
    assert counted[0] == counted[1]


def test_a_count_goes_no_further_than_is_shown(world: World):
    ask(world, 1500)
    home = frozenset({world.home.pk})
    told = inbox_updates.render_inbox_updates({InboxView(home)})[InboxView(home)]
    assert read(told.html).one(id="question-count")["data-count"] == "1000"
    head = read(world.client("responder").get("/")).one(id="question-count")
    assert head["data-count"] == "1000"


def test_a_desk_is_told_of_what_waits_where_its_person_may_answer_by_now_alone(world: World):
    home, none = frozenset({world.home.pk}), frozenset[int]()
    people = {name: world.people[name].pk for name in ("responder", "reader", "outsider")}
    true = {"responder": (home, home), "reader": (none, home), "outsider": (none, none)}
    pages = [
        (people[name], InboxView(*places, None, CardKeys()))
        for name in people
        for places in true.values()
    ]
    places, told = inbox_updates.find_inbox_updates(pages)
    assert places == {people[name]: where for name, where in true.items()}
    assert set(told) == {InboxView(*where, None, CardKeys()) for where in true.values()}
    assert {desk.answer_workspace_ids for desk in told if "<article" in told[desk].html} == {home}
    places, told = inbox_updates.find_inbox_updates(
        [(people["outsider"], InboxView(home, home, None, CardKeys()))]
    )
    assert (places, told) == ({people["outsider"]: (none, none)}, {})


async def test_pages_whose_roles_stand_are_told_after_one_crossing(
    lasting: World, monkeypatch: pytest.MonkeyPatch
):
    crossed: list[str] = []

    async def counted(function: Any, *args: Any) -> Any:
        crossed.append(function.__name__)
        return await run_in_db_thread(function, *args)

    monkeypatch.setattr(update_batches, "run_in_db_thread", counted)
    async with page(lasting.people["responder"], inbox=True) as socket:
        await socket.everything()
        assert crossed == ["find_inbox_updates", "find_inbox_updates"], (
            "it hears of its workspaces, then reads"
        )
        await run_in_db_thread(ask, lasting, 1)
        await publisher.publish_questions_changed(lasting.home.pk)
        assert "<article" in await socket.everything()
    assert crossed[2:] == ["find_inbox_updates"]


async def test_what_comes_to_wait_before_a_page_hears_of_its_workspace_is_not_missed(
    lasting: World, monkeypatch: pytest.MonkeyPatch
):
    """The roles are read, then comes a question, and only then does the page hear of any."""
    current, asked = inbox_updates.find_inbox_updates, list[Inquiry]()

    def slow(*asked_for: Any) -> Any:
        read_so_far = current(*asked_for)
        if not asked:
            asked.extend(ask(lasting, 1))
        return read_so_far

    monkeypatch.setattr(inbox_updates, "find_inbox_updates", slow)
    async with page(lasting.people["responder"], inbox=True) as socket:
        assert set(named(asked)) < set(open_cards(read(await socket.everything())))
