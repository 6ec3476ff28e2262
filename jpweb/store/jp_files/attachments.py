"""Attachment of conversations to a workspace: their files are written there as JP's own.

A run holds JP's lock until it ends, as JP itself does (docs/jp-format.md, Locks). A mirrored
conversation that is continued here becomes a native one, and its file is appended to.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from jpweb.store import journal
from jpweb.store.choices import Act, Origin, WritePolicy
from jpweb.store.errors import NoWorkspace, StoreError
from jpweb.store.jp_files import external_appends, locks, mirror, silo_bindings, workspace, writer
from jpweb.store.jp_files.workspace import DiskConversation, DiskWorkspace
from jpweb.store.ledger.entries import OPERATOR, Actor, Place, record_act
from jpweb.store.models import DEMO_ROOT, Conversation, Workspace
from jpweb.store.redaction.application import has_redactions
from jpweb.stream import wire
from jpweb.stream.errors import StreamError
from jpweb.stream.events import ConversationEvent, Element

logger = logging.getLogger(__name__)

#: Seconds to wait for a ``jp`` that is about to release its lock.
LOCK_TIMEOUT_SECONDS = 2.0
_REMOVED_TEXT = "jp deleted this conversation. Only this copy remains."
ARCHIVED_TEXT = "This conversation is archived. Unarchive it first."


@dataclass(slots=True)
class Attachment:
    """The locked files of one conversation. ``known_events`` is their content, None for new ones.

    A failure to write is noted and ends the writing. The run continues: the journal has
    every event.
    """

    conversation_id: int
    disk_workspace: DiskWorkspace
    lock: locks.ConversationLock
    known_events: bytes | None
    #: Metadata of the row that the files lack: all of it where they are new.
    unsaved_names: frozenset[str]
    exit_stack: ExitStack
    has_failed: bool = False

    def write_files(self) -> None:
        """Write the journal's present events into the files."""
        if self.has_failed:
            return
        conversation = _get_conversation(self.conversation_id)
        events = _make_events_file(conversation)
        try:
            metadata = self._collect_metadata(conversation)
            files = writer.ConversationFiles(metadata, events)
            writer.write_conversation(
                self.lock, self.disk_workspace.conversation_folders, files, self.known_events
            )
        except (OSError, StoreError, StreamError) as error:
            self.has_failed = True
            reason = str(error).rstrip(".")  # pages show the problem as a sentence
            problem = f"{external_appends.SAVE_FAILURE} {self.disk_workspace.root}: {reason}"
            logger.warning("jp-c%s: %s", conversation.jp_id, problem)
            Conversation.objects.filter(pk=conversation.pk).update(problem=problem[:500])
        else:
            if self.unsaved_names:
                self._record_files(conversation, metadata)
            self.known_events = events
            if conversation.problem.startswith(external_appends.SAVE_FAILURE):
                Conversation.objects.filter(pk=conversation.pk).update(problem="")

    def _collect_metadata(self, conversation: Conversation) -> dict[str, Any]:
        """Return the metadata to write; later changes of people are written at once."""
        metadata: dict[str, Any] = {"last_activated_at": conversation.last_activity}
        if self.unsaved_names:
            files = None
            if self.known_events is not None:
                files = workspace.find_conversation(self.disk_workspace, conversation.jp_id)
            metadata |= external_appends.collect_unsaved(conversation, self.unsaved_names, files)
        return metadata

    def _record_files(self, conversation: Conversation, metadata: dict[str, Any]) -> None:
        """Record the written files: if they are gone later, jp deleted them."""
        values = {"labels": metadata["labels"] or {}} if "labels" in metadata else {}
        self.unsaved_names = frozenset()
        with suppress(OSError, StoreError):  # then the next pass records it
            files = workspace.find_conversation(self.disk_workspace, conversation.jp_id)
            if files is not None:
                rows = Conversation.objects.filter(pk=conversation.pk)
                rows.update(fingerprint=files.fingerprint, **values)

    def release(self) -> None:
        """Release JP's lock on the conversation."""
        self.exit_stack.close()


@transaction.atomic
def set_write_policy(
    workspace_row: Workspace, policy: WritePolicy, actor: Actor = OPERATOR
) -> None:
    """Set whether native conversations of a workspace are written into it.

    Raises NoWorkspace where its files do not exist, StoreError for the demo, which is part
    of jpweb.
    """
    if policy != WritePolicy.OFF:
        if not is_attachable(workspace_row):
            raise StoreError("The demo is read-only.")
        silo_bindings.find_writable(workspace_row)
    Workspace.objects.filter(pk=workspace_row.pk).update(writing=policy)
    details = {"setting": "writing", "value": str(policy)}
    record_act(Act.SETTING_CHANGED, actor, Place(workspace_row.pk), **details)


def is_attachable(workspace_row: Workspace) -> bool:
    """Tell whether conversations can be written into a workspace: not into the demo."""
    return workspace_row.root != DEMO_ROOT


def get_turn_obstacle(conversation: Conversation) -> str:
    """Return why no turn can start in a conversation, and the remedy; empty where one can."""
    if conversation.origin == Origin.NATIVE:
        return _get_native_obstacle(conversation)
    workspace_row = conversation.workspace
    obstacles = {
        "Imported evidence is read-only.": conversation.origin == Origin.IMPORTED,
        "The demo is read-only.": not is_attachable(workspace_row),
        _REMOVED_TEXT: conversation.removed_at,
        "jp archived this conversation. Move it out of the archive first.": conversation.archived,
        "Managed by jp. Continue it in a terminal, or ask an owner of "
        f"{workspace_row.name} to enable writing on its People page.": (
            workspace_row.writing == WritePolicy.OFF
        ),
    }
    return next((text for text, applies in obstacles.items() if applies), "")


def _get_native_obstacle(conversation: Conversation) -> str:
    obstacle = (
        _REMOVED_TEXT
        if conversation.removed_at is not None
        else ARCHIVED_TEXT
        if conversation.archived
        else ""
    )
    return obstacle if obstacle and _is_attached(conversation) else ""


def _is_attached(conversation: Conversation) -> bool:
    return conversation.workspace.writing != WritePolicy.OFF


def attach_files(conversation_id: int) -> Attachment | None:
    """Take JP's lock of a conversation; None where its workspace is not attached.

    Elements that ``jp`` appended since the lock was last held here are added to the journal first.
    A mirrored conversation becomes native. Raises LockHeld where ``jp`` holds the lock,
    CopiesDiverged where the copies differ, RunOvertaken where ``jp`` began a turn after that of an
    unfinished run, StoreError where the files cannot be used or are archived.
    """
    conversation = _get_conversation(conversation_id)
    if not _is_attached(conversation):
        return None
    disk_workspace = silo_bindings.find_writable(conversation.workspace)
    with ExitStack() as stack:
        try:
            lock = stack.enter_context(
                locks.hold_lock(
                    disk_workspace.silo,
                    disk_workspace.root / ".jp",
                    conversation.jp_id,
                    LOCK_TIMEOUT_SECONDS,
                )
            )
            conversation = _get_conversation(conversation_id)  # the last holder may have changed it
            known_events = _read_known_events(conversation, disk_workspace)
        except OSError as error:
            raise StoreError(
                f"Can't use {error.filename or disk_workspace.root}: {error.strerror}."
            ) from error
        unsaved_names = external_appends.FILE_METADATA
        if known_events is not None:
            unsaved_names &= external_appends.split_unsaved(conversation.fingerprint)[0]
        return Attachment(
            conversation.pk, disk_workspace, lock, known_events, unsaved_names, stack.pop_all()
        )
    raise AssertionError  # pragma: no cover  the block returns or raises


def _read_known_events(conversation: Conversation, disk_workspace: DiskWorkspace) -> bytes | None:
    """Return the events on disk, None where there are none yet; the journal has them then."""
    has_files = conversation.origin == Origin.MIRRORED or bool(conversation.fingerprint)
    disk_conversation = _find_files(conversation.jp_id, disk_workspace, has_files=has_files)
    if disk_conversation is None:
        if has_files:
            raise StoreError("jp deleted this conversation meanwhile. Only this copy remains.")
    elif conversation.origin == Origin.MIRRORED:
        _adopt_mirrored(conversation, disk_conversation)
    else:
        external_appends.append_external(conversation, disk_conversation, holds_lock=True)
        external_appends.require_last_turn(conversation.pk)
    if Conversation.objects.filter(pk=conversation.pk, archived=True).exists():
        raise StoreError(ARCHIVED_TEXT)
    return None if disk_conversation is None else workspace.read_events(disk_conversation)


def _find_files(
    jp_id: int, disk_workspace: DiskWorkspace, *, has_files: bool
) -> DiskConversation | None:
    """Find a conversation on disk. Raises NoWorkspace where it cannot be read.

    One that has no files yet is not in a folder that is refused, such as a link.
    """
    try:
        return workspace.find_conversation(disk_workspace, jp_id)
    except NoWorkspace:
        if has_files:
            raise
    next(workspace.iterate_conversations(disk_workspace), None)  # raises for an unreadable folder
    return None


def _adopt_mirrored(conversation: Conversation, disk_conversation: DiskConversation) -> None:
    """Make a mirrored conversation native, with the content that its files have now.

    Raises StoreError where it cannot be continued; then it stays as it was.
    """
    if workspace.find_stream_file(disk_conversation.folder).name != writer.EVENTS_NAME:
        raise StoreError(
            "This conversation was saved by an older version of jp. Continue it in jp."
        )
    if _adopt_if_current(conversation.pk, disk_conversation):
        return
    mirror.refresh_conversation(conversation.workspace, disk_conversation)
    if not _adopt_if_current(conversation.pk, disk_conversation):
        raise StoreError(
            "The turn can't start: the workspace is still being read. Try again in a moment."
        )


@transaction.atomic
def _adopt_if_current(conversation_id: int, disk_conversation: DiskConversation) -> bool:
    """Make a mirrored conversation native if its rows are those of its files; tell whether.

    The row is locked, since a mirror pass may write an older reading at any time.
    """
    conversation = journal.lock_conversation(conversation_id)
    if has_redactions(conversation.pk):
        raise StoreError(
            "Events of this conversation were redacted here, and jpweb does not change what jp "
            "wrote into the file. Continue it in a terminal."
        )
    if (conversation.fingerprint, conversation.archived) != (
        disk_conversation.fingerprint,
        disk_conversation.is_archived,
    ):
        return False
    obstacle = conversation.problem or get_turn_obstacle(conversation)
    if obstacle:
        raise StoreError(f"The turn can't start: {obstacle.rstrip('.')}.")
    Conversation.objects.filter(pk=conversation.pk).update(origin=Origin.NATIVE)
    return True


def _make_events_file(conversation: Conversation) -> bytes:
    """Return the events file; for an older jp, in its compatible form."""
    is_compatible = conversation.workspace.writing == WritePolicy.COMPATIBLE
    elements = journal.read_elements(conversation.pk)
    return wire.join_array(
        [_get_element_text(element, is_compatible=is_compatible) for element in elements]
    ).encode()


def _get_element_text(element: Element, *, is_compatible: bool) -> str:
    if is_compatible and isinstance(element.body, ConversationEvent):
        return wire.write_element(element.body, is_compatible=True).raw
    return element.raw


def _get_conversation(conversation_id: int) -> Conversation:
    return Conversation.objects.select_related("workspace").get(pk=conversation_id)
