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
from jpweb.store.search import indexer
from jpweb.stream.events import ChatRequest, TurnStart
from tests.security import hostile
from tests.security.witness import watched
from tests.store import making
from tests.store.making import event, folder

pytestmark = pytest.mark.django_db


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder beside the workspace; the test fails where anything in it was touched."""
    made = hostile.make_outside(tmp_path / "outside")
    with watched(made):
        yield made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    (made / ".jp" / "conversations").mkdir(parents=True)
    (made / ".jp" / "config.d").mkdir()
    return made


def test_witness_sees_what_is_opened_outside(tmp_path: Path):
    """The law is worth what its witness sees."""
    made = hostile.make_outside(tmp_path / "outside")
    touches = (
        (made / "precious").read_text,
        lambda: (made / "conversation" / "events.json").open("ab").close(),
        lambda: list((made / "archive").iterdir()),
        (made / "locks" / "new").touch,
    )
    for touch in touches:
        with pytest.raises(AssertionError), watched(made):
            touch()


def test_mirror_reads_nothing_outside_and_names_what_it_refuses(root: Path, outside: Path):
    said = hostile.make_entries(root, outside)
    (root / ".jp" / ".id").symlink_to(outside / "id")
    home, report = mirror.mirror_workspace(root)
    while indexer.index_next():
        pass
    lines = dict(line.split(": ", 1) for line in report.problems)
    assert lines == said | {".jp/.id": "it is a symbolic link, and jpweb follows none"}
    assert home.jp_id.startswith("~")
    whole = [*JournalEntry.objects.values_list("text", flat=True)]
    whole += Passage.objects.values_list("body", flat=True)
    assert not [text for text in whole if hostile.SECRET in text]
    good = Conversation.objects.get(source=hostile.GOOD)
    assert (good.entry_count, good.problem) == (1, "")
    assert mirror.mirror_workspace(root)[1].conversation_count == report.conversation_count
    assert not [path for path in mirror.list_watched_folders(root) if path.is_symlink()]


@pytest.mark.parametrize("linked", [".jp", ".jp/conversations"])
def test_mirror_refuses_a_linked_home(root: Path, outside: Path, linked: str):
    shutil.rmtree(root / linked)
    (root / linked).symlink_to(outside / "other" / linked)
    with pytest.raises(StoreError, match="it is a symbolic link"):
        mirror.mirror_workspace(root)
    assert not Workspace.objects.exists()


def test_known_conversations_stay_where_their_files_become_links(root: Path, outside: Path):
    folder(root, hostile.GOOD, hostile.ONE)
    mirror.mirror_workspace(root)
    (root / ".jp" / "conversations" / hostile.GOOD / "events.json").unlink()
    (root / ".jp" / "conversations" / hostile.GOOD / "events.json").symlink_to(
        outside / "conversation" / "events.json"
    )
    mirror.mirror_workspace(root)
    talk = Conversation.objects.get()
    assert talk.problem == "events.json: it is a symbolic link, and jpweb follows none"
    assert [entry.text for entry in talk.journal.all()] == [hostile.ONE[0].raw]


@pytest.mark.parametrize("name", hostile.configurations(Path("/nowhere")))
def test_configuration_that_costs_or_leads_out_is_refused(root: Path, outside: Path, name: str):
    hostile.configurations(outside)[name](root / ".jp")
    with pytest.raises(InvalidConfigFile) as refused:
        config.read_config(root)
    assert "\n" not in str(refused.value)


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
def test_changes_write_nothing_through_links(root: Path, outside: Path, place: str, target: str):
    folder(root, hostile.GOOD, hostile.ONE, last_activated_at="2026-01-02 03:04:05.0")
    home, _ = mirror.mirror_workspace(root)
    attachments.set_write_policy(home, WritePolicy.CURRENT)
    talk = Conversation.objects.get()
    path = root / ".jp" / place.format(ds=talk.jp_id, name=hostile.GOOD)
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(outside / target)
    with pytest.raises(StoreError, match=f"Can't use .*{path.name}|link"):
        metadata_file.apply_change(talk.pk, MetadataChange(title="Mine", archived=True))
    talk.refresh_from_db()
    assert (talk.title, talk.archived) == (hostile.GOOD, False)


@pytest.mark.parametrize("place", ["{name}/events.json.tmp", ".jpweb-{ds}", "{name}/notes.md"])
def test_changes_pass_over_links_that_are_in_the_way(root: Path, outside: Path, place: str):
    folder(root, hostile.GOOD, hostile.ONE, last_activated_at="2026-01-02 03:04:05.0")
    home, _ = mirror.mirror_workspace(root)
    attachments.set_write_policy(home, WritePolicy.CURRENT)
    talk = Conversation.objects.get()
    path = root / ".jp/conversations" / place.format(ds=talk.jp_id, name=hostile.GOOD)
    path.symlink_to(outside / "precious")
    assert metadata_file.apply_change(talk.pk, MetadataChange(title="Mine")).title == "Mine"


def native(home: Workspace) -> Any:
    """Return a conversation that was run here, with the beginning of a turn."""
    talk = making.conversation(home)
    assert talk.origin == Origin.NATIVE
    run = making.running(talk)
    journal.append_events(talk.pk, [event(TurnStart()), event(ChatRequest("Hi"))], run)
    return talk


@pytest.mark.parametrize("place", ["{ds}-a-talk", ".jpweb-{ds}", ".archive/{ds}-a-talk"])
def test_runs_write_nothing_through_links(root: Path, outside: Path, place: str):
    folder(root, hostile.GOOD, hostile.ONE)
    home, _ = mirror.mirror_workspace(root)
    attachments.set_write_policy(home, WritePolicy.CURRENT)
    talk = native(home)
    path = root / ".jp" / "conversations" / place.format(ds=talk.jp_id)
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside / "conversation")
    held = attachments.attach_files(talk.pk)
    assert held is not None
    held.write_files()
    held.release()
    talk.refresh_from_db()
    assert ("No longer saved to" in talk.problem) is place.startswith("{ds}")


def test_silo_links_are_not_followed(root: Path, outside: Path, no_silo: Path):
    silo = no_silo / "workspace" / "workspace-ab1z9"
    (silo / "conversations").mkdir(parents=True)
    (silo / "conversations" / f"{hostile.FIRST + 5}-linked").symlink_to(outside / "conversation")
    (silo / "storage").symlink_to(root / ".jp")
    (root / ".jp" / ".id").write_text("ab1z9")
    _, report = mirror.mirror_workspace(root)
    assert report.problems == [
        f"{hostile.FIRST + 5}-linked: it is a symbolic link, and jpweb follows none"
    ]
    (silo / "conversations" / f"{hostile.FIRST + 5}-linked").unlink()
    (silo / "conversations").rmdir()
    (silo / "conversations").symlink_to(outside / "archive")
    with pytest.raises(StoreError, match="it is a symbolic link"):
        mirror.mirror_workspace(root)
