"""The title in metadata.json is jp's or a person's, and never what a page shows in its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jpweb.store import conversations, journal, runs
from jpweb.store.choices import RunState, WritePolicy
from jpweb.store.jp_files import attachments, metadata_file, mirror
from jpweb.store.models import Conversation, Workspace
from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from tests.builders import make_element
from tests.store import making
from tests.store.background_passes import scan_all
from tests.store.making import write_folder

pytestmark = pytest.mark.django_db
JP_ID = 17880786645
SECRET = "AKIACANARYCANARY7F3A"
AT = "2026-01-02 03:04:05.0"
TURN = [
    make_element(TurnStart()),
    make_element(ChatRequest(f"Log in with {SECRET}")),
    make_element(ChatResponse("message", "An answer of jp's")),
]
LONG_TITLE = "word " * 150 + "END"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / ".jp" / "conversations").mkdir(parents=True)
    new_workspace, _ = mirror.mirror_workspace(tmp_path)
    attachments.set_write_policy(new_workspace, WritePolicy.CURRENT)
    return Workspace.objects.get(pk=new_workspace.pk)


def play_turn(conversation: Conversation) -> None:
    """Let a turn begin and end, its files written."""
    attachment = attachments.attach_files(conversation.pk)
    assert attachment is not None
    events = [making.event(TurnStart()), making.event(ChatRequest(f"Log in with {SECRET}"))]
    run = making.acquire_run(
        runs.start_run(conversation.pk, making.person().pk, "scripted", "", events)
    )
    attachment.write_files()
    journal.append_events(conversation.pk, [making.event(ChatResponse("message", "Done"))], run)
    attachment.write_files()
    runs.end_run(run, RunState.DONE)
    attachment.release()


def find_folder(conversation: Conversation) -> Path:
    home = Path(conversation.workspace.root) / ".jp" / "conversations"
    (folder,) = home.glob(f"{conversation.jp_id}*")
    return folder


def read_metadata(conversation: Conversation) -> Any:
    return json.loads((find_folder(conversation) / "metadata.json").read_bytes())


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        (f"Log in with {SECRET}", "Log in with [masked "),
        (LONG_TITLE, LONG_TITLE[:500]),
        (None, ""),
    ],
    ids=["masked", "longer than a row's", "none"],
)
def test_turn_leaves_the_title_of_jp(workspace: Workspace, title: str | None, shown: str):
    name = f"{JP_ID}-of-jp" if title else str(JP_ID)
    folder = write_folder(Path(workspace.root), name, TURN, last_activated_at=AT)
    about = {"title": title, "last_activated_at": AT} if title else {"last_activated_at": AT}
    (folder / "metadata.json").write_text(json.dumps(about))
    mirror.mirror_workspace(Path(workspace.root))
    scan_all()
    conversation = Conversation.objects.get(jp_id=JP_ID)
    assert conversation.title.startswith(shown)
    play_turn(conversation)
    metadata = read_metadata(conversation)
    assert {key: metadata[key] for key in metadata if key != "last_activated_at"} == (
        {"title": title} if title else {}
    )
    assert find_folder(conversation) == folder


@pytest.mark.parametrize("title", ["", "Ours"])
def test_new_files_have_the_title_of_the_conversation(workspace: Workspace, title: str):
    conversation = conversations.create_conversation(workspace, title, making.person().pk)
    play_turn(conversation)
    assert read_metadata(conversation).get("title") == (title or None)
    assert find_folder(conversation).name == (
        f"{conversation.jp_id}-ours" if title else str(conversation.jp_id)
    )


def test_new_files_have_the_title_without_masks(workspace: Workspace):
    title = f"Log in with {SECRET}"[:-4] + "…"
    conversation = conversations.create_conversation(workspace, title, making.person().pk)
    Workspace.objects.filter(pk=workspace.pk).update(writing=WritePolicy.OFF)
    events = [making.event(TurnStart()), making.event(ChatRequest(f"Log in with {SECRET}"))]
    run = making.acquire_run(runs.start_run(conversation.pk, making.person().pk, "x", "", events))
    runs.end_run(run, RunState.DONE)
    scan_all()
    conversation.refresh_from_db()
    assert "[masked " in conversation.title
    Workspace.objects.filter(pk=workspace.pk).update(writing=WritePolicy.CURRENT)
    play_turn(conversation)
    assert read_metadata(conversation)["title"] == title
    conversation.refresh_from_db()
    assert "[masked " in conversation.title


def test_title_that_a_person_gives_stays_over_the_next_turn(workspace: Workspace):
    conversation = conversations.create_conversation(workspace, "Ours", making.person().pk)
    play_turn(conversation)
    for title in ("Another", ""):
        metadata_file.apply_change(conversation.pk, metadata_file.make_title_change(title))
        play_turn(conversation)
        conversation.refresh_from_db()
        assert (conversation.title, read_metadata(conversation).get("title")) == (
            title,
            title or None,
        )


def test_title_that_jp_gives_while_a_run_waits_stays(workspace: Workspace):
    conversation = conversations.create_conversation(workspace, "Ours", making.person().pk)
    play_turn(conversation)
    events = [making.event(TurnStart()), making.event(ChatRequest("Again"))]
    runs.start_run(conversation.pk, making.person().pk, "scripted", "", events)
    path = find_folder(conversation) / "metadata.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"title": "Theirs"}))
    attachment = attachments.attach_files(conversation.pk)
    assert attachment is not None
    attachment.write_files()
    attachment.release()
    conversation.refresh_from_db()
    assert (read_metadata(conversation)["title"], conversation.title) == ("Theirs", "Theirs")
