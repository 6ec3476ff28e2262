"""What people change about a conversation, in its row and in JP's files."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from jpweb.store import conversations, journal
from jpweb.store.choices import WritePolicy
from jpweb.store.errors import ReadOnlyConversation, StoreError, UnknownConversation
from jpweb.store.jp_files import attachments, locks, metadata_file, mirror, writer
from jpweb.store.jp_files.metadata_file import ConversationBusy, MetadataChange
from jpweb.store.jp_files.workspace import find_conversation, find_workspace
from jpweb.store.models import Conversation, Workspace
from jpweb.stream.events import ChatRequest, TurnStart
from tests.builders import make_element
from tests.store import making
from tests.store.jp_files.test_locks import held_by_jp

pytestmark = pytest.mark.django_db
DS = 17_700_000_000
EVENTS = [make_element(TurnStart()), make_element(ChatRequest("Hello"))]
ABOUT = {"title": "Old words", "last_activated_at": "2026-01-02 03:04:05.678", "pinned_at": None}
OWN = {"labels": {"kept": "yes"}, "future": {"x": [1, 2.5]}}


@dataclass
class SiloWorkspace:
    """A workspace with a silo, in which one conversation stands in both homes."""

    root: Path
    silo: Path
    workspace: Workspace

    @property
    def homes(self) -> list[Path]:
        return [self.silo / "conversations", self.root / ".jp" / "conversations"]

    @property
    def conversation(self) -> Conversation:
        return Conversation.objects.select_related("workspace").get(jp_id=DS)

    @property
    def lock(self) -> Path:
        return self.silo / "locks" / f"jp-c{DS}.lock"

    def folders(self, subfolder: str = "") -> list[Path]:
        return [path for home in self.homes for path in (home / subfolder).glob(f"{DS}*")]

    def metadata(self, subfolder: str = "") -> dict[str, Any]:
        first, second = [(f / "metadata.json").read_text() for f in self.folders(subfolder)]
        assert first == second
        values: dict[str, Any] = json.loads(first)
        return values

    def unchanged_for_the_mirror(self) -> None:
        """Check that a look at the files finds nothing that the row does not say."""
        row = self.conversation
        assert mirror.mirror_workspace(self.root)[1].changed_ids == []
        folder = find_conversation(find_workspace(self.root), DS)
        assert folder is not None
        assert (row.fingerprint, row.archived) == (folder.fingerprint, folder.is_archived)


@pytest.fixture
def disk(tmp_path: Path, no_silo: Path) -> SiloWorkspace:
    root, silo = tmp_path / "garden", no_silo / "workspace" / "garden-abcde"
    silo.mkdir(parents=True)
    for home in (silo, root / ".jp"):
        folder = home / "conversations" / f"{DS}-old-words"
        folder.mkdir(parents=True)
        (folder / "metadata.json").write_text(json.dumps(ABOUT | OWN, indent=2) + "\n")
        (folder / "events.json").write_bytes(making.stream_file(EVENTS))
        (folder / "base_config.json").write_text("{}\n")
        (folder / "QUERY_MESSAGE.md").write_text("not ours")
    (root / ".jp" / ".id").write_text("abcde\n")
    row, _ = mirror.mirror_workspace(root)
    attachments.set_write_policy(row, WritePolicy.CURRENT)
    return SiloWorkspace(root, silo, Workspace.objects.get(pk=row.pk))


def is_archived(disk: SiloWorkspace) -> bool:
    return disk.conversation.archived


def change(disk: SiloWorkspace, metadata_change: MetadataChange) -> Conversation:
    return metadata_file.apply_change(disk.conversation.pk, metadata_change)


def test_new_title_is_written_to_silo_and_workspace_and_their_folders(disk: SiloWorkspace):
    Conversation.objects.update(needs_indexing=False)
    before = disk.folders()[0].joinpath("events.json").stat()
    result = change(disk, metadata_file.make_title_change("  New\n words! "))
    assert (result.title, disk.conversation.title, disk.conversation.needs_indexing) == (
        "New words!",
        "New words!",
        True,
    )
    assert [folder.name for folder in disk.folders()] == [f"{DS}-new-words"] * 2
    assert disk.metadata() == {
        "title": "New words!",
        "last_activated_at": "2026-01-02 03:04:05.678",
        "labels": {"kept": "yes"},
        "future": {"x": [1, 2.5]},
    }
    for folder in disk.folders():
        assert (folder / "QUERY_MESSAGE.md").read_text() == "not ours"
        assert (folder / "base_config.json").read_text() == "{}\n"
    assert disk.folders()[0].joinpath("events.json").stat().st_mtime_ns == before.st_mtime_ns
    assert not disk.lock.exists()
    disk.unchanged_for_the_mirror()


def test_a_pin_and_labels_are_put_and_taken_away(disk: SiloWorkspace):
    change(disk, MetadataChange(pinned=True))
    change(disk, metadata_file.make_label_change("area = red  roses"))
    assert disk.metadata()["labels"] == {"area": "red roses", "kept": "yes"}
    assert disk.conversation.labels == {"area": "red roses", "kept": "yes"}
    assert disk.conversation.pinned_at is not None
    assert disk.metadata()["pinned_at"].startswith(f"{disk.conversation.pinned_at:%Y-%m-%d %H:%M}")
    change(
        disk, MetadataChange(pinned=False, removed_labels=frozenset({"area", "kept", "unknown"}))
    )
    assert not {"labels", "pinned_at"} & set(disk.metadata())
    row = disk.conversation
    assert row.labels == {}
    assert row.pinned_at is None
    disk.unchanged_for_the_mirror()


def test_apply_change_keeps_a_label_that_jp_added_meanwhile(disk: SiloWorkspace):
    for folder in disk.folders():
        about = ABOUT | {"labels": {"from": "jp"}}
        (folder / "metadata.json").write_text(json.dumps(about))
    change(disk, metadata_file.make_label_change("mine"))
    assert disk.metadata()["labels"] == disk.conversation.labels == {"from": "jp", "mine": ""}


def test_archiving_moves_the_folder_in_each_home_and_back(disk: SiloWorkspace):
    change(disk, MetadataChange(archived=True))
    assert disk.folders() == []
    assert len(disk.folders(".archive")) == 2
    assert disk.metadata(".archive")["archived_at"]
    assert is_archived(disk)
    disk.unchanged_for_the_mirror()
    with pytest.raises(StoreError, match="Unarchive it first"):
        change(disk, metadata_file.make_title_change("x"))
    change(disk, MetadataChange(archived=False))
    assert disk.folders(".archive") == []
    assert "archived_at" not in disk.metadata()
    assert not is_archived(disk)
    disk.unchanged_for_the_mirror()


def test_an_archiving_that_was_cut_off_is_completed_by_the_next(disk: SiloWorkspace):
    change(disk, MetadataChange(archived=True))
    first = disk.homes[0]
    (half,) = (first / ".archive").glob("*")
    half.rename(first / half.name)
    mirror.mirror_workspace(disk.root)
    assert not is_archived(disk)
    change(disk, MetadataChange(archived=True))
    assert (disk.folders(), len(disk.folders(".archive"))) == ([], 2)
    (half,) = (first / ".archive").glob("*")
    half.rename(first / half.name)
    change(disk, MetadataChange(archived=False))
    assert (len(disk.folders()), disk.folders(".archive")) == (2, [])


def test_a_folder_in_the_way_is_kept_aside(disk: SiloWorkspace):
    for home in disk.homes:
        old = home / ".archive" / f"{DS}-older"
        old.mkdir(parents=True)
        (old / "mine.txt").write_text("keep me")
    change(disk, MetadataChange(archived=True))
    assert [folder.name for folder in disk.folders(".archive")] == [f"{DS}-old-words"] * 2
    for home in disk.homes:
        assert (home / ".trash" / f"{DS}-older" / "mine.txt").read_text() == "keep me"
        assert (home / ".trash" / f"{DS}-older" / "TRASHED.md").exists()


CHANGES = [
    metadata_file.make_title_change("x"),
    MetadataChange(pinned=True),
    MetadataChange(archived=True),
    metadata_file.make_label_change("a"),
]


@pytest.mark.parametrize("metadata_change", CHANGES, ids=["title", "pin", "archive", "label"])
def test_apply_change_refuses_and_names_the_jp_that_holds_the_lock(
    disk: SiloWorkspace, metadata_change: MetadataChange, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(metadata_file, "LOCK_TIMEOUT_SECONDS", 0)
    disk.lock.parent.mkdir()
    with held_by_jp(disk.lock):
        before = (
            making.read_tree(disk.silo),
            making.read_tree(disk.root),
            disk.conversation.__dict__,
        )
        with pytest.raises(ConversationBusy, match=r"in use by .* Try again"):
            change(disk, metadata_change)
        after = making.read_tree(disk.silo), making.read_tree(disk.root), disk.conversation.__dict__
    assert after[:2] == before[:2]
    assert {k: v for k, v in after[2].items() if k != "_state"} == {
        k: v for k, v in before[2].items() if k != "_state"
    }


def test_apply_change_is_refused_during_a_turn(
    disk: SiloWorkspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(metadata_file, "LOCK_TIMEOUT_SECONDS", 0)
    with (
        locks.hold_lock(disk.silo, disk.root / ".jp", DS),
        pytest.raises(ConversationBusy, match="A turn is run"),
    ):
        change(disk, MetadataChange(pinned=True))


def test_metadata_of_jp_stays_unless_an_owner_allows_writing(
    disk: SiloWorkspace,
):
    attachments.set_write_policy(disk.workspace, WritePolicy.OFF)
    before = making.read_tree(disk.root)
    for metadata_change in CHANGES:
        with pytest.raises(
            ReadOnlyConversation, match=r"an owner of garden to enable writing on its People page"
        ):
            change(disk, metadata_change)
    assert making.read_tree(disk.root) == before
    assert disk.conversation.title == "Old words"


def test_the_demo_is_not_changed(db: None):
    workspace, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    conversation = Conversation.objects.filter(workspace=workspace).first()
    assert conversation is not None
    with pytest.raises(ReadOnlyConversation, match="demo is read-only"):
        metadata_file.apply_change(conversation.pk, MetadataChange(pinned=True))


@pytest.mark.parametrize("about", ["{", "[]", "{}"], ids=["broken", "list", "lacking"])
def test_metadata_that_cannot_be_read_is_left_as_it_is(disk: SiloWorkspace, about: str):
    for folder in disk.folders():
        (folder / "metadata.json").write_text(about)
    for metadata_change in CHANGES:
        with pytest.raises(StoreError, match=r"metadata\.json"):
            change(disk, metadata_change)
    assert all((f / "metadata.json").read_text() == about for f in disk.folders())
    assert disk.conversation.title == "Old words"


def test_apply_change_refuses_files_of_an_older_jp(disk: SiloWorkspace):
    for folder in disk.folders():
        (folder / "events.json").rename(folder / "messages.json")
    with pytest.raises(StoreError, match="older version of jp"):
        change(disk, MetadataChange(archived=True))
    assert len(disk.folders()) == 2


def test_a_full_disk_changes_nothing_in_the_row(
    disk: SiloWorkspace, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer, "write_conversation", full)
    with pytest.raises(StoreError, match="No space left"):
        change(disk, metadata_file.make_title_change("x"))
    assert disk.conversation.title == "Old words"


def test_apply_change_of_a_removed_conversation_changes_only_the_row(disk: SiloWorkspace):
    for folder in disk.folders():
        shutil.rmtree(folder)
    mirror.mirror_workspace(disk.root)
    change(disk, MetadataChange(pinned=True))
    assert disk.conversation.pinned_at is not None
    assert disk.folders() == []


def native(disk: SiloWorkspace) -> Conversation:
    return conversations.create_conversation(disk.workspace, "Ours", making.person().pk)


def test_apply_change_of_a_native_conversation_changes_only_the_row(disk: SiloWorkspace):
    attachments.set_write_policy(disk.workspace, WritePolicy.OFF)
    conversation, before = native(disk), making.read_tree(disk.root)
    for metadata_change in CHANGES:
        metadata_file.apply_change(conversation.pk, metadata_change)
    conversation.refresh_from_db()
    assert (conversation.title, conversation.labels, conversation.archived) == (
        "x",
        {"a": ""},
        True,
    )
    assert conversation.pinned_at is not None
    assert making.read_tree(disk.root) == before


def test_apply_change_of_an_attached_conversation_changes_its_files(disk: SiloWorkspace):
    conversation = native(disk)
    metadata_file.apply_change(
        conversation.pk, metadata_file.make_label_change("early")
    )  # no file is there yet
    metadata_file.apply_change(conversation.pk, MetadataChange(pinned=True))
    journal.append_events(
        conversation.pk, [making.event(TurnStart()), making.event(ChatRequest("Hi"))]
    )
    attachment = attachments.attach_files(conversation.pk)
    assert attachment is not None
    attachment.write_files()
    attachment.release()
    metadata_file.apply_change(conversation.pk, metadata_file.make_title_change("Renamed here"))
    for home in disk.homes:
        (folder,) = home.glob(f"{conversation.jp_id}*")
        about = json.loads((folder / "metadata.json").read_text())
        assert folder.name == f"{conversation.jp_id}-renamed-here"
        assert (about["title"], about["labels"]) == ("Renamed here", {"early": ""})
        assert about["pinned_at"]
    metadata_file.apply_change(conversation.pk, MetadataChange(archived=True))
    assert [*disk.homes[0].glob(f"{conversation.jp_id}*")] == []


@pytest.mark.parametrize(
    ("text", "message"), [("x" * 501, "up to 500 characters; this one has 501"), ("", "")]
)
def test_a_title_is_bounded_and_may_be_taken_away(disk: SiloWorkspace, text: str, message: str):
    if message:
        with pytest.raises(StoreError, match=message):
            metadata_file.make_title_change(text)
        return
    change(disk, metadata_file.make_title_change(text))
    assert ("title" in disk.metadata(), disk.conversation.title) == (False, "")
    assert [folder.name for folder in disk.folders()] == [str(DS)] * 2


@pytest.mark.parametrize(
    "text", ["", "=x", "1a", "a b", "ä", "a.b", "x" * 65, "a\n=", "a=" + "x" * 201]
)
def test_make_label_change_refuses_invalid_labels(text: str):
    if text == "a\n=":
        assert metadata_file.make_label_change(text).set_labels == {"a": ""}
        return
    with pytest.raises(StoreError, match=r"[Ll]abel"):
        metadata_file.make_label_change(text)


def test_labels_are_bounded(disk: SiloWorkspace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(metadata_file, "MAX_LABELS", 1)
    with pytest.raises(StoreError, match="up to 1 labels"):
        change(disk, metadata_file.make_label_change("more"))
    change(disk, metadata_file.make_label_change("kept=no"))
    assert disk.conversation.labels == {"kept": "no"}


def test_apply_change_of_a_deleted_conversation_is_refused(db: None):
    with pytest.raises(UnknownConversation):
        metadata_file.apply_change(10**9, MetadataChange(pinned=True))


@pytest.mark.django_db(transaction=True)
def test_concurrent_renames_leave_equal_titles_in_silo_and_workspace(disk: SiloWorkspace):
    key, names = disk.conversation.pk, [f"name {n}" for n in range(4)]
    go = threading.Barrier(len(names))

    def rename(name: str) -> None:
        go.wait()
        metadata_file.apply_change(key, metadata_file.make_title_change(name))
        connection.close()

    threads = [threading.Thread(target=rename, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert disk.metadata()["title"] == disk.conversation.title
    assert disk.conversation.title in names
