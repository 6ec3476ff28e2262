"""Indexes conversations for search, behind the journal, without blocking it.

Each change of a conversation sets ``needs_indexing``; the indexer takes such conversations, the
newest first, and writes batches, one transaction each. It compares stored passages with the
expected ones, so that it continues after a kill and equal passages keep their keys.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from jpweb.store.database.availability import INCONSISTENT_ROWS
from jpweb.store.derived_rows import passage_queries
from jpweb.store.inquiries import OPEN_STATE
from jpweb.store.jp_files import workspace
from jpweb.store.masking import masks
from jpweb.store.models import Conversation, JournalEntry, Membership, Passage
from jpweb.store.search import cjk, filter_terms, passage_ids, passages, tokenizer
from jpweb.store.sql import bulk, compiled_write
from jpweb.stream import wire
from jpweb.stream.events import ToolCallRequest, ToolCallResponse

logger = logging.getLogger(__name__)

#: Entries, and their characters, indexed in one transaction.
BATCH_ENTRIES = 500
BATCH_CHARS = 2_000_000
#: Batches of a conversation per step, which begins in a pause of other work; then a conversation
#: with newer activity takes precedence. With 20, another person's write took 2.3 times as long.
BATCHES_PER_STEP = 4
#: Unindexed conversations of a person counted at most.
COUNT_LIMIT = 1000

#: Above the position of every entry.
_MAX_POSITION = 2**31 - 1


class _ConversationChanged(Exception):
    """The conversation was changed during its indexing; it stays ``needs_indexing``."""


@dataclass(frozen=True, slots=True)
class _IndexingState:
    """A conversation as of the beginning of this step, and its first entry to index."""

    key: int
    entry_count: int
    revision: int
    title: str
    labels: Any
    first_position: int


def count_pending_for(person_id: int) -> int:
    """Return the number of unindexed conversations of a person, up to ``COUNT_LIMIT``."""
    my_workspaces = Membership.objects.filter(person_id=person_id).values("workspace_id")
    pending_rows = Conversation.objects.filter(needs_indexing=True, workspace__in=my_workspaces)
    return len(pending_rows.order_by().values_list("pk", flat=True)[:COUNT_LIMIT])


def count_pending() -> int:
    """Return the number of unindexed conversations."""
    return Conversation.objects.filter(needs_indexing=True).count()


class IndexStep(NamedTuple):
    """A conversation whose batches were indexed; ``is_last``: none that it had then is left."""

    key: int
    is_last: bool


def index_next(postponed_keys: Collection[int] = ()) -> IndexStep | None:
    """Index the next batches of the newest unindexed conversation that is not postponed.

    Returns None where all others are indexed.
    """
    rows = passage_queries.find_pending(sorted(postponed_keys) or [0])
    if not rows:
        return None
    key: int = rows[0][0]
    try:
        return IndexStep(key, index_conversation(key))
    except (_ConversationChanged, IntegrityError) as conflict:
        # The conversation was changed, or another process indexes it; it stays unindexed, so a
        # later call finds it.
        logger.info("Conversation %s will be indexed again: %r", key, conflict)
    except INCONSISTENT_ROWS as error:
        # Cleared, so that the queue does not stall; the next change of the conversation sets it.
        logger.error("Conversation %s could not be indexed: %r", key, error)  # noqa: TRY400  the traceback would contain the row
        Conversation.objects.filter(pk=key).update(needs_indexing=False)
    return IndexStep(key, is_last=True)


def clear_index(conversation_id: int) -> None:
    """Delete the passages of a conversation, to be indexed from its beginning."""
    with transaction.atomic():
        Passage.objects.filter(conversation_id=conversation_id).delete()
        Conversation.objects.filter(pk=conversation_id).update(
            needs_indexing=True, indexed_entry_count=0, indexed_revision=0
        )


def iterate_conversation_ids() -> Iterator[int]:
    """Yield the keys of all conversations."""
    yield from Conversation.objects.order_by("pk").values_list("pk", flat=True).iterator()


def index_conversation(key: int) -> bool:
    """Index up to ``BATCHES_PER_STEP`` batches of a conversation's new entries.

    Returns whether these were all. Raises _ConversationChanged.
    """
    state, common_terms = _begin_indexing(key)
    first_position = state.first_position
    for _ in range(BATCHES_PER_STEP):
        # Entries that were added since this step began make ``_finish_indexing`` raise.
        entries = (
            _read_entries(key, Q(position__gte=first_position))
            if first_position < state.entry_count
            else []
        )
        if not entries:
            _reindex_settled(state, common_terms)
            _finish_indexing(state)
            return True
        end = entries[-1].position + 1
        drafts = _build_passages(key, entries, common_terms)
        changes = _find_changes(
            key, passage_queries.find_range([key], [first_position], [end]), drafts
        )
        with transaction.atomic():
            _write_changes(key, changes)
            _record_progress(state, first_position, end)
        first_position = end
    return False


def _begin_indexing(key: int) -> tuple[_IndexingState, passages.ConversationTerms]:
    """Return the first entry to index: the first new one, or the first of all.

    All are indexed again where entries were replaced, or where labels changed, since every
    passage repeats the labels.
    """
    rows: list[Conversation] = passage_queries.find_conversation([key])
    if not rows:
        raise _ConversationChanged
    row = rows[0]
    workspace_term = filter_terms.make_workspace_term(row.workspace_id)
    common_terms = passages.ConversationTerms(
        workspace.get_created_at(row.jp_id),
        frozenset({workspace_term, *filter_terms.make_label_terms(row.labels)}),
    )
    title_rows = passage_queries.find_at_positions([key], [Passage.TITLE_POSITION])
    is_replaced = row.indexed_revision != row.revision or common_terms.terms != _list_indexed_terms(
        title_rows, workspace_term
    )
    title_passage = passages.make_title_passage(row.title, row.labels, common_terms)
    changes = _find_changes(key, title_rows, title_passage)
    if is_replaced or changes:
        with transaction.atomic():
            if is_replaced:
                _reset_progress(row)
            _write_changes(key, changes)
    first_position = 0 if is_replaced else row.indexed_entry_count
    return _IndexingState(
        key, row.entry_count, row.revision, row.title, row.labels, first_position
    ), common_terms


def _reset_progress(row: Conversation) -> None:
    """Record that nothing of a conversation is indexed. Raises _ConversationChanged."""
    unchanged_row = Conversation.objects.filter(pk=row.pk, revision=row.revision)
    if not unchanged_row.update(indexed_entry_count=0, indexed_revision=row.revision):
        raise _ConversationChanged


def _list_indexed_terms(
    title_rows: list[passage_queries.StoredRow], workspace_term: str
) -> set[str]:
    """Return the terms that all passages of a conversation have, from its title's passage."""
    if not title_rows:
        return {workspace_term}
    title_terms = title_rows[0][passage_queries.STORED_COLUMNS.index("tags")].split()
    return (
        {*title_terms}
        - {filter_terms.make_category_term("title")}
        - {term for term in title_terms if cjk.is_term(term)}
    )


def _read_entries(key: int, condition: Q) -> list[passages.SourceEntry]:
    """Return the entries of one transaction, in order."""
    rows = JournalEntry.objects.filter(condition, conversation_id=key).order_by("position")
    columns = rows.values_list("position", "item_position", "anchor", "text")
    entries: list[passages.SourceEntry] = []
    remaining_chars = BATCH_CHARS
    event_masks = masks.load_conversation_masks(key)
    for position, item_position, anchor, text in columns[:BATCH_ENTRIES].iterator(chunk_size=100):
        entries.append(
            passages.SourceEntry(
                position, item_position, anchor, event_masks.read_element(anchor, text)
            )
        )
        remaining_chars -= len(text)
        if remaining_chars < 0:
            break
    return entries


def _build_passages(
    key: int, entries: Sequence[passages.SourceEntry], common_terms: passages.ConversationTerms
) -> list[passages.PassageDraft]:
    """Return the passages of these entries."""
    context = passages.EntryContext(
        _find_tool_names(key, entries),
        *_get_inquiry_info(key, [entry.position for entry in entries]),
    )
    return [
        passage
        for entry in entries
        for passage in passages.make_passages(entry, common_terms, context)
    ]


def _find_tool_names(key: int, entries: Sequence[passages.SourceEntry]) -> dict[int, str]:
    """Return the names of the tools that these entries call, or are results of, by position."""
    elements = {entry.position: entry.element for entry in entries}
    result_item_positions = {
        entry.item_position for entry in entries if isinstance(entry.element.kind, ToolCallResponse)
    }
    earlier_entries = JournalEntry.objects.filter(
        conversation_id=key, position__in=result_item_positions - elements.keys()
    )
    for position, text in earlier_entries.values_list("position", "text"):
        elements[position] = wire.read_element(text)
    return {
        position: element.kind.name
        for position, element in elements.items()
        if isinstance(element.kind, ToolCallRequest)
    }


def _get_inquiry_info(
    key: int, positions: Sequence[int]
) -> tuple[dict[int, passages.InquiryInfo], dict[int, passages.InquiryInfo]]:
    """Return the inquiries that are asked and that end at these positions."""
    first_position, last_position = positions[0], positions[-1]
    secrets = {inquiry_id for (inquiry_id,) in passage_queries.find_secrets([key])}
    requested_rows, settled_rows = {}, {}
    for row in starmap(
        passage_queries.PassageInquiry,
        passage_queries.find_inquiries([key], [first_position], [last_position]),
    ):
        info = passages.InquiryInfo(
            tool=row.asker,
            state=row.state,
            reason=row.reason,
            who=row.decider_name if row.decided_by == "person" else "",
            is_secret=row.inquiry_id in secrets,
        )
        requested_rows[row.position] = info
        if row.response_position is not None:
            settled_rows[row.response_position] = info
    return requested_rows, settled_rows


def _reindex_settled(state: _IndexingState, common_terms: passages.ConversationTerms) -> None:
    """Replace the passages of questions that were indexed before their outcome."""
    place = [state.key], [state.first_position]
    rows = passage_queries.find_settled_later(*place)
    rows += passage_queries.find_settled_before(*place, [OPEN_STATE])
    positions = {position for (position,) in rows}
    remaining_positions = sorted(positions)
    while remaining_positions:
        entries = _read_entries(state.key, Q(position__in=remaining_positions[:BATCH_ENTRIES]))
        if not entries:
            return
        drafts = _build_passages(state.key, entries, common_terms)
        stored_rows = passage_queries.find_at_positions(
            [state.key], [entry.position for entry in entries]
        )
        if changes := _find_changes(state.key, stored_rows, drafts):
            with transaction.atomic():
                _write_changes(state.key, changes)
        remaining_positions = [
            position for position in remaining_positions if position > entries[-1].position
        ]


def _finish_indexing(state: _IndexingState) -> None:
    """Mark the conversation as indexed. Raises _ConversationChanged where it was changed."""
    deletions = _find_changes(
        state.key, passage_queries.find_range([state.key], [state.entry_count], [_MAX_POSITION]), []
    )
    indexed_columns = [(state.entry_count, state.revision, state.title, state.labels)]
    with transaction.atomic():
        if passage_queries.lock_columns([state.key]) != indexed_columns:
            raise _ConversationChanged
        _write_changes(state.key, deletions)
        compiled_write.update_rows(Conversation, {"id": state.key}, needs_indexing=False)


def _record_progress(state: _IndexingState, start: int, end: int) -> None:
    """Record the indexed entry count of a conversation."""
    unchanged_filter = {
        "id": state.key,
        "revision": state.revision,
        "indexed_revision": state.revision,
        "indexed_entry_count": start,
    }
    if not compiled_write.update_rows(Conversation, unchanged_filter, indexed_entry_count=end):
        raise _ConversationChanged


class _PassageChanges(NamedTuple):
    """Passages to delete, by id, and to insert: found before the lock that writes take."""

    obsolete_ids: list[int]
    rows: list[tuple[int, passages.PassageDraft]]


def _find_changes(
    key: int, stored_rows: list[passage_queries.StoredRow], drafts: Sequence[passages.PassageDraft]
) -> _PassageChanges | None:
    """Return the changes that make these passages of a conversation the drafts; else None."""
    stored_passages = {(row[2], row[3]): (row[0], row[1], row[2:]) for row in stored_rows}
    pending_drafts = {(draft.position, draft.part): draft for draft in drafts}
    obsolete_ids = []
    rows: list[tuple[int, passages.PassageDraft]] = []
    for slot, (passage_id, at, values) in stored_passages.items():
        matching_draft = pending_drafts.get(slot)
        if matching_draft is None or matching_draft.at != at:  # a new instant takes a new id
            obsolete_ids.append(passage_id)
            continue
        del pending_drafts[slot]
        if _list_compared_values(matching_draft) != values:
            obsolete_ids.append(passage_id)
            rows.append((passage_id, matching_draft))
    new_drafts = [*pending_drafts.values()]
    new_ids = passage_ids.allot_ids(
        [
            passage_ids.PassageSlot(new_draft.at, key, new_draft.position, new_draft.part)
            for new_draft in new_drafts
        ],
        _find_taken_ids,
    )
    rows += zip(new_ids, new_drafts, strict=True)
    return _PassageChanges(obsolete_ids, rows) if obsolete_ids or rows else None


def _write_changes(key: int, changes: _PassageChanges | None) -> None:
    """Delete and insert passages; equal ones stay untouched."""
    if changes is None:
        return
    for start in range(0, len(changes.obsolete_ids), BATCH_ENTRIES):
        obsolete_ids = changes.obsolete_ids[start : start + BATCH_ENTRIES]
        Passage.objects.filter(pk__in=obsolete_ids, conversation_id=key).delete()
    _insert_passages(key, sorted(changes.rows, key=itemgetter(0)))


def _list_compared_values(passage: passages.PassageDraft) -> tuple[Any, ...]:
    return tuple(getattr(passage, name) for name in passage_queries.COMPARED_COLUMNS)


def _find_taken_ids(candidate_ids: list[int]) -> set[int]:
    taken_ids: set[int] = set()
    for start in range(0, len(candidate_ids), BATCH_ENTRIES):
        batch = candidate_ids[start : start + BATCH_ENTRIES]
        taken_ids.update(passage_id for (passage_id,) in passage_queries.find_taken_ids(batch))
    return taken_ids


def _insert_passages(key: int, rows: Sequence[tuple[int, passages.PassageDraft]]) -> None:
    """Insert passages in key order: SQLite's FTS5 writes rows out of order one at a time."""
    adapt = bulk.get_time_adapter()
    columns: tuple[str, ...] = ("id", "conversation_id", "at", *passage_queries.COMPARED_COLUMNS)
    values: list[tuple[Any, ...]] = [
        (passage_id, key, adapt(draft.at), *_list_compared_values(draft))
        for passage_id, draft in rows
    ]
    if connection.vendor == "postgresql":
        columns = (*columns, "lexemes")
        values = [
            (*row, tokenizer.make_tsvector(draft.body, draft.tags))
            for row, (_, draft) in zip(values, rows, strict=True)
        ]
    bulk.insert_rows(Passage.TABLE, columns, values)
