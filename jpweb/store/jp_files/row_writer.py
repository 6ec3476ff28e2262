"""Writes the parsed files of a conversation into its rows, in one transaction or in batches.

A long conversation is written in transactions of bounded time, with a pause between:
SQLite has one writer at a time, and waiting writers only poll. Until the last batch the
row has no fingerprint, so after an interruption the next pass continues.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

import msgspec
from django.db import connection, transaction

from jpweb.store import db_text, inquiries, journal
from jpweb.store.choices import Origin
from jpweb.store.derived_rows import from_stream, on_append
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import redacted_elements, workspace
from jpweb.store.jp_files.reader import ParsedConversation, ParsedStream
from jpweb.store.jp_files.redacted_elements import NO_TEXTS, RedactedStream
from jpweb.store.jp_files.workspace import DiskConversation
from jpweb.store.masking import redacted_titles
from jpweb.store.models import Conversation, Workspace
from jpweb.store.reviews import question_states
from jpweb.store.sql import compiled_write
from jpweb.store.suspected_secrets import derived_masks

#: Entries and characters of one batch (a transaction): from 0.03 s, for the smallest entries, to a
#: quarter of a second.
MAX_BATCH_ENTRIES, MAX_BATCH_CHARS = 2000, 4_000_000
#: Seconds between two batches on SQLite: the longest sleep of its busy handler's polling.
PAUSE_SECONDS = 0.1


class ConcurrentCopy(StoreError):
    """Another pass wrote the conversation between two batches, or it is no mirror any more.

    The next pass copies it again, or leaves it alone.
    """


@dataclass(frozen=True, slots=True)
class CopyResult:
    """The key of a written conversation, with the number of its new events and inquiries.

    ``key`` is None where the same transient error is on record: every pass meets it again.
    ``problem`` names the redacted events that the file has with another content.
    """

    key: int | None
    event_count: int = 0
    inquiries: Counter[str] = field(default_factory=Counter)
    problem: str = ""


def copy_conversation(
    workspace_row: Workspace,
    disk_conversation: DiskConversation,
    parsed_conversation: ParsedConversation,
    *,
    is_new: bool,
) -> CopyResult:
    """Write a conversation; ``is_new`` where it has no row yet.

    All or nothing where it is short. Raises ConcurrentCopy.
    """
    stream = parsed_conversation.stream
    if stream is None and _has_transient_problem(
        workspace_row, disk_conversation, parsed_conversation
    ):
        return CopyResult(None)
    if stream is None:
        return _copy_without_stream(
            workspace_row, disk_conversation, parsed_conversation, is_new=is_new
        )
    redacted_texts = NO_TEXTS
    if not is_new:
        redacted_texts = redacted_elements.load_texts(workspace_row.pk, disk_conversation.jp_id)
    redacted_stream = redacted_elements.redact_stream(stream, redacted_texts)
    is_short = _is_single_batch(redacted_stream.stream.stream_rows.entries)
    copy_rows = _copy_at_once if is_short else _copy_in_batches
    return copy_rows(
        workspace_row, disk_conversation, parsed_conversation, redacted_stream, is_new=is_new
    )


def _copy_in_batches(
    workspace_row: Workspace,
    disk_conversation: DiskConversation,
    parsed_conversation: ParsedConversation,
    redacted_stream: RedactedStream,
    *,
    is_new: bool,
) -> CopyResult:
    """Write a long conversation, its events in several transactions. Raises ConcurrentCopy."""
    with transaction.atomic():
        conversation = _make_row(
            workspace_row, disk_conversation, parsed_conversation, is_new=is_new
        )
        redacted_stream = _hide_content(conversation, redacted_stream, is_new=is_new)
        stream = redacted_stream.stream
        conversation.fingerprint = ""
        conversation.framing = stream.framing
        equal_entries, turns = _keep_equal_rows(conversation, stream.stream_rows, is_new=is_new)
        conversation.last_activity = stream.last_time or _get_last_activity(
            disk_conversation, parsed_conversation
        )
        _save_row(conversation, is_new=is_new)
    for start, end in _iterate_batch_bounds(stream.stream_rows.entries, equal_entries):
        with transaction.atomic():
            _check_unchanged(conversation)
            part = _take_first_entries(stream.stream_rows, end)
            journal.insert_rows(conversation, part, start, turns)
            turns = max(turns, len(part.turns))
            journal.set_counts(conversation, part)
            conversation.save(update_fields=on_append.GROWTH_COLUMNS)
        _pause_between_batches()
    states = _replace_inquiries(conversation, stream)
    with transaction.atomic():
        _check_unchanged(conversation)
        question_states.refresh_states(conversation)
        conversation.fingerprint = _choose_fingerprint(disk_conversation, parsed_conversation)
        conversation.save(update_fields=["fingerprint"])
    event_count = len(stream.stream_rows.entries) - equal_entries
    return CopyResult(conversation.pk, event_count, states, redacted_stream.problem)


def _has_transient_problem(
    workspace_row: Workspace,
    disk_conversation: DiskConversation,
    parsed_conversation: ParsedConversation,
) -> bool:
    """Tell whether the transient error of a conversation's files is on record already."""
    same_rows = Conversation.objects.filter(
        workspace=workspace_row,
        jp_id=disk_conversation.jp_id,
        problem=parsed_conversation.problem[:500],
        fingerprint="",
        archived=disk_conversation.is_archived,
    )
    return parsed_conversation.has_transient_error and same_rows.filter(removed_at=None).exists()


@transaction.atomic
def _copy_without_stream(
    workspace_row: Workspace,
    disk_conversation: DiskConversation,
    parsed_conversation: ParsedConversation,
    *,
    is_new: bool,
) -> CopyResult:
    """Write the row alone of a conversation whose events cannot be read."""
    conversation = _make_row(workspace_row, disk_conversation, parsed_conversation, is_new=is_new)
    if not is_new:
        derived_masks.mask_title(conversation)
    _save_row(conversation, is_new=is_new)
    return CopyResult(conversation.pk)


@transaction.atomic
def _copy_at_once(
    workspace_row: Workspace,
    disk_conversation: DiskConversation,
    parsed_conversation: ParsedConversation,
    redacted_stream: RedactedStream,
    *,
    is_new: bool,
) -> CopyResult:
    """Write a conversation in one transaction; ``is_new`` where it has no row yet."""
    conversation = _make_row(workspace_row, disk_conversation, parsed_conversation, is_new=is_new)
    redacted_stream = _hide_content(conversation, redacted_stream, is_new=is_new)
    stream = redacted_stream.stream
    conversation.framing = stream.framing
    conversation.last_activity = stream.last_time or _get_last_activity(
        disk_conversation, parsed_conversation
    )
    journal.set_counts(conversation, stream.stream_rows)
    revision = conversation.revision
    _save_row(conversation, is_new=is_new)
    event_count = journal.replace_rows(conversation, stream.stream_rows, is_new=is_new)
    states = inquiries.replace_rows(conversation, stream.inquiries, is_new=is_new)
    if not is_new:
        question_states.refresh_states(conversation)
    if conversation.revision != revision:
        conversation.save(update_fields=["revision"])
    return CopyResult(conversation.pk, event_count, states, redacted_stream.problem)


def _hide_content(
    conversation: Conversation, redacted_stream: RedactedStream, *, is_new: bool
) -> RedactedStream:
    """Return the stream redacted, its derived rows masked; a new one has nothing to hide.

    The title is masked, and the problem set, but not saved. The row is locked. The texts of
    ``redacted_stream`` were read before that: to derive long rows again takes seconds.
    """
    if is_new:
        return redacted_stream
    latest_texts = redacted_elements.load_texts(conversation.workspace_id, conversation.jp_id)
    if latest_texts != redacted_stream.redacted_texts:
        redacted_stream = redacted_elements.redact_stream(redacted_stream.file_stream, latest_texts)
    conversation.problem = conversation.problem or redacted_stream.problem[:500]
    stream = redacted_stream.stream
    stream_rows, inquiry_rows = derived_masks.mask_rows(
        conversation, stream.stream_rows, stream.inquiries
    )
    stream = msgspec.structs.replace(stream, stream_rows=stream_rows, inquiries=inquiry_rows)
    return redacted_stream._replace(stream=stream)


def _keep_equal_rows(
    conversation: Conversation, stream_rows: from_stream.StreamRows, *, is_new: bool
) -> tuple[int, int]:
    """Delete the rows from the first difference on; returns the entries and turns that are there.

    Turns that begin in the kept entries are written at once: no batch may follow.
    """
    equal_entries, turns = journal.delete_changed(conversation, stream_rows, is_new=is_new)
    equal_rows = _take_first_entries(stream_rows, equal_entries)
    journal.insert_rows(conversation, equal_rows, equal_entries, turns)
    journal.set_counts(conversation, equal_rows)
    return equal_entries, max(turns, len(equal_rows.turns))


def _replace_inquiries(conversation: Conversation, stream: ParsedStream) -> Counter[str]:
    states: Counter[str] = Counter()
    inquiry_rows = stream.inquiries
    with transaction.atomic():
        _check_unchanged(conversation)
        inquiries.delete_stale(conversation, inquiry_rows)
    for start in range(0, len(inquiry_rows), MAX_BATCH_ENTRIES):
        with transaction.atomic():
            _check_unchanged(conversation)
            states += inquiries.upsert_rows(
                conversation, inquiry_rows[start : start + MAX_BATCH_ENTRIES]
            )
        _pause_between_batches()
    return states


def _iterate_batch_bounds(
    entries: list[from_stream.EntryColumns], start: int
) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the batches from ``start`` on."""
    size = 0
    for end, (text, *_) in enumerate(entries[start:], start + 1):
        size += len(text)
        if end - start == MAX_BATCH_ENTRIES or size >= MAX_BATCH_CHARS:
            yield start, end
            start, size = end, 0
    if start < len(entries):
        yield start, len(entries)


def _is_single_batch(entries: list[from_stream.EntryColumns]) -> bool:
    return all(end == len(entries) for _, end in _iterate_batch_bounds(entries, 0))


def _take_first_entries(stream_rows: from_stream.StreamRows, count: int) -> from_stream.StreamRows:
    """Return the rows of the first ``count`` entries."""
    turns = [turn for turn in stream_rows.turns if turn[0] < count]
    return from_stream.StreamRows(stream_rows.entries[:count], turns)


def _check_unchanged(conversation: Conversation) -> None:
    """Lock the row until the transaction ends. Raises ConcurrentCopy."""
    row = journal.lock_conversation(conversation.pk)
    expected_values = (conversation.entry_count, conversation.revision, "", Origin.MIRRORED)
    if (row.entry_count, row.revision, row.fingerprint, row.origin) != expected_values:
        raise ConcurrentCopy("it was written by another pass meanwhile.")


def _pause_between_batches() -> None:
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        time.sleep(PAUSE_SECONDS)


def _make_row(
    workspace_row: Workspace,
    disk_conversation: DiskConversation,
    parsed_conversation: ParsedConversation,
    *,
    is_new: bool,
) -> Conversation:
    """Return the row with the values of the files, not saved. Raises ConcurrentCopy."""
    metadata = parsed_conversation.metadata
    defaults = {
        "origin": Origin.MIRRORED,
        "last_activity": _get_last_activity(disk_conversation, parsed_conversation),
    }
    lookup = {"workspace": workspace_row, "jp_id": disk_conversation.jp_id}
    if is_new:
        conversation = Conversation(**lookup, **defaults)
    else:
        # Locked, since ``save`` writes every column, also those that the search indexer updates.
        rows = Conversation.objects.select_for_update()
        conversation, _ = rows.get_or_create(**lookup, defaults=defaults)
        if conversation.origin != Origin.MIRRORED:  # its journal has more than the files
            raise ConcurrentCopy("it was continued here, or imported, meanwhile.")
    if not metadata.problem:
        conversation.title = redacted_titles.choose_title(conversation, metadata.title)
        conversation.pinned_at = metadata.pinned_at
        conversation.labels = metadata.labels
        conversation.expires_at = metadata.expires_at
    conversation.problem = parsed_conversation.problem[:500]
    conversation.archived = disk_conversation.is_archived
    conversation.removed_at = None
    conversation.source = db_text.clean_text(disk_conversation.folder.name)
    conversation.fingerprint = _choose_fingerprint(disk_conversation, parsed_conversation)
    conversation.needs_indexing = True
    return conversation


def _save_row(conversation: Conversation, *, is_new: bool) -> None:
    """Write every column of the row."""
    if is_new:
        compiled_write.insert_row(conversation)
    else:
        conversation.save()


def _choose_fingerprint(
    disk_conversation: DiskConversation, parsed_conversation: ParsedConversation
) -> str:
    """Return the fingerprint of the files, empty where the next pass is to read them again."""
    return "" if parsed_conversation.has_transient_error else disk_conversation.fingerprint


def _get_last_activity(
    disk_conversation: DiskConversation, parsed_conversation: ParsedConversation
) -> datetime:
    """Return when a conversation was last active, by its metadata or its id."""
    return parsed_conversation.metadata.last_activated_at or workspace.get_created_at(
        disk_conversation.jp_id
    )
