"""Native conversations in an attached workspace: written there as JP writes its own.

JP's lock is held for as long as a run lasts, as JP itself does (jp-storage-format, section 8).
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from jpweb.store import journal
from jpweb.store.disk import binding, locks, mirror, upstream, workspace, writer
from jpweb.store.disk.workspace import FoundWorkspace
from jpweb.store.errors import StoreError
from jpweb.store.models import Conversation, Workspace
from jpweb.store.terms import Writing
from jpweb.stream import wire
from jpweb.stream.errors import StreamError
from jpweb.stream.events import ConversationEvent, Element

logger = logging.getLogger(__name__)

#: Seconds to wait for a ``jp`` that is about to let go.
PATIENCE = 2.0


@dataclass(slots=True)
class Attachment:
    """The files of one conversation, locked. ``known`` is what they hold, None for none yet.

    A failure to write is noted and ends the writing. The run goes on: the journal has everything.
    """

    conversation_id: int
    found: FoundWorkspace
    lock: locks.ConversationLock
    known: bytes | None
    held: ExitStack
    failed: bool = False

    def write(self) -> None:
        """Bring the files up to what the journal holds."""
        if self.failed:
            return
        conversation = _get(self.conversation_id)
        events = _bytes(conversation)
        about: dict[str, Any] = {
            "title": conversation.title,
            "last_activated_at": conversation.last_activity,
        }
        if self.known is None:  # from then on they are changed there first
            about |= {"pinned_at": conversation.pinned_at, "labels": conversation.labels or None}
        try:
            files = writer.ConversationFiles(about, events)
            writer.write(self.lock, self.found.homes, files, self.known)
        except (OSError, StoreError, StreamError) as error:
            self.failed = True
            problem = f"No longer saved to {self.found.root}: {error}"
            logger.warning("jp-c%s: %s", conversation.jp_id, problem)
            Conversation.objects.filter(pk=conversation.pk).update(problem=problem[:500])
        else:
            self.known = events

    def release(self) -> None:
        """Let the conversation go."""
        self.held.close()


def choose(home: Workspace, writing: Writing) -> None:
    """Decide whether native conversations of a workspace are written into it.

    Raises NoWorkspace where its files are gone, StoreError for the demo, which is part of jpweb.
    """
    if writing != Writing.OFF:
        if not attachable(home):
            raise StoreError("The demo is read-only.")
        binding.find_writable(home)
    Workspace.objects.filter(pk=home.pk).update(writing=writing)


def attachable(home: Workspace) -> bool:
    """Tell whether a workspace is somebody's own, and not the demo."""
    return home.root != mirror.DEMO_ROOT


def attach(conversation_id: int) -> Attachment | None:
    """Take JP's lock of a native conversation; None where its workspace is not attached.

    What ``jp`` added since the last run is taken in first. Raises Held where ``jp`` is at it,
    Diverged where the copies differ, StoreError where the files cannot be used.
    """
    conversation = _get(conversation_id)
    if conversation.workspace.writing == Writing.OFF:
        return None
    found = binding.find_writable(conversation.workspace)
    with ExitStack() as held:
        try:
            lock = held.enter_context(
                locks.lock(found.silo, found.root / ".jp", conversation.jp_id, PATIENCE)
            )
            known = _on_disk(conversation, found)
        except OSError as error:
            raise StoreError(
                f"Can't use {error.filename or found.root}: {error.strerror}."
            ) from error
        return Attachment(conversation.pk, found, lock, known, held.pop_all())
    raise AssertionError  # pragma: no cover  the block returns or raises


def _on_disk(conversation: Conversation, found: FoundWorkspace) -> bytes | None:
    for folder in workspace.conversations(found):
        if folder.jp_id == conversation.jp_id:
            upstream.take_in(conversation, folder)
            return workspace.events(folder)
    return None


def _bytes(conversation: Conversation) -> bytes:
    """Return the file; for an older jp, what it could not open is put as it can."""
    compatible = conversation.workspace.writing == Writing.COMPATIBLE
    elements = journal.elements(conversation.pk)
    return wire.join([_text(element, compatible=compatible) for element in elements]).encode()


def _text(element: Element, *, compatible: bool) -> str:
    if compatible and isinstance(element.body, ConversationEvent):
        return wire.write(element.body, compatible=True).raw
    return element.raw


def _get(conversation_id: int) -> Conversation:
    return Conversation.objects.select_related("workspace").get(pk=conversation_id)
