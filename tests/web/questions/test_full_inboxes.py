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
from jpweb.web.websocket import inbox_batches, inbox_updates
from jpweb.web.websocket.inbox_updates import CardKeys, InboxView
from tests.machine.sizes import mark_proof
from tests.store import making
from tests.web.reading import ParsedPage, parse_page
from tests.web.sockets import connect_page
from tests.web.world import World

MANY = 150


def ask(world: World, many: int) -> list[Inquiry]:
    """Let many questions wait beside the world's own, asked after it; return them in order."""
    rows, count = [], Inquiry.objects.count()
    for n in range(count, count + many):
        row = copy(world.question)
        row.pk, row.anchor, row.inquiry_id = None, f"many-{n}", f"many-{n}"
        rows.append(row)
    Inquiry.objects.bulk_create(rows)
    return list(Inquiry.objects.exclude(pk=world.question.pk).order_by("pk"))


def open_cards(html_page: ParsedPage) -> list[str]:
    articles = [tag for tag in html_page if tag.tag == "article" and "data-answer-type" in tag]
    return [tag["id"] for tag in articles if tag["data-outcome"] == "open"]


def list_card_ids(rows: Sequence[Inquiry]) -> list[str]:
    return [f"question-{row.pk}" for row in rows]


@pytest.mark.parametrize("path", ["/questions", *mark_proof("conversation")])
def test_a_page_shows_the_oldest_and_weighs_the_same_however_many_wait(world: World, path: str):
    address = f"/conversations/{world.conversation.pk}?at=0" if path == "conversation" else path
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
        assert open_cards(parse_page(response)) == list_card_ids(rows[:MAX_INBOX_CARDS])
    assert queries[0] == queries[1]
    assert weights[0] < 300_000
    assert abs(weights[1] - weights[0]) < 1000


@pytest.mark.parametrize("path", ["conversation", *mark_proof("/questions")])
def test_the_page_says_how_many_more_wait(world: World, path: str):
    ask(world, 1203)
    address = f"/conversations/{world.conversation.pk}" if path == "conversation" else path
    html_page = parse_page(world.client("responder").get(address))
    assert [tag.text for tag in html_page if "data-position" in tag][2] == "3 of 1,204"
    assert html_page.find_one(id="question-count").text == "999+ waiting"
    assert html_page.find_one(id="hidden-count")["data-hidden-count"] == "1104"
    assert html_page.find_one(id="hidden-count").text.startswith("1,104 more waiting,")
    Inquiry.objects.exclude(pk=world.question.pk).delete()
    html_page = parse_page(world.client("responder").get("/questions"))
    assert "hidden" in html_page.find_one(id="hidden-count")


@pytest.mark.parametrize("of_conversation", [False, True])
async def test_full_inbox_shows_further_cards_as_cards_are_settled(
    shared_world: World, of_conversation: bool
):
    rows = [shared_world.question, *await run_in_db_thread(ask, shared_world, MANY - 1)]
    hello: dict[str, Any] = {"inbox": True, "questions": [row.pk for row in rows[:MAX_INBOX_CARDS]]}
    if of_conversation:
        await run_in_db_thread(Conversation.objects.get, pk=shared_world.conversation.pk)
        hello["conversation"] = shared_world.conversation.pk
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        html_page = parse_page(await socket.receive_all())
        assert not open_cards(html_page)
        assert html_page.find_one(id="hidden-count")["data-hidden-count"] == "50"
        assert html_page.find_one(id="question-count")["data-count"] == "150"
        await run_in_db_thread(making.settle, shared_world.question, Answered(True))
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        html_page = parse_page(await socket.receive_all())
        assert open_cards(html_page) == list_card_ids(rows[MAX_INBOX_CARDS : MAX_INBOX_CARDS + 1])
        assert html_page.find_one(id="hidden-count")["data-hidden-count"] == "49"


def test_full_inbox_keeps_a_shown_card_beyond_its_limit(world: World):
    rows = [world.question, *ask(world, MANY - 1)]
    workspace_ids = frozenset({world.workspace.pk})
    card_keys = CardKeys(frozenset(row.pk for row in rows[1 : MAX_INBOX_CARDS + 1]))
    inbox = InboxView(workspace_ids, workspace_ids, None, card_keys)
    update = inbox_updates.render_inbox_updates({inbox})[inbox]
    assert open_cards(parse_page(update.html)) == list_card_ids(rows[:1])
    assert "no longer available" not in update.html
    assert update.cards.questions == {row.pk for row in rows[: MAX_INBOX_CARDS + 1]}
    assert parse_page(update.html).find_one(id="hidden-count")["data-hidden-count"] == str(
        MANY - MAX_INBOX_CARDS - 1
    )


def test_an_inbox_that_is_filtered_gets_the_cards_of_its_workspace(world: World):
    elsewhere = making.workspace("Another")
    other = making.question(making.start_run(making.conversation(elsewhere)))
    both = frozenset({world.workspace.pk, elsewhere.pk})
    for workspace_id, card_ids in (
        (elsewhere.pk, list_card_ids([other])),
        (world.workspace.pk, list_card_ids([world.question])),
        (world.other_workspace.pk, []),
    ):
        inbox = InboxView(both, both, None, CardKeys(), workspace_id)
        html_page = parse_page(inbox_updates.render_inbox_updates({inbox})[inbox].html)
        assert open_cards(html_page) == card_ids
        assert html_page.find_one(id="question-count")["data-count"] == "2"


def test_inbox_updates_take_a_fixed_number_of_queries(
    world: World,
):
    ask(world, MANY)
    workspaces = [making.workspace(f"workspace {n}") for n in range(12)]
    for workspace in workspaces:
        making.person(f"of {workspace.pk}", Role.OWNER, workspace)
        making.question(making.start_run(making.conversation(workspace)))
    counts = []
    for places in ([world.workspace], [world.workspace, *workspaces]):
        keys = frozenset(workspace.pk for workspace in places)
        conversations = Conversation.objects.filter(workspace__in=keys)
        desks = {
            InboxView(keys, keys, conversation.pk, CardKeys()) for conversation in conversations
        }
        desks |= {InboxView(frozenset({key}), keys, None, CardKeys()) for key in keys}
        with CaptureQueriesContext(connection) as captured:
            updates = inbox_updates.render_inbox_updates(desks)
        counts.append(len(captured))
        assert max(len(update.html) for update in updates.values()) < 300_000
    assert counts[0] == counts[1]


def test_full_inbox_count_is_limited(world: World):
    ask(world, 1500)
    workspace_ids = frozenset({world.workspace.pk})
    update = inbox_updates.render_inbox_updates({InboxView(workspace_ids)})[
        InboxView(workspace_ids)
    ]
    assert parse_page(update.html).find_one(id="question-count")["data-count"] == "1000"
    head = parse_page(world.client("responder").get("/")).find_one(id="question-count")
    assert head["data-count"] == "1000"


def test_inbox_gets_questions_that_its_person_may_answer_now_alone(world: World):
    workspace_ids, none = frozenset({world.workspace.pk}), frozenset[int]()
    people = {name: world.people[name].pk for name in ("responder", "reader", "outsider")}
    true = {
        "responder": (workspace_ids, workspace_ids),
        "reader": (none, workspace_ids),
        "outsider": (none, none),
    }
    pages = [
        (people[name], InboxView(*places, None, CardKeys()))
        for name in people
        for places in true.values()
    ]
    places, updates = inbox_updates.find_inbox_updates(pages)
    assert places == {people[name]: (*view_key, frozenset()) for name, view_key in true.items()}
    assert set(updates) == {InboxView(*view_key, None, CardKeys()) for view_key in true.values()}
    assert {
        inbox.answer_workspace_ids for inbox in updates if "<article" in updates[inbox].html
    } == {workspace_ids}
    places, updates = inbox_updates.find_inbox_updates(
        [(people["outsider"], InboxView(workspace_ids, workspace_ids, None, CardKeys()))]
    )
    assert (places, updates) == ({people["outsider"]: (none, none, frozenset())}, {})


async def test_inbox_update_with_unchanged_roles_takes_one_db_call(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    crossed: list[str] = []

    async def count_call(function: Any, *args: Any) -> Any:
        crossed.append(function.__name__)
        return await run_in_db_thread(function, *args)

    monkeypatch.setattr(inbox_batches, "run_in_db_thread", count_call)
    async with connect_page(shared_world.people["responder"], inbox=True) as socket:
        await socket.receive_all()
        assert crossed == ["find_inbox_updates", "find_inbox_updates"], (
            "it hears of its workspaces, then reads"
        )
        await run_in_db_thread(ask, shared_world, 1)
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        assert "<article" in await socket.receive_all()
    assert crossed[2:] == ["find_inbox_updates"]


async def test_question_from_before_a_page_knows_its_workspace_is_not_missed(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    """The roles are read, then comes a question, and only then does the page hear of any."""
    current, rows = inbox_updates.find_inbox_updates, list[Inquiry]()

    def slow(*asked_for: Any) -> Any:
        read_so_far = current(*asked_for)
        if not rows:
            rows.extend(ask(shared_world, 1))
        return read_so_far

    monkeypatch.setattr(inbox_updates, "find_inbox_updates", slow)
    async with connect_page(shared_world.people["responder"], inbox=True) as socket:
        assert set(list_card_ids(rows)) < set(open_cards(parse_page(await socket.receive_all())))
