"""What people change about a conversation: its title, pin, labels and place.

A conversation that is on disk is changed there first, under JP's lock and by JP's rules
(jp-storage-format, sections 4, 6 and 8), and only where an owner lets jpweb write; then its row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from jpweb.store import journal, plain
from jpweb.store.database import clock
from jpweb.store.disk import attached, binding, directory, locks, workspace, writer
from jpweb.store.disk.locks import ConversationLock, Held
from jpweb.store.disk.workspace import FoundConversation, FoundWorkspace
from jpweb.store.errors import ReadOnly, StoreError, UnknownConversation
from jpweb.store.models import Conversation
from jpweb.store.terms import Origin, Writing

#: Characters of a title, and of a label's name and value; how many labels there may be.
TITLE, NAME, VALUE, LABELS = 500, 64, 200, 50
#: Seconds to wait for who holds a conversation only for a moment.
PATIENCE = 1.0
#: What JP takes for the name of a label (RFD 101).
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*", re.ASCII)
_ARCHIVE, _TRASH = ".archive", ".trash"


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes different; what is None stays. Labels are put by name, or dropped."""

    title: str | None = None
    pinned: bool | None = None
    archived: bool | None = None
    put: Mapping[str, str] = field(default_factory=dict)
    drop: frozenset[str] = frozenset()


class Busy(StoreError):
    """Somebody holds the conversation; says who, and that it can be tried again."""

    def __init__(self, held: Held) -> None:
        who = "A turn is running in this conversation."
        if held.holder.session != locks.SESSION:
            who = str(held)
        super().__init__(f"{who} Nothing was changed. Try again when it's done.")


def titled(text: str) -> Change:
    """Return the change to a title, on one line; an empty one takes the title away.

    Raises StoreError for one that is too long.
    """
    title = " ".join(plain.text(text).split())
    if len(title) > TITLE:
        raise StoreError(f"Titles can have up to {TITLE} characters; this one has {len(title)}.")
    return Change(title=title)


def labelled(text: str) -> Change:
    """Return the change that puts a label, written ``name`` or ``name=value``.

    Raises StoreError.
    """
    name, _, value = (part.strip() for part in plain.text(text).partition("="))
    value = " ".join(value.split())
    if not _NAME.fullmatch(name) or len(name) > NAME:
        raise StoreError(
            f"“{name[:NAME]}” is not a valid label name. Start with a letter, then use letters, "
            f"digits, “-” or “_”: up to {NAME} characters."
        )
    if len(value) > VALUE:
        raise StoreError(
            f"Label values can have up to {VALUE} characters; this one has {len(value)}."
        )
    return Change(put={name: value})


def hindrance(conversation: Conversation) -> str:
    """Say why a conversation cannot be changed here, and what to do; empty where it can be."""
    home = conversation.workspace
    if conversation.origin == Origin.NATIVE or conversation.gone_at is not None:
        return ""
    if not attached.attachable(home):
        return "The demo is read-only."
    if home.writing == Writing.OFF:
        return (
            f"Managed by jp. Edit it there, or ask an owner of {home.name} to enable writing on "
            "its People page."
        )
    return ""


def change(conversation_id: int, wanted: Change) -> Conversation:
    """Change a conversation, on disk too where it is there; returns it as it is then.

    Who is last wins. Raises ReadOnly, Held where ``jp`` or a turn is at it, UnknownConversation,
    StoreError where the files cannot be changed; then nothing is.
    """
    conversation = _get(conversation_id)
    problem = hindrance(conversation)
    if problem:
        raise ReadOnly(problem)
    if conversation.workspace.writing == Writing.OFF or conversation.gone_at is not None:
        return _record(conversation_id, wanted, None)
    found = binding.find_writable(conversation.workspace)
    try:
        with locks.lock(found.silo, found.root / ".jp", conversation.jp_id, PATIENCE) as lock:
            folder = workspace.conversation(found, conversation.jp_id)
            after = _on_disk(lock, found, folder, wanted) if folder else None
            return _record(conversation_id, wanted, after)
    except Held as held:
        raise Busy(held) from held
    except OSError as error:
        raise StoreError(f"Can't use {error.filename or found.root}: {error.strerror}.") from error


def _on_disk(
    lock: ConversationLock, found: FoundWorkspace, folder: FoundConversation, wanted: Change
) -> FoundConversation | None:
    """Make the change to a conversation's files; returns them as they are then."""
    told = _told(folder, wanted)
    if workspace.stream_file(folder.folder).name != writer.EVENTS:
        raise StoreError("This conversation was saved by an older version of jp. Edit it in jp.")
    if wanted.archived is False:
        _take_out(lock, found)
        folder = workspace.conversation(found, lock.ds) or folder
    elif folder.archived and not wanted.archived:
        raise StoreError("This conversation is archived. Unarchive it first.")
    half = any(writer.folders_of(home / _ARCHIVE, lock.ds) for home in found.homes)
    if not (wanted.archived and half):  # as an interrupted call leaves it
        events = workspace.events(folder)
        writer.write(lock, found.homes, writer.ConversationFiles(told, events), events)
    if wanted.archived:
        _put_away(lock, found)
    return workspace.conversation(found, lock.ds)


def _told(folder: FoundConversation, wanted: Change) -> dict[str, Any]:
    """Return what changes in metadata.json; the labels begin with those that are there now."""
    now = clock.now()
    told: dict[str, Any] = {}
    if wanted.title is not None:
        told["title"] = wanted.title or None
    if wanted.pinned is not None:
        told["pinned_at"] = now if wanted.pinned else None
    if wanted.archived is not None:
        told["archived_at"] = now if wanted.archived else None
    if wanted.put or wanted.drop:
        told["labels"] = _labels(workspace.metadata(folder).labels, wanted) or None
    return told


def _labels(labels: Mapping[str, str], wanted: Change) -> dict[str, str]:
    kept = {name: value for name, value in labels.items() if name not in wanted.drop}
    kept |= wanted.put
    if wanted.put and len(kept) > LABELS:
        raise StoreError(f"A conversation can have up to {LABELS} labels.")
    return kept


def _put_away(lock: ConversationLock, found: FoundWorkspace) -> None:
    """Move the folders into the archive of each home; the same call again completes it."""
    for home in found.homes:
        for folder in writer.folders_of(home, lock.ds):
            archive = home / _ARCHIVE
            directory.make(archive)
            for twin in writer.folders_of(archive, lock.ds):  # where jp deletes
                writer.set_aside(twin, home / _TRASH)
            directory.rename(folder, archive / folder.name)
            directory.sync(archive)
            directory.sync(home)


def _take_out(lock: ConversationLock, found: FoundWorkspace) -> None:
    """Move the folders out of the archive of each home; the same call again completes it."""
    for home in found.homes:
        archive = home / _ARCHIVE
        for folder in writer.folders_of(archive, lock.ds):
            if writer.folders_of(home, lock.ds):
                writer.set_aside(folder, home / _TRASH)
            else:
                directory.rename(folder, home / folder.name)
            directory.sync(archive)
            directory.sync(home)


@transaction.atomic
def _record(conversation_id: int, wanted: Change, after: FoundConversation | None) -> Conversation:
    """Put the change on the row, so that the next look at the files finds nothing new."""
    journal.held(conversation_id)
    row = _get(conversation_id)
    if wanted.title is not None:
        row.title = wanted.title
    if wanted.pinned is not None:
        row.pinned_at = clock.now() if wanted.pinned else None
    if wanted.archived is not None:
        row.archived = wanted.archived
    if wanted.put or wanted.drop:
        told = row.labels if after is None else workspace.metadata(after).labels
        row.labels = _labels(told, wanted)
    if after is not None and _stream(after.fingerprint) == _stream(row.fingerprint):
        row.fingerprint, row.source = after.fingerprint, plain.text(after.folder.name)
    row.unindexed = True
    row.save(
        update_fields=[
            *("title", "pinned_at", "archived", "labels", "fingerprint", "source", "unindexed")
        ]
    )
    return row


def _stream(fingerprint: str) -> str:
    """Return the part of a fingerprint that tells when the events changed."""
    return fingerprint.rpartition("/")[2]


def _get(conversation_id: int) -> Conversation:
    found = Conversation.objects.select_related("workspace").filter(pk=conversation_id).first()
    if found is None:
        raise UnknownConversation("Conversation not found.")
    return found
