"""A file that cannot be read for a moment is read by a later pass, although it stays the same."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jpweb.store.errors import StoreError
from jpweb.store.jp_files import attachments, directory_handles, mirror
from jpweb.store.jp_files.external_appends import CopiesDiverged
from jpweb.store.models import Conversation, JournalEntry
from tests.store.jp_files.test_external_appends import (
    ADDED,
    OURS,
    conversation,
    fresh,
    mirror_again,
    on_disk,
    workspace,
)
from tests.store.making import write_folder

__all__ = ["conversation", "workspace"]

pytestmark = pytest.mark.django_db
NAME = "17000000000-talk"
ERRORS = {
    "access": PermissionError(errno.EACCES, os.strerror(errno.EACCES)),
    "handles": OSError(errno.EMFILE, os.strerror(errno.EMFILE)),
    "memory": MemoryError(),
    "moved": FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)),
}


@contextmanager
def failing(name: str, error: BaseException) -> Iterator[None]:
    """Have every reading of a file of this name fail meanwhile."""
    read_file = directory_handles.read_file

    def fail(path: Path, limit: int) -> bytes:
        if path.name == name:
            raise error
        return read_file(path, limit)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(directory_handles, "read_file", fail)
        yield


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_mirrored_conversation_is_read_again(tmp_path: Path, error: BaseException):
    write_folder(tmp_path, NAME, OURS)
    with failing("events.json", error):
        _, report = mirror.mirror_workspace(tmp_path)
        _, again = mirror.mirror_workspace(tmp_path)
    assert [line.partition(":")[0] for line in report.problems] == [NAME]
    assert (len(report.changed_ids), again.changed_ids) == (1, [])
    assert mirror.mirror_workspace(tmp_path)[1].problems == []
    assert Conversation.objects.get().problem == ""
    assert JournalEntry.objects.count() == len(OURS)
    assert mirror.mirror_workspace(tmp_path)[1].unchanged_count == 1


def test_metadata_of_a_mirrored_conversation_are_read_again(tmp_path: Path):
    write_folder(tmp_path, NAME, OURS, title="A talk")
    with failing("metadata.json", ERRORS["access"]):
        mirror.mirror_workspace(tmp_path)
    assert Conversation.objects.get().problem == "metadata.json: Permission denied"
    mirror.mirror_workspace(tmp_path)
    row = Conversation.objects.get()
    assert (row.problem, row.title) == ("", "A talk")


def remove(path: Path) -> None:
    path.unlink()


def link_away(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))


def spoil(path: Path) -> None:
    path.write_text("[")


@pytest.mark.parametrize("name", ["events.json", "metadata.json"])
@pytest.mark.parametrize("change", [remove, link_away, spoil])
def test_lasting_error_is_read_and_reported_once(
    tmp_path: Path, change: Callable[[Path], Any], name: str
):
    change(write_folder(tmp_path, NAME, OURS) / name)
    assert len(mirror.mirror_workspace(tmp_path)[1].problems) == 1
    _, report = mirror.mirror_workspace(tmp_path)
    assert (report.problems, report.unchanged_count) == ([], 1)


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_native_conversation_is_read_again(conversation: Conversation, error: BaseException):
    on_disk(conversation, [*OURS, *ADDED])
    with failing("events.json", error):
        (problem,) = mirror_again(conversation).problems
        assert "its file can't be read: " in problem
        assert fresh(conversation).problem in problem
    assert mirror_again(conversation).changed_ids == [conversation.pk]
    row = fresh(conversation)
    assert (row.problem, row.entry_count) == ("", len(OURS) + len(ADDED))


def test_conversation_that_was_unreadable_is_not_taken_for_a_new_one(conversation: Conversation):
    folder = on_disk(conversation, [*OURS, *ADDED])
    with failing("events.json", ERRORS["access"]), pytest.raises(CopiesDiverged):
        attachments.attach_files(conversation.pk)
    folder.rename(folder.parents[2] / "away")
    with pytest.raises(StoreError, match="jp deleted this conversation"):
        attachments.attach_files(conversation.pk)
