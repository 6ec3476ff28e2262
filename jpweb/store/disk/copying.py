"""Writes what was read of a conversation into its rows, at once or in batches.

A long conversation is written in transactions of bounded time, with a pause between: SQLite has
one writer at a time, and who waits for it only looks now and then. Until the last batch the row
keeps no fingerprint, so whatever ends it in between, the next pass goes on from there.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection, transaction

from jpweb.store import inquiries, journal, plain
from jpweb.store.disk import workspace
from jpweb.store.disk.reading import Reading, Stream
from jpweb.store.disk.workspace import FoundConversation
from jpweb.store.errors import StoreError
from jpweb.store.models import Conversation, Workspace
from jpweb.store.rows import derived, growth
from jpweb.store.terms import Origin

#: Entries and characters that are written in one transaction: about half a second.
MAX_BATCH_ENTRIES, MAX_BATCH_CHARACTERS = 4000, 8_000_000
#: Seconds between two batches on SQLite: as long as a waiting writer sleeps at most.
PAUSE_SECONDS = 0.1


class ChangedMeanwhile(StoreError):
    """Another pass wrote the conversation between two batches; the next pass looks again."""


@dataclass(frozen=True, slots=True)
class Copied:
    """The key of a conversation that was written, and what was new in it."""

    key: int
    events: int = 0
    inquiries: Counter[str] = field(default_factory=Counter)


def copy(home: Workspace, folder: FoundConversation, reading: Reading, *, fresh: bool) -> Copied:
    """Write a conversation; ``fresh`` where it is not there yet.

    All or nothing where it is short. Raises ChangedMeanwhile where it is long.
    """
    stream = reading.stream
    if stream is None or _fits_one_batch(stream.laid.entries):
        return _copy(home, folder, reading, fresh=fresh)
    with transaction.atomic():
        conversation = _conversation(home, folder, reading, fresh=fresh)
        conversation.fingerprint = ""
        conversation.framing = stream.framing
        same, turns = journal.trim(conversation, stream.laid, fresh=fresh)
        journal.count(conversation, _first(stream.laid, same))
        conversation.last_activity = stream.last or _begun(folder, reading)
        conversation.save()
    for begin, end in _batches(stream.laid.entries, same):
        with transaction.atomic():
            _check_unchanged(conversation)
            part = _first(stream.laid, end)
            journal.insert(conversation, part, begin, turns)
            turns = max(turns, len(part.turns))
            journal.count(conversation, part)
            conversation.save(update_fields=growth.COLUMNS)
        _pause()
    states = _hold_inquiries(conversation, stream)
    with transaction.atomic():
        _check_unchanged(conversation)
        conversation.fingerprint = folder.fingerprint
        conversation.save(update_fields=["fingerprint"])
    return Copied(conversation.pk, len(stream.laid.entries) - same, states)


@transaction.atomic
def _copy(home: Workspace, folder: FoundConversation, reading: Reading, *, fresh: bool) -> Copied:
    """Write a conversation, all or nothing; ``fresh`` where it is not there yet."""
    stream = reading.stream
    conversation = _conversation(home, folder, reading, fresh=fresh)
    if stream is None:
        conversation.save()
        return Copied(conversation.pk)
    conversation.framing = stream.framing
    conversation.last_activity = stream.last or _begun(folder, reading)
    journal.count(conversation, stream.laid)
    revision = conversation.revision
    conversation.save()
    events = journal.hold(conversation, stream.laid, fresh=fresh)
    states = inquiries.hold(conversation, stream.inquiries, fresh=fresh)
    if conversation.revision != revision:
        conversation.save(update_fields=["revision"])
    return Copied(conversation.pk, events, states)


def _hold_inquiries(conversation: Conversation, stream: Stream) -> Counter[str]:
    states: Counter[str] = Counter()
    found = stream.inquiries
    inquiries.drop_stale(conversation, found)
    for begin in range(0, len(found), MAX_BATCH_ENTRIES):
        with transaction.atomic():
            _check_unchanged(conversation)
            states += inquiries.put(conversation, found[begin : begin + MAX_BATCH_ENTRIES])
        _pause()
    return states


def _batches(entries: list[derived.Entry], begin: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the batches from ``begin`` on."""
    size = 0
    for end, (text, *_) in enumerate(entries[begin:], begin + 1):
        size += len(text)
        if end - begin == MAX_BATCH_ENTRIES or size >= MAX_BATCH_CHARACTERS:
            yield begin, end
            begin, size = end, 0
    if begin < len(entries):
        yield begin, len(entries)


def _fits_one_batch(entries: list[derived.Entry]) -> bool:
    return all(end == len(entries) for _, end in _batches(entries, 0))


def _first(laid: derived.Laid, count: int) -> derived.Laid:
    """Return what the first ``count`` entries are."""
    turns = [turn for turn in laid.turns if turn[0] < count]
    return derived.Laid(laid.entries[:count], turns)


def _check_unchanged(conversation: Conversation) -> None:
    """Hold the row until the transaction ends. Raises ChangedMeanwhile."""
    row = journal.held(conversation.pk)
    known = (conversation.length, conversation.revision, "")
    if (row.length, row.revision, row.fingerprint) != known:
        raise ChangedMeanwhile("it was written by another pass meanwhile.")


def _pause() -> None:
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        time.sleep(PAUSE_SECONDS)


def _conversation(
    home: Workspace, folder: FoundConversation, reading: Reading, *, fresh: bool
) -> Conversation:
    about = reading.about
    first = {"origin": Origin.MIRRORED, "last_activity": _begun(folder, reading)}
    key = {"workspace": home, "jp_id": folder.jp_id}
    if fresh:
        conversation = Conversation(**key, **first)
    else:
        # Held, since all of it is saved: search notes in the row how far it has come.
        rows = Conversation.objects.select_for_update()
        conversation, _ = rows.get_or_create(**key, defaults=first)
    if not about.problem:
        conversation.title = about.title
        conversation.pinned_at = about.pinned_at
        conversation.labels = about.labels
        conversation.expires_at = about.expires_at
    conversation.problem = reading.problem[:500]
    conversation.archived = folder.archived
    conversation.gone_at = None
    conversation.source = plain.text(folder.folder.name)
    conversation.fingerprint = folder.fingerprint
    conversation.unindexed = True
    return conversation


def _begun(folder: FoundConversation, reading: Reading) -> datetime:
    """Return when a conversation was last active, for all that its stream says."""
    return reading.about.last_activated_at or workspace.created_at(folder.jp_id)
