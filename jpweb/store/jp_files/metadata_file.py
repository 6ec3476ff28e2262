"""Changes of a conversation's metadata by people: title, pin, labels, archive.

The files of a conversation are changed before its row, under JP's lock and by JP's rules
(docs/jp-format.md, Metadata, Writing, Locks), and only where an owner lets jpweb write.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from jpweb.store import db_text, journal
from jpweb.store.choices import UNFINISHED_STATES, Origin, WritePolicy
from jpweb.store.database import clock
from jpweb.store.errors import ReadOnlyConversation, StoreError, UnknownConversation
from jpweb.store.jp_files import (
    attachments,
    directory_handles,
    external_appends,
    locks,
    silo_bindings,
    workspace,
    writer,
)
from jpweb.store.jp_files.locks import ConversationLock, LockHeld
from jpweb.store.jp_files.workspace import DiskConversation, DiskWorkspace
from jpweb.store.models import Conversation, Run

#: Characters of a title, of a label's name and of its value; labels of a conversation.
MAX_TITLE_CHARS, MAX_LABEL_NAME_CHARS, MAX_LABEL_VALUE_CHARS, MAX_LABELS = 500, 64, 200, 50
#: Seconds to wait for a program that holds the lock briefly.
LOCK_TIMEOUT_SECONDS = 1.0
#: Syntax of a label's name in JP (RFD 101).
_LABEL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*", re.ASCII)
_ARCHIVE_NAME, _TRASH_NAME = ".archive", ".trash"


@dataclass(frozen=True, slots=True)
class MetadataChange:
    """A change of metadata; None leaves a value. Labels are set by name, or removed."""

    title: str | None = None
    pinned: bool | None = None
    archived: bool | None = None
    set_labels: Mapping[str, str] = field(default_factory=dict)
    removed_labels: frozenset[str] = frozenset()


class ConversationBusy(StoreError):
    """The conversation is locked; names the holder, and says that it can be tried again."""

    def __init__(self, lock_error: LockHeld) -> None:
        reason = "A turn is running in this conversation."
        if lock_error.holder.session != locks.LOCK_SESSION:
            reason = str(lock_error)
        super().__init__(f"{reason} Nothing was changed. Try again when it's done.")


def make_title_change(text: str) -> MetadataChange:
    """Return the change to a title, on one line; an empty one removes the title.

    Raises StoreError for one that is too long.
    """
    title = " ".join(db_text.clean_text(text).split())
    if len(title) > MAX_TITLE_CHARS:
        raise StoreError(
            f"Titles can have up to {MAX_TITLE_CHARS} characters; this one has {len(title)}."
        )
    return MetadataChange(title=title)


def make_label_change(text: str) -> MetadataChange:
    """Return the change that sets a label, written ``name`` or ``name=value``.

    Raises StoreError.
    """
    name, _, value = (part.strip() for part in db_text.clean_text(text).partition("="))
    value = " ".join(value.split())
    if not _LABEL_NAME.fullmatch(name) or len(name) > MAX_LABEL_NAME_CHARS:
        raise StoreError(
            f"“{name[:MAX_LABEL_NAME_CHARS]}” is not a valid label name. "
            "Start with a letter, then use letters, "
            f"digits, “-” or “_”: up to {MAX_LABEL_NAME_CHARS} characters."
        )
    if len(value) > MAX_LABEL_VALUE_CHARS:
        raise StoreError(
            f"Label values can have up to {MAX_LABEL_VALUE_CHARS} characters; "
            f"this one has {len(value)}."
        )
    return MetadataChange(set_labels={name: value})


def get_obstacle(conversation: Conversation) -> str:
    """Return why a conversation cannot be changed here, and the remedy; empty where it can be."""
    workspace_row = conversation.workspace
    if conversation.origin == Origin.IMPORTED:
        return "Imported evidence stays as it was verified."
    if conversation.origin == Origin.NATIVE or conversation.removed_at is not None:
        return ""
    if not attachments.is_attachable(workspace_row):
        return "The demo is read-only."
    if workspace_row.writing == WritePolicy.OFF:
        return (
            f"Managed by jp. Edit it there, or ask an owner of {workspace_row.name} "
            "to enable writing on "
            "its People page."
        )
    return ""


def apply_change(conversation_id: int, change: MetadataChange) -> Conversation:
    """Change a conversation, on disk too where it is there; returns the changed row.

    The last change wins. Raises ReadOnlyConversation, ConversationBusy where ``jp`` or a
    turn holds the lock, UnknownConversation, StoreError where the files cannot be changed;
    then nothing is.
    """
    conversation = _get_conversation(conversation_id)
    obstacle = get_obstacle(conversation)
    if obstacle:
        raise ReadOnlyConversation(obstacle)
    if conversation.workspace.writing == WritePolicy.OFF or conversation.removed_at is not None:
        return _record_change(conversation_id, change, None)
    disk_workspace = silo_bindings.find_writable(conversation.workspace)
    try:
        with locks.hold_lock(
            disk_workspace.silo,
            disk_workspace.root / ".jp",
            conversation.jp_id,
            LOCK_TIMEOUT_SECONDS,
        ) as lock:
            if change.archived:
                _require_ended_turn(conversation_id)
            disk_conversation = workspace.find_conversation(disk_workspace, conversation.jp_id)
            changed_files = None
            if disk_conversation:
                names, _ = external_appends.split_unsaved(conversation.fingerprint)
                unsaved_values = external_appends.collect_unsaved(
                    conversation, names, disk_conversation
                )
                changed_files = _change_files(
                    lock, disk_workspace, disk_conversation, change, unsaved_values
                )
            return _record_change(conversation_id, change, changed_files)
    except LockHeld as lock_error:
        raise ConversationBusy(lock_error) from lock_error
    except OSError as error:
        raise StoreError(
            f"Can't use {error.filename or disk_workspace.root}: {error.strerror}."
        ) from error


def _require_ended_turn(conversation_id: int) -> None:
    """Raise StoreError where a turn waits for people: it could not write into the archive."""
    if Run.objects.filter(conversation_id=conversation_id, state__in=UNFINISHED_STATES).exists():
        raise StoreError(
            "A turn is waiting in this conversation. Answer its questions or stop it, then archive."
        )


def _change_files(
    lock: ConversationLock,
    disk_workspace: DiskWorkspace,
    disk_conversation: DiskConversation,
    change: MetadataChange,
    unsaved_values: Mapping[str, Any],
) -> DiskConversation | None:
    """Apply the change and unsaved values to a conversation's files; returns the files."""
    changes = _list_metadata_changes(disk_conversation, change, unsaved_values)
    if workspace.find_stream_file(disk_conversation.folder).name != writer.EVENTS_NAME:
        raise StoreError("This conversation was saved by an older version of jp. Edit it in jp.")
    if change.archived is False:
        _unarchive_folders(lock, disk_workspace)
        disk_conversation = (
            workspace.find_conversation(disk_workspace, lock.jp_id) or disk_conversation
        )
    elif disk_conversation.is_archived and not change.archived:
        raise StoreError(attachments.ARCHIVED_TEXT)
    is_half_archived = any(
        writer.find_folders(conversation_folder / _ARCHIVE_NAME, lock.jp_id)
        for conversation_folder in disk_workspace.conversation_folders
    )
    if not (change.archived and is_half_archived):  # half: a call was interrupted
        events = workspace.read_events(disk_conversation)
        writer.write_conversation(
            lock,
            disk_workspace.conversation_folders,
            writer.ConversationFiles(changes, events),
            events,
        )
    if change.archived:
        _archive_folders(lock, disk_workspace)
    return workspace.find_conversation(disk_workspace, lock.jp_id)


def _list_metadata_changes(
    disk_conversation: DiskConversation, change: MetadataChange, unsaved_values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the changes of metadata.json; labels are merged with the present ones."""
    changed_at = clock.now()
    changes = dict(unsaved_values)
    if change.title is not None:
        changes["title"] = change.title or None
    if change.pinned is not None:
        changes["pinned_at"] = changed_at if change.pinned else None
    if change.archived is not None:
        changes["archived_at"] = changed_at if change.archived else None
    if change.set_labels or change.removed_labels:
        labels = (
            unsaved_values["labels"] or {}
            if "labels" in unsaved_values
            else workspace.read_metadata(disk_conversation).labels
        )
        changes["labels"] = _merge_labels(labels, change) or None
    return changes


def _merge_labels(labels: Mapping[str, str], change: MetadataChange) -> dict[str, str]:
    merged_labels = {
        name: value for name, value in labels.items() if name not in change.removed_labels
    }
    merged_labels |= change.set_labels
    if change.set_labels and len(merged_labels) > MAX_LABELS:
        raise StoreError(f"A conversation can have up to {MAX_LABELS} labels.")
    return merged_labels


def _archive_folders(lock: ConversationLock, disk_workspace: DiskWorkspace) -> None:
    """Move the folders into the archive of each root; the same call again completes it."""
    for conversation_folder in disk_workspace.conversation_folders:
        for folder in writer.find_folders(conversation_folder, lock.jp_id):
            archive = conversation_folder / _ARCHIVE_NAME
            directory_handles.make_directory(archive)
            for twin in writer.find_folders(archive, lock.jp_id):  # jp deletes it
                writer.move_to_trash(twin, conversation_folder / _TRASH_NAME)
            directory_handles.rename_entry(folder, archive / folder.name)
            directory_handles.sync_directory(archive)
            directory_handles.sync_directory(conversation_folder)


def _unarchive_folders(lock: ConversationLock, disk_workspace: DiskWorkspace) -> None:
    """Move the folders out of the archive of each root; the same call again completes it."""
    for conversation_folder in disk_workspace.conversation_folders:
        archive = conversation_folder / _ARCHIVE_NAME
        for folder in writer.find_folders(archive, lock.jp_id):
            if writer.find_folders(conversation_folder, lock.jp_id):
                writer.move_to_trash(folder, conversation_folder / _TRASH_NAME)
            else:
                directory_handles.rename_entry(folder, conversation_folder / folder.name)
            directory_handles.sync_directory(archive)
            directory_handles.sync_directory(conversation_folder)


@transaction.atomic
def _record_change(
    conversation_id: int, change: MetadataChange, changed_files: DiskConversation | None
) -> Conversation:
    """Apply the change to the row, so that the next mirror pass finds nothing new."""
    journal.lock_conversation(conversation_id)
    row = _get_conversation(conversation_id)
    if change.title is not None:
        row.title = change.title
    if change.pinned is not None:
        row.pinned_at = clock.now() if change.pinned else None
    if change.archived is not None:
        row.archived = change.archived
    unsaved_names, _ = external_appends.split_unsaved(row.fingerprint)
    if change.set_labels or change.removed_labels or "labels" in unsaved_names:
        present_labels = (
            row.labels if changed_files is None else workspace.read_metadata(changed_files).labels
        )
        row.labels = _merge_labels(present_labels, change)
    row.fingerprint = _choose_fingerprint(row, change, changed_files)
    if changed_files is not None and _has_equal_events(changed_files, row):
        row.source = db_text.clean_text(changed_files.folder.name)
    row.needs_indexing = True
    row.save(
        update_fields=[
            *("title", "pinned_at", "archived", "labels", "fingerprint", "source", "needs_indexing")
        ]
    )
    return row


def _choose_fingerprint(
    row: Conversation, change: MetadataChange, changed_files: DiskConversation | None
) -> str:
    """Return the fingerprint of the row; it names the values that a native one's files lack."""
    names, fingerprint = external_appends.split_unsaved(row.fingerprint)
    if changed_files is not None:  # all but an archiving was written into them
        names &= {"archived"}
        if _has_equal_events(changed_files, row):
            fingerprint = changed_files.fingerprint
    elif row.origin == Origin.NATIVE and fingerprint:
        is_changed = {
            "title": change.title is not None,
            "pinned_at": change.pinned is not None,
            "labels": bool(change.set_labels or change.removed_labels),
            "archived": change.archived is True,
        }
        names |= {name for name in is_changed if is_changed[name]}
    if change.archived is False or (changed_files is not None and changed_files.is_archived):
        names -= {"archived"}
    return external_appends.add_unsaved(fingerprint, names)


def _has_equal_events(changed_files: DiskConversation, row: Conversation) -> bool:
    """Tell whether the files have the events that the row was compared with."""
    fingerprints = (changed_files.fingerprint, row.fingerprint)
    disk_stream, stored_stream = (workspace.split_fingerprint(text)[1] for text in fingerprints)
    return disk_stream == stored_stream


def _get_conversation(conversation_id: int) -> Conversation:
    conversation = (
        Conversation.objects.select_related("workspace").filter(pk=conversation_id).first()
    )
    if conversation is None:
        raise UnknownConversation("Conversation not found.")
    return conversation
