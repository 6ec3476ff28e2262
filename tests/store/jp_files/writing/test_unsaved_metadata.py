"""Metadata that people changed while writing was off reaches the files once it is on again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jpweb.store import conversations
from jpweb.store.choices import WritePolicy
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import attachments, metadata_file, mirror
from jpweb.store.jp_files.metadata_file import MetadataChange
from jpweb.store.models import Conversation, Workspace
from tests.store import making
from tests.store.jp_files.writing.test_titles import (
    AT,
    find_folder,
    play_turn,
    read_metadata,
    workspace,
)

__all__ = ["workspace"]

pytestmark = pytest.mark.django_db
TITLE = metadata_file.make_title_change("Named here")


@pytest.fixture
def conversation(workspace: Workspace) -> Conversation:
    """Return a conversation with files, whose workspace is no longer written."""
    conversation = conversations.create_conversation(workspace, "Ours", making.person().pk)
    play_turn(conversation)
    mirror.mirror_workspace(Path(workspace.root))
    set_policy(WritePolicy.OFF)
    return conversation


def set_policy(policy: WritePolicy) -> None:
    attachments.set_write_policy(Workspace.objects.get(), policy)


def change_later(conversation: Conversation, *changes: MetadataChange) -> None:
    """Have people change a conversation while writing is off, and turn it on again."""
    for change in changes:
        metadata_file.apply_change(conversation.pk, change)
    set_policy(WritePolicy.CURRENT)


def save_as_jp(conversation: Conversation, **values: Any) -> None:
    """Have jp change metadata, and let a pass read it."""
    path = find_folder(conversation) / "metadata.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | values))
    mirror_again(conversation)


def mirror_again(conversation: Conversation) -> Conversation:
    mirror.mirror_workspace(Path(conversation.workspace.root))
    return fresh()


def fresh() -> Conversation:
    return Conversation.objects.select_related("workspace").get()


def test_next_turn_writes_unsaved_metadata(conversation: Conversation):
    label = metadata_file.make_label_change("a=x")
    change_later(conversation, TITLE, label, MetadataChange(pinned=True))
    save_as_jp(conversation, labels={"b": "y"})
    assert (fresh().title, fresh().labels) == ("Named here", {"a": "x"})
    play_turn(conversation)
    metadata = read_metadata(conversation)
    assert (metadata["title"], metadata["labels"]) == ("Named here", {"a": "x", "b": "y"})
    assert metadata["pinned_at"]
    row = mirror_again(conversation)
    assert (row.title, row.labels, row.problem) == ("Named here", {"a": "x", "b": "y"}, "")
    assert row.pinned_at is not None
    save_as_jp(conversation, title="Theirs")
    assert fresh().title == "Theirs"


@pytest.mark.parametrize("is_written", [False, True], ids=["off", "on"])
def test_metadata_that_people_left_is_that_of_jp(conversation: Conversation, *, is_written: bool):
    metadata_file.apply_change(conversation.pk, metadata_file.make_label_change("a"))
    if is_written:
        set_policy(WritePolicy.CURRENT)
    save_as_jp(conversation, title="Theirs", pinned_at=AT)
    set_policy(WritePolicy.CURRENT)
    play_turn(conversation)
    row = mirror_again(conversation)
    assert (row.title, row.labels, row.pinned_at is not None) == ("Theirs", {"a": ""}, True)
    metadata = read_metadata(conversation)
    assert (metadata["title"], metadata["labels"]) == ("Theirs", {"a": ""})


def test_next_change_writes_unsaved_metadata(conversation: Conversation):
    change_later(conversation, TITLE, metadata_file.make_label_change("a"))
    metadata_file.apply_change(conversation.pk, metadata_file.make_label_change("b"))
    metadata = read_metadata(conversation)
    assert (metadata["title"], metadata["labels"]) == ("Named here", {"a": "", "b": ""})
    assert (fresh().title, fresh().labels) == ("Named here", {"a": "", "b": ""})
    assert mirror.mirror_workspace(Path(conversation.workspace.root))[1].changed_ids == []
    save_as_jp(conversation, title="Theirs")
    assert fresh().title == "Theirs"


def test_archived_conversation_stays_archived_until_a_person_unarchives_it(
    conversation: Conversation,
):
    change_later(conversation, MetadataChange(archived=True))
    save_as_jp(conversation, title="Theirs")
    metadata_file.apply_change(conversation.pk, MetadataChange(pinned=True))
    assert (fresh().title, mirror_again(conversation).archived) == ("Theirs", True)
    with pytest.raises(StoreError, match="Unarchive it first"):
        attachments.attach_files(conversation.pk)
    metadata_file.apply_change(conversation.pk, MetadataChange(archived=False))
    play_turn(conversation)
    assert (mirror_again(conversation).archived, fresh().problem) == (False, "")


def test_conversation_archived_here_and_by_jp_follows_jp(conversation: Conversation):
    change_later(conversation, MetadataChange(archived=True))
    folder = find_folder(conversation)
    archive = folder.parent / ".archive"
    archive.mkdir()
    folder.rename(archive / folder.name)
    (archive / folder.name / "metadata.json").write_text("{}")
    assert mirror_again(conversation).archived
    (archive / folder.name).rename(folder)
    save_as_jp(conversation, title="Theirs")
    assert not fresh().archived
