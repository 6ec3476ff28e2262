"""The law: whatever a workspace holds, nothing outside its root is opened, read or written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jpweb.store import journal
from jpweb.store.choices import Origin, WritePolicy
from jpweb.store.errors import InvalidConfigFile, StoreError
from jpweb.store.jp_files import attachments, config, metadata_file, mirror
from jpweb.store.jp_files.metadata_file import MetadataChange
from jpweb.store.models import Conversation, JournalEntry, Passage, Workspace
from jpweb.stream.events import ChatRequest, TurnStart
from tests.security import hostile
from tests.security.witness import watch_folder
from tests.store import making
from tests.store.background_passes import index_all
from tests.store.making import event, write_folder

pytestmark = pytest.mark.django_db


@pytest.fixture
def outside_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder beside the workspace; the test fails where anything in it was touched."""
    outside_folder = hostile.make_outside(tmp_path / "outside")
    with watch_folder(outside_folder):
        yield outside_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    workspace_folder = tmp_path / "workspace"
    (workspace_folder / ".jp" / "conversations").mkdir(parents=True)
    (workspace_folder / ".jp" / "config.d").mkdir()
    return workspace_folder


def test_witness_detects_files_opened_outside_the_root(tmp_path: Path):
    """The law is worth what its witness sees."""
    outside_folder = hostile.make_outside(tmp_path / "outside")
    touches = (
        (outside_folder / "precious").read_text,
        lambda: (outside_folder / "conversation" / "events.json").open("ab").close(),
        lambda: list((outside_folder / "archive").iterdir()),
        (outside_folder / "locks" / "new").touch,
    )
    for touch in touches:
        with pytest.raises(AssertionError), watch_folder(outside_folder):
            touch()


def test_mirror_reads_nothing_outside_and_names_refused_entries(root: Path, outside_folder: Path):
    expected_lines = hostile.make_entries(root, outside_folder)
    (root / ".jp" / ".id").symlink_to(outside_folder / "id")
    workspace, report = mirror.mirror_workspace(root)
    index_all()
    lines = dict(line.split(": ", 1) for line in report.problems)
    assert lines == expected_lines | {".jp/.id": "it is a symbolic link, and jpweb follows none"}
    assert workspace.jp_id.startswith("~")
    texts = [*JournalEntry.objects.values_list("text", flat=True)]
    texts += Passage.objects.values_list("body", flat=True)
    assert not [text for text in texts if hostile.SECRET in text]
    good = Conversation.objects.get(source=hostile.GOOD)
    assert (good.entry_count, good.problem) == (1, "")
    assert mirror.mirror_workspace(root)[1].conversation_count == report.conversation_count
    assert not [path for path in mirror.list_watched_folders(root) if path.is_symlink()]


@pytest.mark.parametrize("linked_name", [".jp", ".jp/conversations"])
def test_mirror_refuses_a_linked_home(root: Path, outside_folder: Path, linked_name: str):
    shutil.rmtree(root / linked_name)
    (root / linked_name).symlink_to(outside_folder / "other" / linked_name)
    with pytest.raises(StoreError, match="it is a symbolic link"):
        mirror.mirror_workspace(root)
    assert not Workspace.objects.exists()


def test_known_conversations_stay_where_their_files_become_links(root: Path, outside_folder: Path):
    write_folder(root, hostile.GOOD, hostile.ONE)
    mirror.mirror_workspace(root)
    (root / ".jp" / "conversations" / hostile.GOOD / "events.json").unlink()
    (root / ".jp" / "conversations" / hostile.GOOD / "events.json").symlink_to(
        outside_folder / "conversation" / "events.json"
    )
    mirror.mirror_workspace(root)
    conversation = Conversation.objects.get()
    assert conversation.problem == "events.json: it is a symbolic link, and jpweb follows none"
    assert [entry.text for entry in conversation.journal.all()] == [hostile.ONE[0].raw]


@pytest.mark.parametrize(
    "name",
    sorted(set(hostile.make_configurations(Path("/nowhere"))) - hostile.VALID_CONFIGURATIONS),
)
def test_configuration_that_costs_or_leads_out_is_refused(
    root: Path, outside_folder: Path, name: str
):
    hostile.make_configurations(outside_folder)[name](root / ".jp")
    with pytest.raises(InvalidConfigFile) as error:
        config.read_config(root)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("place", "target"),
    [
        ("locks", "locks"),
        ("locks/jp-c{ds}.lock", "lock"),
        ("conversations/.archive", "archive"),
        ("conversations/{name}/events.json", "conversation/events.json"),
        ("conversations/{name}/metadata.json", "conversation/metadata.json"),
        ("conversations/{name}/base_config.json", "precious"),
    ],
)
def test_changes_write_nothing_through_links(
    root: Path, outside_folder: Path, place: str, target: str
):
    write_folder(root, hostile.GOOD, hostile.ONE, last_activated_at="2026-01-02 03:04:05.0")
    workspace, _ = mirror.mirror_workspace(root)
    attachments.set_write_policy(workspace, WritePolicy.CURRENT)
    conversation = Conversation.objects.get()
    path = root / ".jp" / place.format(ds=conversation.jp_id, name=hostile.GOOD)
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(outside_folder / target)
    with pytest.raises(StoreError, match=f"Can't use .*{path.name}|link"):
        metadata_file.apply_change(conversation.pk, MetadataChange(title="Mine", archived=True))
    conversation.refresh_from_db()
    assert (conversation.title, conversation.archived) == (hostile.GOOD, False)


@pytest.mark.parametrize("place", ["{name}/events.json.tmp", ".jpweb-{ds}", "{name}/notes.md"])
def test_changes_pass_over_links_that_are_in_the_way(root: Path, outside_folder: Path, place: str):
    write_folder(root, hostile.GOOD, hostile.ONE, last_activated_at="2026-01-02 03:04:05.0")
    workspace, _ = mirror.mirror_workspace(root)
    attachments.set_write_policy(workspace, WritePolicy.CURRENT)
    conversation = Conversation.objects.get()
    path = root / ".jp/conversations" / place.format(ds=conversation.jp_id, name=hostile.GOOD)
    path.symlink_to(outside_folder / "precious")
    assert metadata_file.apply_change(conversation.pk, MetadataChange(title="Mine")).title == "Mine"


def native(workspace: Workspace) -> Any:
    """Return a conversation that was run here, with the beginning of a turn."""
    conversation = making.conversation(workspace)
    assert conversation.origin == Origin.NATIVE
    run = making.start_run(conversation)
    journal.append_events(conversation.pk, [event(TurnStart()), event(ChatRequest("Hi"))], run)
    return conversation


@pytest.mark.parametrize("place", ["{ds}-a-talk", ".jpweb-{ds}", ".archive/{ds}-a-talk"])
def test_runs_write_nothing_through_links(root: Path, outside_folder: Path, place: str):
    write_folder(root, hostile.GOOD, hostile.ONE)
    workspace, _ = mirror.mirror_workspace(root)
    attachments.set_write_policy(workspace, WritePolicy.CURRENT)
    conversation = native(workspace)
    path = root / ".jp" / "conversations" / place.format(ds=conversation.jp_id)
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside_folder / "conversation")
    attachment = attachments.attach_files(conversation.pk)
    assert attachment is not None
    attachment.write_files()
    attachment.release()
    conversation.refresh_from_db()
    assert ("No longer saved to" in conversation.problem) is place.startswith("{ds}")


def test_silo_links_are_not_followed(root: Path, outside_folder: Path, no_silo: Path):
    silo = no_silo / "workspace" / "workspace-ab1z9"
    (silo / "conversations").mkdir(parents=True)
    (silo / "conversations" / f"{hostile.FIRST + 5}-linked").symlink_to(
        outside_folder / "conversation"
    )
    (silo / "storage").symlink_to(root / ".jp")
    (root / ".jp" / ".id").write_text("ab1z9")
    _, report = mirror.mirror_workspace(root)
    assert report.problems == [
        f"{hostile.FIRST + 5}-linked: it is a symbolic link, and jpweb follows none"
    ]
    (silo / "conversations" / f"{hostile.FIRST + 5}-linked").unlink()
    (silo / "conversations").rmdir()
    (silo / "conversations").symlink_to(outside_folder / "archive")
    with pytest.raises(StoreError, match="it is a symbolic link"):
        mirror.mirror_workspace(root)
