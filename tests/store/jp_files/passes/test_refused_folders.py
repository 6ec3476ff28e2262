"""A pass marks as deleted what jp deleted, and nothing whose folder cannot be read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from jpweb.store.choices import WritePolicy
from jpweb.store.errors import NoWorkspace, StoreError
from jpweb.store.jp_files import directory_handles, metadata_file, mirror
from jpweb.store.jp_files.directory_handles import Directory
from jpweb.store.jp_files.metadata_file import MetadataChange
from jpweb.store.models import Conversation, Workspace
from tests.store.making import write_folder

pytestmark = pytest.mark.django_db
FIRST, SECOND = "17000000000-first", "17000000001-second"
LINK_LINE = "it is a symbolic link, and jpweb follows none"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "garden"
    (root / ".jp").mkdir(parents=True)
    (root / ".jp" / ".id").write_text("abcde")
    write_folder(root, FIRST, [], title="A talk")
    return root


def list_removed() -> list[str]:
    removed_rows = Conversation.objects.exclude(removed_at=None).order_by("jp_id")
    return list(removed_rows.values_list("source", flat=True))


def mirror_problems(root: Path) -> list[str]:
    return mirror.mirror_workspace(root)[1].problems


def link_away(folder: Path) -> None:
    """Move a folder, and leave a link to it."""
    target = folder.parent.parent / f"moved-{folder.name}"
    folder.rename(target)
    folder.symlink_to(target)


def test_file_in_place_of_the_conversations_marks_none_deleted(root: Path):
    mirror_problems(root)
    (root / ".jp" / "conversations").rename(root / "away")
    (root / ".jp" / "conversations").write_text("a file")
    with pytest.raises(NoWorkspace, match="conversations cannot be read: Not a directory"):
        mirror.mirror_workspace(root)
    assert list_removed() == []


def test_linked_conversation_is_a_problem_and_not_deleted(root: Path):
    second = write_folder(root, SECOND, [])
    mirror_problems(root)
    link_away(root / ".jp" / "conversations" / FIRST)
    second.rename(root / "away")
    assert mirror_problems(root) == [f"{FIRST}: {LINK_LINE}"]
    assert list_removed() == [SECOND]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO], ids=["access", "input"])
def test_unreadable_conversation_is_a_problem_and_not_deleted(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    mirror_problems(root)

    def refuse(_self: Directory, name: str) -> None:
        raise OSError(number, os.strerror(number), name)

    monkeypatch.setattr(Directory, "stat", refuse)
    assert mirror_problems(root) == [f"{FIRST}: {os.strerror(number)}"]
    assert list_removed() == []


@pytest.mark.parametrize("is_file", [False, True], ids=["link", "file"])
def test_refused_archive_marks_no_archived_conversation_deleted(root: Path, is_file: bool):
    write_folder(root, SECOND, [], archived=True)
    mirror_problems(root)
    archive = root / ".jp" / "conversations" / ".archive"
    (root / ".jp" / "conversations" / FIRST).rename(root / "away")
    link_away(archive)
    if is_file:
        archive.unlink()
        archive.write_text("a file")
    reason = "Not a directory" if is_file else LINK_LINE
    assert mirror_problems(root) == [f".archive: {reason}"]
    assert list_removed() == [FIRST]


@pytest.fixture
def silo(root: Path, no_silo: Path) -> Path:
    """Return the silo of the workspace; its conversation is there alone, and was read."""
    silo = no_silo / "workspace" / "garden-abcde"
    silo.mkdir(parents=True)
    (root / ".jp" / "conversations").rename(silo / "conversations")
    assert mirror_problems(root) == []
    return silo


def refuse_listing(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Have the listing of the user's data fail, and no other."""
    list_entries = directory_handles.list_entries

    def refuse(path: Path) -> list[os.DirEntry[str]]:
        if path.name == "workspace":
            raise OSError(number, os.strerror(number), str(path))
        return list_entries(path)

    monkeypatch.setattr(directory_handles, "list_entries", refuse)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOTDIR], ids=["input", "file"])
@pytest.mark.usefixtures("silo")
def test_unreadable_user_data_ends_the_pass(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    refuse_listing(monkeypatch, number)
    with pytest.raises(NoWorkspace, match=os.strerror(number)):
        mirror.mirror_workspace(root)
    assert list_removed() == []


def test_account_that_may_not_read_the_users_data_has_the_workspace_alone(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    refuse_listing(monkeypatch, errno.EACCES)
    assert mirror_problems(root) == []
    assert mirror_problems(root) == []  # bound to its id by now
    assert Conversation.objects.count() == 1


@pytest.mark.parametrize("name", [FIRST, ".archive"])
def test_title_whose_folder_is_refused_is_not_changed(root: Path, name: str):
    folder = root / ".jp" / "conversations" / FIRST
    if name == ".archive":
        write_folder(root, FIRST, [], title="A talk", archived=True)
        folder.rename(root / "away")
    mirror_problems(root)
    Workspace.objects.update(writing=WritePolicy.CURRENT)
    link_away(root / ".jp" / "conversations" / name)
    with pytest.raises(StoreError, match=LINK_LINE):
        metadata_file.apply_change(Conversation.objects.get().pk, MetadataChange(title="New"))
    assert Conversation.objects.get().title == "A talk"
