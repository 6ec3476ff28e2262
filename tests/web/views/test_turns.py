"""Saying something to a turn that is under way, trying again one that failed, and its composer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import AsyncMock
from urllib.parse import urljoin

import pytest

from jpweb.runtime import runs
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.store import journal
from jpweb.store import runs as runs_in_store
from jpweb.store.choices import Origin, Role, RunState, WritePolicy
from jpweb.store.database import clock
from jpweb.store.errors import NothingToRetry
from jpweb.store.inquiries import Decider
from jpweb.store.models import Approval, Conversation, Inquiry, Membership, Run, Workspace
from jpweb.stream.events import ChatRequest, ChatResponse
from jpweb.web import display_text
from tests.store import making
from tests.web.reading import ParsedPage, Tag, parse_page
from tests.web.sockets import connect_page, make_hello
from tests.web.world import World


def foot(world: World, person_name: str = "responder") -> ParsedPage:
    return parse_page(world.client(person_name).get(f"/conversations/{world.conversation.pk}"))


def actions(page: ParsedPage) -> set[str]:
    forms = [t for t in page if t.tag == "form" and t.inside(id="composer")]
    return {form["action"].rpartition("/")[2] for form in forms}


def send(world: World, action: str, **fields: str) -> ParsedPage:
    client = world.client("responder")
    return parse_page(
        client.post(f"/conversations/{world.conversation.pk}/{action}", fields, follow=True)
    )


@pytest.mark.parametrize(
    ("writing", "expected"), [(WritePolicy.CURRENT, {"turns"}), (WritePolicy.OFF, set())]
)
def test_a_conversation_of_jp_is_continued_where_an_owner_allows_writing(
    world: World, writing: WritePolicy, expected: set[str]
):
    Run.objects.update(state="done")
    Conversation.objects.filter(pk=world.conversation.pk).update(origin=Origin.MIRRORED)
    Workspace.objects.filter(pk=world.workspace.pk).update(writing=writing)
    page = foot(world)
    assert actions(page) == expected
    text = page.find_one(id="composer").text
    assert ("continues it here" in text) is bool(expected)
    assert ("ask an owner of" in text) is not bool(expected)


def test_own_message_is_not_new_since_the_last_visit(world: World):
    conversation = making.conversation(world.workspace, "Own")
    journal.append_events(conversation.pk, [making.event(ChatResponse("message", "Hi"))])
    clients = [world.client(name) for name in ("responder", "reader")]
    for client in clients:
        client.get(f"/conversations/{conversation.pk}")
    message = making.event(ChatRequest("And now?"))
    runs_in_store.start_run(
        conversation.pk, world.people["responder"].pk, "scripted", "", [message]
    )
    texts = [parse_page(c.get(f"/conversations/{conversation.pk}")).text for c in clients]
    assert ["New since your last visit" in text for text in texts] == [False, True]


@pytest.fixture
def interrupt_mock(monkeypatch: pytest.MonkeyPatch) -> AsyncMock:
    mock = AsyncMock(return_value=True)
    monkeypatch.setattr(runs, "interrupt_run", mock)
    return mock


def test_a_turn_under_way_can_be_stopped_restarted_and_answered(world: World):
    assert actions(foot(world)) == {"stop", "restart", "respond"}
    assert actions(foot(world, "reader")) == set()


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("failed", {"turns", "retry"}),
        ("lost", {"turns", "retry"}),
        ("stopped", {"turns"}),
        ("done", {"turns"}),
    ],
)
def test_failed_turn_has_a_retry_button_for_responders(
    world: World, state: str, expected: set[str]
):
    Run.objects.update(state=state)
    assert actions(foot(world)) == expected
    assert actions(foot(world, "reader")) == set()


@pytest.mark.parametrize(("turn_count", "can_retry"), [(3, True), (4, False)])
def test_failed_turn_that_another_followed_cannot_be_tried_again(
    world: World, turn_count: int, can_retry: bool
):
    Run.objects.update(state="failed", turn_number=2)
    Conversation.objects.filter(pk=world.conversation.pk).update(turns=turn_count)
    assert ("retry" in actions(foot(world))) is can_retry


@pytest.mark.parametrize("kind", display_text.FAILURE_TEXTS)
def test_failed_turn_shows_its_meaning_and_the_providers_text(world: World, kind: str):
    Run.objects.update(state="failed", failure=kind, problem="429: <slow down>")
    failure = foot(world).find_one(**{"data-failure": kind})
    assert display_text.FAILURE_TEXTS[kind] in failure.text
    assert "429: <slow down>" in failure.text


def test_failed_turn_of_an_unknown_kind_shows_its_problem(world: World):
    Run.objects.update(state="failed", failure="novel", problem="It broke.")
    failure = foot(world).find_one(**{"data-failure": "novel"})
    assert failure.text.strip() == "The last turn failed. It broke."


@pytest.mark.parametrize(
    ("action", "fields", "arguments"),
    [
        ("restart", {}, ("restart",)),
        ("respond", {"text": " Use b.\r\nOr c. "}, ("respond", "Use b.\nOr c.")),
    ],
)
def test_interrupt_form_reaches_the_turn(
    world: World,
    interrupt_mock: AsyncMock,
    action: str,
    fields: dict[str, str],
    arguments: tuple[str, ...],
):
    page = send(world, action, **fields)
    by = Decider.from_member(world.people["responder"])
    interrupt_mock.assert_awaited_once_with(world.conversation.pk, by, *arguments)
    assert not [t for t in page if "notice" in t.get("class", "").split()]


@pytest.mark.parametrize("action", ["restart", "respond"])
def test_interrupt_without_a_running_turn_is_reported(
    world: World, interrupt_mock: AsyncMock, action: str
):
    interrupt_mock.return_value = False
    assert "running; nothing was" in send(world, action, text="Hello").text


def test_reply_that_no_turn_hears_is_kept_in_the_field_for_a_message(
    world: World, interrupt_mock: AsyncMock
):
    Run.objects.update(state="done")
    interrupt_mock.return_value = False
    client = world.client("responder")
    url = f"/conversations/{world.conversation.pk}/respond"
    response = client.post(url, {"text": "Use b."}, follow=True)
    assert response.status_code == 422
    assert parse_page(response).find_one(id="text").text.strip() == "Use b."


def test_page_of_a_running_turn_refreshes_unless_turned_off(world: World):
    Inquiry.objects.all().delete()
    Approval.objects.all().delete()
    client, path = world.client("responder"), f"/conversations/{world.conversation.pk}"
    refreshing, writing = '<meta http-equiv="refresh"', "?at=end&amp;refresh=off"
    page = client.get(path).content.decode()
    assert (refreshing in page, writing in page) == (True, True)
    page = client.get(f"{path}?at=end&refresh=off").content.decode()
    assert (refreshing in page, writing in page) == (False, False)
    refused = client.post(f"{path}/turns", {"text": "Hello"}, follow=True).content.decode()
    assert (refreshing in refused, "Hello" in refused) == (False, True)


def test_empty_interrupt_text_is_not_sent(world: World, interrupt_mock: AsyncMock):
    assert "Enter a message." in send(world, "respond", text=" ").text
    interrupt_mock.assert_not_awaited()


@pytest.mark.parametrize("error", [None, NothingToRetry("It did not fail.")])
def test_trying_again_starts_a_run_or_says_why_not(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Any
):
    retried = AsyncMock(side_effect=error)
    monkeypatch.setattr(runs, "retry_turn", retried)
    page = send(world, "retry")
    retried.assert_awaited_once_with(
        world.conversation, world.people["responder"], requires_role=True
    )
    assert ("It did not fail." in page.text) is (error is not None)


@pytest.mark.parametrize("action", ["stop", "restart"])
def test_interrupting_in_a_rolled_back_world_starts_no_task(
    world: World, action: str, monkeypatch: pytest.MonkeyPatch
):
    """A task would outlive the request and lock the database of the next tests."""
    started_ids: list[int] = []
    monkeypatch.setattr(run_executor, "_start_run", started_ids.append)
    world.client("owner").post(f"/conversations/{world.conversation.pk}/{action}")
    assert started_ids == []


@pytest.mark.parametrize(("mode", "is_told"), [("embedded", True), ("workers", False)])
def test_a_turn_that_would_fail_for_its_key_is_refused_before(
    world: World, monkeypatch: pytest.MonkeyPatch, settings: Any, mode: str, is_told: bool
):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    settings.RUN_MODE = mode  # workers have their keys in their own environments
    Run.objects.update(state="done")
    Workspace.objects.filter(pk=world.workspace.pk).update(
        overrides='assistant.model.id = "anthropic/m"'
    )
    problem = "No API key for Anthropic. Set ANTHROPIC_API_KEY"
    assert (problem in foot(world).find_one(id="composer").text) is is_told
    if is_told:
        assert problem in send(world, "turns", text="Hello").text
        assert Run.objects.count() == 1


def test_message_of_several_lines_is_stored_with_the_line_ends_of_jp(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    start_mock = AsyncMock()
    monkeypatch.setattr(runs, "start_turn", start_mock)
    send(world, "turns", text="First\r\nsecond\r\n")
    form = {"workspace": world.workspace.pk, "text": "First\r\nsecond"}
    world.client("responder").post("/conversations/new", form)
    assert [call.args[2] for call in start_mock.await_args_list] == 2 * ["First\nsecond"]


def test_a_turn_beside_a_running_one_is_refused_and_its_text_kept(world: World):
    entry_count, client = world.conversation.journal.count(), world.client("responder")
    url = f"/conversations/{world.conversation.pk}"
    response = client.post(f"{url}/turns", {"text": "Hello there"}, follow=True)
    page = parse_page(response)
    assert "A turn is already running" in page.text
    assert "Hello there" in page.find_one(id="composer").text
    assert Run.objects.count() == 1
    assert world.conversation.journal.count() == entry_count
    links = [tag["href"] for tag in page if "href" in tag and is_turn_link(tag)]
    address = response.request["PATH_INFO"]
    assert {client.get(urljoin(address, link)).status_code for link in links} == {200}
    assert "Hello there" not in parse_page(client.get(url)).text


@pytest.mark.parametrize(
    ("changes", "obstacle"),
    [
        ({}, "enable writing"),
        ({"archived": True}, "jp archived"),
        ({"removed_at": datetime(2026, 1, 1, tzinfo=UTC)}, "jp deleted"),
    ],
    ids=["writing is off", "archived", "deleted"],
)
def test_text_for_a_conversation_that_became_read_only_is_shown(
    shared_world: World, changes: dict[str, Any], obstacle: str
):
    """The files are locked in a thread with a connection of its own."""
    conversations = Conversation.objects.filter(pk=shared_world.conversation.pk)
    Run.objects.update(state="done")
    conversations.update(origin=Origin.MIRRORED, **changes)
    Workspace.objects.filter(pk=shared_world.workspace.pk).update(writing=WritePolicy.OFF)
    client, url = shared_world.client("responder"), f"/conversations/{shared_world.conversation.pk}"
    response = client.post(f"{url}/turns", {"text": "Hello there"}, follow=True)
    assert response.status_code == 422
    composer_text = parse_page(response).find_one(id="composer").text
    assert composer_text.count("Hello there") == 1
    assert obstacle in composer_text
    assert "Not sent" not in parse_page(client.get(url)).find_one(id="composer").text


def test_refused_text_of_a_person_who_lost_the_role_is_shown(world: World):
    client, url = world.client("responder"), f"/conversations/{world.conversation.pk}"
    client.post(f"{url}/turns", {"text": "Hello there"})
    Membership.objects.filter(person=world.people["responder"]).update(role=Role.READER)
    composer_text = parse_page(client.get(url)).find_one(id="composer").text
    assert "Read-only access" in composer_text
    assert composer_text.count("Hello there") == 1


def is_turn_link(tag: Tag) -> bool:
    return tag.inside(id="outline") or tag.inside(**{"class": "turn-head"})


def test_text_that_was_refused_is_kept_for_the_page_of_its_conversation(world: World):
    client, url = world.client("responder"), f"/conversations/{world.conversation.pk}"
    other = making.conversation(world.workspace)
    client.post(f"{url}/turns", {"text": "Hello there"})
    fetched = {"Sec-Fetch-Dest": "empty"}
    for path, headers in ((f"/conversations/{other.pk}", {}), (url, fetched)):
        assert "Hello there" not in parse_page(client.get(path, headers=headers)).text
    assert "Hello there" in parse_page(client.get(url)).text


def test_composer_names_the_default_model(world: World, settings: Any):
    Run.objects.update(state="done")
    settings.PROVIDER, settings.MODEL = "scripted", ""
    assert "to scripted" in foot(world).find_one(id="composer").text
    settings.PROVIDER, settings.MODEL = "nobody", "m"
    page = send(world, "turns", text="Hello")
    assert "nobody" in page.text
    assert Run.objects.count() == 1


async def test_a_run_that_ends_changes_the_foot(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        await socket.receive_all()
        fields = {"state": RunState.FAILED, "ended_at": datetime.now(UTC)}
        await run_in_db_thread(Run.objects.filter(pk=shared_world.run.pk).update, **fields)
        await publisher.publish_conversation_changed(shared_world.conversation.pk)
        html_page = parse_page(await socket.receive_all())
    assert html_page.find_one(id="composer")["data-run"] == f"{shared_world.run.pk}-failed"
    assert [e["id"] for e in html_page if "hx-swap-oob" in e] == ["composer"]


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (RunState.PARKED, RunState.RUNNING, "Running · "),
        (RunState.RUNNING, RunState.PARKED, "Waiting for answers"),
        (RunState.PARKED, RunState.QUEUED, "Queued, waiting for a worker"),
        (RunState.QUEUED, RunState.RUNNING, "Running · "),
    ],
)
async def test_run_status_of_an_open_page_follows_parking_without_the_form(
    shared_world: World, before: RunState, after: RunState, text: str
):
    rows = Run.objects.filter(pk=shared_world.run.pk)
    queued_at = clock.now() - timedelta(seconds=6)
    await run_in_db_thread(rows.update, state=before, fence=1, queued_at=queued_at)
    page = await run_in_db_thread(foot, shared_world)
    hello = await run_in_db_thread(make_hello, shared_world)
    hello["run"] = page.find_one(id="composer")["data-run"]
    status = next((tag["data-run-status"] for tag in page if "data-run-status" in tag), "")
    shown_status = {"run_status": status}
    people = shared_world.people
    async with (
        connect_page(people["responder"], **hello | shown_status) as socket,
        connect_page(people["responder"], **hello) as old_socket,
    ):
        assert "run-status" not in await socket.receive_all()
        await old_socket.receive_all()
        await run_in_db_thread(rows.update, state=after)
        await publisher.publish_conversation_changed(shared_world.conversation.pk)
        html_page = parse_page(await socket.receive_all())
        swapped = [(e["hx-swap-oob"], e.text.strip()) for e in html_page if "hx-swap-oob" in e]
        assert [target for target, _ in swapped] == ["innerHTML:#run-status"]
        assert swapped[0][1].startswith(text)
        assert await old_socket.hears_nothing(), "a page from before has no status of its own"


async def test_failed_run_that_another_turn_followed_is_no_longer_offered(shared_world: World):
    runs = Run.objects.filter(pk=shared_world.run.pk)
    await run_in_db_thread(runs.update, state=RunState.FAILED, turn_number=0)
    hello = await run_in_db_thread(make_hello, shared_world)
    hello["run"] = f"{shared_world.run.pk}-failed"
    async with connect_page(shared_world.people["responder"], **hello) as socket:
        await socket.receive_all()
        turns = Conversation.objects.filter(pk=shared_world.conversation.pk)
        await run_in_db_thread(turns.update, turns=2)
        await publisher.publish_conversation_changed(shared_world.conversation.pk)
        html_page = parse_page(await socket.receive_all())
    composer = html_page.find_one(id="composer")
    assert composer["data-run"] == f"{shared_world.run.pk}-failed-overtaken"
    assert "Try again" not in html_page.text


@pytest.mark.parametrize("has_run", [True, False])
@pytest.mark.parametrize(("name", "new_role"), [("reader", 20), ("responder", 10)])
async def test_composer_of_an_open_page_follows_a_change_of_the_role(
    shared_world: World, name: str, new_role: int, has_run: bool
):
    if not has_run:
        await run_in_db_thread(Run.objects.all().delete)
    page = await run_in_db_thread(foot, shared_world, name)
    hello = await run_in_db_thread(make_hello, shared_world)
    hello["run"] = page.find_one(id="composer")["data-run"]
    async with connect_page(shared_world.people[name], **hello) as socket:
        assert "composer" not in [tag.get("id") for tag in parse_page(await socket.receive_all())]
        memberships = Membership.objects.filter(person=shared_world.people[name])
        await run_in_db_thread(memberships.update, role=new_role)
        await publisher.publish_conversation_changed(shared_world.conversation.pk)
        composer = parse_page(await socket.receive_all()).find_one(id="composer")
    assert ("Read-only access" in composer.text) is (new_role < Role.RESPONDER)
