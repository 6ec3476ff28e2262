"""The composer and the tags of open pages follow what may be done with the conversation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import AsyncClient

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import runs
from jpweb.store.choices import Origin, RunState, WritePolicy
from jpweb.store.inbox import queue
from jpweb.store.models import Conversation, Run, Workspace
from tests.web.reading import ParsedPage, parse_page
from tests.web.sockets import connect_page
from tests.web.world import World, signed_in


def load_state(world: World, name: str) -> dict[str, Any]:
    """Return the state of a person's page that was loaded just now."""
    page = load_page(world, name)
    counts = page.find_one(id="counts")
    return {
        "conversation": world.conversation.pk,
        "entry_count": counts["data-entry-count"],
        "revision": counts["data-revision"],
        "run": page.find_one(id="composer")["data-run"],
        "metadata": page.find_one(id="metadata")["data-metadata"],
    }


def load_page(world: World, name: str) -> ParsedPage:
    client = signed_in(world.people[name])
    return parse_page(client.get(f"/conversations/{world.conversation.pk}"))


async def change(world: World, **values: Any) -> None:
    rows = Conversation.objects.filter(pk=world.conversation.pk)
    await run_in_db_thread(rows.update, **values)
    await publisher.publish_conversation_changed(world.conversation.pk)


@pytest.mark.parametrize("has_run", [True, False])
async def test_composer_follows_the_archive_state(shared_world: World, has_run: bool):
    workspaces = Workspace.objects.filter(pk=shared_world.workspace.pk)
    await run_in_db_thread(workspaces.update, writing=WritePolicy.CURRENT)
    await run_in_db_thread(runs.end_run, shared_world.run, RunState.DONE)
    if not has_run:
        await run_in_db_thread(shared_world.run.delete)
    state = await run_in_db_thread(load_state, shared_world, "responder")
    async with connect_page(shared_world.people["responder"], **state) as socket:
        assert "composer" not in await socket.receive_all()
        await change(shared_world, archived=True)
        page = parse_page(await socket.receive_all())
        composer = page.find_one(id="composer")
        assert "This conversation is archived." in composer.text
        assert not page.find_all(id="text")
        archived_state = await run_in_db_thread(load_state, shared_world, "responder")
        assert composer["data-run"] == archived_state["run"]
        await change(shared_world, archived=False)
        page = parse_page(await socket.receive_all())
        assert page.find_one(id="text")
        assert page.find_one(id="composer")["data-run"] == state["run"]


@pytest.mark.parametrize(
    ("values", "state", "status", "obstacle"),
    [
        (
            {"removed_at": datetime(2026, 1, 1, tzinfo=UTC)},
            RunState.PARKED,
            "Waiting for answers",
            "jp deleted this conversation.",
        ),
        ({"archived": True}, RunState.RUNNING, "Running", "This conversation is archived."),
    ],
    ids=["deleted", "archived"],
)
async def test_turn_can_be_stopped_once_jp_took_its_conversation_away(
    shared_world: World, values: dict[str, Any], state: RunState, status: str, obstacle: str
):
    workspaces = Workspace.objects.filter(pk=shared_world.workspace.pk)
    await run_in_db_thread(workspaces.update, writing=WritePolicy.CURRENT)
    await run_in_db_thread(Run.objects.filter(pk=shared_world.run.pk).update, state=state)
    page_state = await run_in_db_thread(load_state, shared_world, "responder")
    async with connect_page(shared_world.people["responder"], **page_state) as socket:
        await socket.receive_all()
        await change(shared_world, **values)
        page = parse_page(await socket.receive_all())
    assert list_actions(page) == ["stop", "restart", "respond"]
    status_text = page.find_one(id="run-status").text
    assert status in status_text
    assert obstacle in status_text
    assert not page.find_all(id="text")
    reader_page = await run_in_db_thread(load_page, shared_world, "reader")
    assert list_actions(reader_page) == []
    assert status in reader_page.find_one(id="run-status").text


def list_actions(page: ParsedPage) -> list[str]:
    forms = [tag for tag in page if tag.tag == "form" and tag.inside(id="composer")]
    return [form["action"].rpartition("/")[2] for form in forms]


@pytest.mark.parametrize(
    ("state", "message"), [("failed", "No more tokens"), ("lost", "server shutdown")]
)
def test_conversation_that_jp_deleted_shows_how_its_last_turn_ended(
    world: World, state: str, message: str
):
    Workspace.objects.update(writing=WritePolicy.CURRENT)
    Run.objects.update(state=state, problem="No more tokens")
    Conversation.objects.update(removed_at=datetime(2026, 1, 1, tzinfo=UTC))
    page = load_page(world, "responder")
    status_text = page.find_one(id="run-status").text
    assert message in status_text
    assert "jp deleted this conversation" in status_text
    assert list_actions(page) == []


async def test_composer_follows_the_setting_to_write_to_the_workspace(shared_world: World):
    workspaces = Workspace.objects.filter(pk=shared_world.workspace.pk)
    await run_in_db_thread(workspaces.update, writing=WritePolicy.CURRENT)
    await run_in_db_thread(runs.end_run, shared_world.run, RunState.DONE)
    await change(shared_world, origin=Origin.MIRRORED)
    client = AsyncClient()
    await run_in_db_thread(client.force_login, shared_world.people["owner"])
    state = await run_in_db_thread(load_state, shared_world, "responder")
    async with connect_page(shared_world.people["responder"], **state) as socket:
        assert "composer" not in await socket.receive_all()
        path = f"/workspaces/{shared_world.workspace.pk}/writing"
        await client.post(path, {"writing": WritePolicy.OFF})
        page = parse_page(await socket.receive_all())
    assert "Managed by jp." in page.find_one(id="composer").text
    assert "Managed by jp." in page.find_one(id="edit-menu-body").text


async def test_tag_of_a_conversation_that_is_continued_here_says_web(shared_world: World):
    await change(shared_world, origin=Origin.MIRRORED)
    state = await run_in_db_thread(load_state, shared_world, "reader")
    async with connect_page(shared_world.people["reader"], **state) as socket:
        await socket.receive_all()
        await change(shared_world, origin=Origin.NATIVE)
        metadata = parse_page(await socket.receive_all()).find_one(id="metadata")
    assert "Web" in metadata.text


def test_marks_differ_once_a_file_cannot_be_read(world: World):
    before = queue.get_conversation_marks([world.conversation.pk])
    Conversation.objects.update(problem="events.json cannot be read")
    assert queue.get_conversation_marks([world.conversation.pk]) != before


def test_marks_differ_once_another_program_may_write(world: World):
    """A signal that is lost costs a delay: processes poll these marks."""
    key = world.conversation.pk
    before = queue.get_conversation_marks([key])
    Workspace.objects.filter(pk=world.workspace.pk).update(writing=WritePolicy.CURRENT)
    written = queue.get_conversation_marks([key])
    Conversation.objects.filter(pk=key).update(origin=Origin.MIRRORED)
    assert before != written != queue.get_conversation_marks([key])
