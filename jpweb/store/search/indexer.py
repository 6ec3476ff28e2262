"""Indexes conversations for search, behind the journal, without blocking it.

Each change of a conversation sets ``needs_indexing``; the indexer takes such conversations, the
newest first, and writes batches, one transaction each. It compares stored passages with the
expected ones, so that it continues after a kill and equal passages keep their keys.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from jpweb.store.database.availability import INCONSISTENT_ROWS
from jpweb.store.inquiries import OPEN_STATE
from jpweb.store.jp_files import workspace
from jpweb.store.masking import masks
from jpweb.store.models import Conversation, Inquiry, JournalEntry, Membership, Passage
from jpweb.store.search import cjk, filter_terms, passage_ids, passages, tokenizer
from jpweb.store.sql import bulk
from jpweb.stream import wire
from jpweb.stream.answer_type import Secret
from jpweb.stream.events import ToolCallRequest, ToolCallResponse

logger = logging.getLogger(__name__)

#: Entries, and their characters, indexed in one transaction.
BATCH_ENTRIES = 500
BATCH_CHARS = 2_000_000
#: Batches of a conversation per step; then a conversation with newer activity takes precedence.
BATCHES_PER_STEP = 20
#: Unindexed conversations of a person counted at most.
COUNT_LIMIT = 1000

#: Columns by which a stored passage and a draft are compared; key and instant never change.
_COMPARED_COLUMNS = (
    "position", "part", "item_position", "anchor", "category", "body", "tags", "tool", "who",
    "state", "reason",
)  # fmt: skip


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
    pending = Conversation.objects.filter(needs_indexing=True, workspace__in=my_workspaces)
    return len(pending.order_by().values_list("pk", flat=True)[:COUNT_LIMIT])


def pending_count() -> int:
    """Return the number of unindexed conversations."""
    return Conversation.objects.filter(needs_indexing=True).count()


def index_next() -> int | None:
    """Index the next batches of the newest unindexed conversation.

    Returns its key, or None where all are indexed.
    """
    pending = Conversation.objects.filter(needs_indexing=True).order_by("-last_activity", "-id")
    key = pending.values_list("pk", flat=True).first()
    if key is None:
        return None
    try:
        index_conversation(key)
    except (_ConversationChanged, IntegrityError) as conflict:
        # The conversation was changed, or another process indexes it; it stays unindexed, so a
        # later call finds it.
        logger.info("Conversation %s will be indexed again: %r", key, conflict)
    except INCONSISTENT_ROWS as error:
        # Cleared, so that the queue does not stall; the next change of the conversation sets it.
        logger.error("Conversation %s could not be indexed: %r", key, error)  # noqa: TRY400  the traceback would contain the row
        Conversation.objects.filter(pk=key).update(needs_indexing=False)
    return key


def clear_index(conversation_id: int) -> None:
    """Delete the passages of a conversation, to be indexed from its beginning."""
    with transaction.atomic():
        Passage.objects.filter(conversation_id=conversation_id).delete()
        Conversation.objects.filter(pk=conversation_id).update(
            needs_indexing=True, indexed_entry_count=0, indexed_revision=0
        )


def all_conversation_ids() -> Iterator[int]:
    """Yield the keys of all conversations."""
    yield from Conversation.objects.order_by("pk").values_list("pk", flat=True).iterator()


def index_conversation(key: int) -> None:
    """Index up to ``BATCHES_PER_STEP`` batches of a conversation's new entries.

    Raises _ConversationChanged.
    """
    state, common = _begin_indexing(key)
    first = state.first_position
    for _ in range(BATCHES_PER_STEP):
        entries = _read_entries(key, Q(position__gte=first))
        if not entries:
            _reindex_settled(state, common)
            _finish_indexing(state)
            return
        end = entries[-1].position + 1
        drafts = _build_passages(key, entries, common)
        changes = _find_changes(key, Q(position__gte=first, position__lt=end), drafts)
        with transaction.atomic():
            _write_changes(key, changes)
            _record_progress(state, first, end)
        first = end


def _begin_indexing(key: int) -> tuple[_IndexingState, passages.ConversationTerms]:
    """Return the first entry to index: the first new one, or the first of all.

    All are indexed again where entries were replaced, or where labels changed, since every
    passage repeats the labels.
    """
    row = Conversation.objects.filter(pk=key).first()
    if row is None:
        raise _ConversationChanged
    workspace_term = filter_terms.workspace_term(row.workspace_id)
    common = passages.ConversationTerms(
        workspace.get_created_at(row.jp_id),
        frozenset({workspace_term, *filter_terms.label_terms(row.labels)}),
    )
    is_replaced = row.indexed_revision != row.revision or common.terms != _indexed_terms(
        key, workspace_term
    )
    title_passage = passages.make_title_passage(row.title, row.labels, common)
    changes = _find_changes(key, Q(position=Passage.TITLE_POSITION), title_passage)
    if is_replaced or changes:
        with transaction.atomic():
            if is_replaced:
                _reset_progress(row)
            _write_changes(key, changes)
    first = 0 if is_replaced else row.indexed_entry_count
    return _IndexingState(key, row.entry_count, row.revision, row.title, row.labels, first), common


def _reset_progress(row: Conversation) -> None:
    """Record that nothing of a conversation is indexed. Raises _ConversationChanged."""
    unchanged = Conversation.objects.filter(pk=row.pk, revision=row.revision)
    if not unchanged.update(indexed_entry_count=0, indexed_revision=row.revision):
        raise _ConversationChanged


def _indexed_terms(key: int, workspace_term: str) -> set[str]:
    """Return the terms that all passages of a conversation have, from its title's passage."""
    title_passage = Passage.objects.filter(conversation_id=key, position=Passage.TITLE_POSITION)
    title_terms = title_passage.values_list("tags", flat=True).first()
    return (
        {workspace_term}
        if title_terms is None
        else {*title_terms.split()}
        - {filter_terms.category_term("title")}
        - {term for term in title_terms.split() if cjk.is_term(term)}
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
    key: int, entries: Sequence[passages.SourceEntry], common: passages.ConversationTerms
) -> list[passages.PassageDraft]:
    """Return the passages of these entries."""
    context = passages.EntryContext(
        _tool_names(key, entries), *_inquiry_info(key, [entry.position for entry in entries])
    )
    return [
        passage for entry in entries for passage in passages.make_passages(entry, common, context)
    ]


def _tool_names(key: int, entries: Sequence[passages.SourceEntry]) -> dict[int, str]:
    """Return the names of the tools that these entries call, or are results of, by position."""
    elements = {entry.position: entry.element for entry in entries}
    result_item_positions = {
        entry.item_position for entry in entries if isinstance(entry.element.kind, ToolCallResponse)
    }
    earlier = JournalEntry.objects.filter(
        conversation_id=key, position__in=result_item_positions - elements.keys()
    )
    for position, text in earlier.values_list("position", "text"):
        elements[position] = wire.read_element(text)
    return {
        position: element.kind.name
        for position, element in elements.items()
        if isinstance(element.kind, ToolCallRequest)
    }


def _inquiry_info(
    key: int, positions: Sequence[int]
) -> tuple[dict[int, passages.InquiryInfo], dict[int, passages.InquiryInfo]]:
    """Return the inquiries that are asked and that end at these positions."""
    first, last = positions[0], positions[-1]
    inquiries = Inquiry.objects.filter(conversation_id=key)
    rows = inquiries.filter(
        Q(position__range=(first, last)) | Q(response_position__range=(first, last))
    )
    secrets = set(inquiries.filter(answer_type=Secret.TAG).values_list("inquiry_id", flat=True))
    requested, settled = {}, {}
    for row in rows.defer("question", "answer"):
        info = passages.InquiryInfo(
            tool=row.asker,
            state=row.state,
            reason=row.reason,
            who=row.decider_name if row.decided_by == "person" else "",
            is_secret=row.inquiry_id in secrets,
        )
        requested[row.position] = info
        if row.response_position is not None:
            settled[row.response_position] = info
    return requested, settled


def _reindex_settled(state: _IndexingState, common: passages.ConversationTerms) -> None:
    """Replace the passages of questions that were indexed before their outcome."""
    earlier_inquiries = Inquiry.objects.filter(
        conversation_id=state.key, position__lt=state.first_position
    )
    settled_later = earlier_inquiries.filter(response_position__gte=state.first_position)
    open_passages = Passage.objects.filter(conversation_id=state.key, state=OPEN_STATE)
    settled_before = earlier_inquiries.filter(
        position__in=open_passages.values("position")
    ).exclude(state=OPEN_STATE)
    positions = {
        *settled_later.values_list("position", flat=True),
        *settled_before.values_list("position", flat=True),
    }
    remaining = sorted(positions)
    while remaining:
        entries = _read_entries(state.key, Q(position__in=remaining[:BATCH_ENTRIES]))
        if not entries:
            return
        drafts = _build_passages(state.key, entries, common)
        condition = Q(position__in=[entry.position for entry in entries])
        if changes := _find_changes(state.key, condition, drafts):
            with transaction.atomic():
                _write_changes(state.key, changes)
        remaining = [position for position in remaining if position > entries[-1].position]


def _finish_indexing(state: _IndexingState) -> None:
    """Mark the conversation as indexed. Raises _ConversationChanged where it was changed."""
    obsolete = _find_changes(state.key, Q(position__gte=state.entry_count), [])
    with transaction.atomic():
        row = Conversation.objects.select_for_update().filter(pk=state.key).first()
        current = row and (row.entry_count, row.revision, row.title, row.labels)
        if row is None or current != (state.entry_count, state.revision, state.title, state.labels):
            raise _ConversationChanged
        _write_changes(state.key, obsolete)
        row.needs_indexing = False
        row.save(update_fields=["needs_indexing"])


def _record_progress(state: _IndexingState, start: int, end: int) -> None:
    """Record the indexed entry count of a conversation."""
    unchanged = Conversation.objects.filter(
        pk=state.key,
        revision=state.revision,
        indexed_revision=state.revision,
        indexed_entry_count=start,
    )
    if not unchanged.update(indexed_entry_count=end):
        raise _ConversationChanged


class _PassageChanges(NamedTuple):
    """Passages to delete, by id, and to insert: found before the lock that writes take."""

    obsolete_ids: list[int]
    rows: list[tuple[int, passages.PassageDraft]]


def _find_changes(
    key: int, condition: Q, drafts: Sequence[passages.PassageDraft]
) -> _PassageChanges | None:
    """Return what makes these passages of a conversation the drafts; None where they are."""
    existing = Passage.objects.filter(condition, conversation_id=key)
    stored = {
        (row[2], row[3]): (row[0], row[1], row[2:])
        for row in existing.values_list("id", "at", *_COMPARED_COLUMNS).iterator()
    }
    pending = {(draft.position, draft.part): draft for draft in drafts}
    obsolete_ids = []
    rows: list[tuple[int, passages.PassageDraft]] = []
    for slot, (passage_id, at, values) in stored.items():
        matching_draft = pending.pop(slot, None)
        if matching_draft is not None and _compared_values(matching_draft) == values:
            continue
        obsolete_ids.append(passage_id)
        if matching_draft is not None:
            rows.append((passage_id, replace(matching_draft, at=at)))
    new_drafts = [*pending.values()]
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


def _compared_values(passage: passages.PassageDraft) -> tuple[Any, ...]:
    return tuple(getattr(passage, name) for name in _COMPARED_COLUMNS)


def _find_taken_ids(candidate_ids: list[int]) -> set[int]:
    taken_ids: set[int] = set()
    for start in range(0, len(candidate_ids), BATCH_ENTRIES):
        batch = Passage.objects.filter(pk__in=candidate_ids[start : start + BATCH_ENTRIES])
        taken_ids.update(batch.values_list("pk", flat=True))
    return taken_ids


def _insert_passages(key: int, rows: Sequence[tuple[int, passages.PassageDraft]]) -> None:
    """Insert passages in key order: SQLite's FTS5 writes rows out of order one at a time."""
    adapt = bulk.time_adapter()
    columns: tuple[str, ...] = ("id", "conversation_id", "at", *_COMPARED_COLUMNS)
    values: list[tuple[Any, ...]] = [
        (passage_id, key, adapt(draft.at), *_compared_values(draft)) for passage_id, draft in rows
    ]
    if connection.vendor == "postgresql":
        columns = (*columns, "lexemes")
        values = [
            (*row, tokenizer.make_tsvector(draft.body, draft.tags))
            for row, (_, draft) in zip(values, rows, strict=True)
        ]
    bulk.insert_rows(Passage.TABLE, columns, values)
