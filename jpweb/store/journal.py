"""The journal: the ordered, durable events of a conversation (an event store).

A row keeps an element's JSON text unchanged; the other columns, and the inquiry rows, are
derived from it in the same transaction. Only ``jpweb.store.redaction`` replaces a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from django.db import transaction
from django.db.models import Q

from jpweb.store.choices import Origin, RunPhase
from jpweb.store.derived_rows import from_stream, on_append
from jpweb.store.errors import ReadOnlyConversation, UnknownAnchor, UnknownConversation
from jpweb.store.inbox import settlement
from jpweb.store.inquiries import Decider
from jpweb.store.ledger import policy_decisions
from jpweb.store.masking import masks
from jpweb.store.models import Conversation, Inquiry, JournalEntry, Run, Turn
from jpweb.store.run_queue import leases, unanswered_inquiries
from jpweb.store.sql import bulk, compiled_write
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.stream import anchor_ids, timestamps, wire
from jpweb.stream.events import (
    ChatRequest,
    ConversationEvent,
    Element,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryRequest, InquiryResponse
from jpweb.stream.transcript.categories import categorize_element

_COLUMNS = ("conversation_id", "position", "text", "kind", "anchor", "item_position", "category")
#: Columns of a conversation that an appended event changes.
_GROWTH_COLUMNS = (*on_append.GROWTH_COLUMNS, "last_activity")
#: Columns of a turn's row.
TURN_COLUMNS = ("conversation_id", "number", "position", "title")


class AppendResult(NamedTuple):
    """The new length of a journal, and the rows of the questions that were asked."""

    entry_count: int
    opened_rows: list[Inquiry]


def read_elements(conversation_id: int) -> tuple[Element, ...]:
    """Return the whole stream, in order."""
    texts = JournalEntry.objects.filter(conversation_id=conversation_id).order_by("position")
    return tuple(wire.read_element(text) for text in texts.values_list("text", flat=True))


def find_element(conversation_id: int, anchor: str) -> tuple[int, Element]:
    """Return the position and the element of a permalink, masked. Raises UnknownAnchor.

    A permalink to an event inside a legacy element leads to the whole element.
    """
    element_anchor, _ = anchor_ids.split_anchor(anchor)
    entry = JournalEntry.objects.filter(
        conversation_id=conversation_id, anchor=element_anchor
    ).first()
    if entry is None:
        raise UnknownAnchor(f"There is no event {anchor} in this conversation.")
    event_masks = masks.load_masks(conversation_id, [element_anchor])
    return entry.position, event_masks.read_element(element_anchor, entry.text)


def find_anchor(conversation_id: int, position: int) -> str:
    """Return the anchor of the element at a position; empty where there is none."""
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, position=position)
    return rows.values_list("anchor", flat=True).first() or ""


@transaction.atomic
def append_events(
    conversation_id: int,
    events: Sequence[ConversationEvent],
    run: Run | None = None,
    row: Inquiry | None = None,
    member_id: int | None = None,
) -> int:
    """Append events; all or none. Returns the new length.

    An ``inquiry_request`` opens a row, an ``inquiry_response`` settles it by
    compare-and-set, and queues the run that is parked on it. With a ``run`` its holder
    appends. With a ``row`` the event is a response that settles this row and no other, and
    the row gets its new columns; earlier open questions of the same id are closed as lost,
    since a reader pairs by order. ``member_id`` is the person who settles it, whose role is
    checked under the lock.

    Raises AlreadySettled (and appends nothing) where a response comes second,
    ReadOnlyConversation for a mirrored conversation, UnknownConversation where the
    conversation was deleted, LeaseLost, RoleEnded.
    """
    if row is None:
        return append_in_transaction(conversation_id, events, run).entry_count
    while True:
        try:
            return append_in_transaction(conversation_id, events, run, row, member_id).entry_count
        except settlement.OlderInquiryOpen:  # another program's question; nothing is written yet
            response = InquiryResponse(row.inquiry_id, Cancelled(CancellationReason.LOST))
            note = Decider("system").make_note()
            append_in_transaction(
                conversation_id, [ConversationEvent(events[0].timestamp, response, note)], run
            )


def append_in_transaction(
    conversation_id: int,
    events: Sequence[ConversationEvent],
    run: Run | None = None,
    row: Inquiry | None = None,
    member_id: int | None = None,
) -> AppendResult:
    """As ``append_events``, in the transaction of the caller, which ends it where this raises."""
    opened_rows: list[Inquiry] = []
    conversation = _lock_writable(conversation_id)
    if run is not None:
        leases.assert_held(run, _choose_next_phase(events))
    turn = on_append.CurrentTurn(conversation)
    for event in events:
        element = wire.write_element(event)
        entry = _make_entry(conversation, element)
        if turn.apply_event(entry, event):
            unanswered_inquiries.mark_before_turn(conversation.pk, entry.position)
        match event.kind:
            case InquiryRequest():
                entry.item_position, asker = turn.find_asker(entry, event)
                opened_rows.append(settlement.insert_open_row(entry, event, event.kind, run, asker))
            case InquiryResponse() as response:
                entry.item_position, parked_run_id = settlement.settle_row(
                    entry, event, response, row, member_id
                )
                if parked_run_id is not None:
                    leases.requeue_parked(parked_run_id)
            case ToolCallResponse():
                entry.item_position = turn.find_caller(entry, event.kind.id)
                unanswered_inquiries.mark_call_inquiries(conversation.pk, entry.item_position)
                policy_decisions.record_policies(entry, event)
            case _:
                pass
        compiled_write.insert_row(entry)
        on_append.count_entry(conversation, entry.category)
        conversation.last_activity = (
            timestamps.parse_timestamp(event.timestamp) or conversation.last_activity
        )
    growth_values = {name: getattr(conversation, name) for name in _GROWTH_COLUMNS}
    compiled_write.update_rows(Conversation, {"id": conversation.pk}, **growth_values)
    return AppendResult(conversation.entry_count, opened_rows)


def replace_elements(
    conversation: Conversation, elements: Sequence[Element], anchors: Sequence[str]
) -> int:
    """Replace the journal by elements with their anchors, and set the conversation's counts.

    The caller saves the conversation.
    """
    stream_rows = from_stream.derive_stream_rows(elements, anchors)
    set_counts(conversation, stream_rows)
    return replace_rows(conversation, stream_rows)


def set_counts(conversation: Conversation, stream_rows: from_stream.StreamRows) -> None:
    """Set the counts of a conversation, which the caller saves."""
    conversation.entry_count, conversation.turns = len(stream_rows.entries), len(stream_rows.turns)
    conversation.category_counts = dict(Counter(entry[-1] for entry in stream_rows.entries))
    conversation.derived_version, conversation.needs_indexing = on_append.DERIVED_VERSION, True


def replace_rows(
    conversation: Conversation, stream_rows: from_stream.StreamRows, *, is_new: bool = False
) -> int:
    """Replace the journal of a conversation by these rows; returns the number of rows written.

    Rows that are the same up to the first difference stay as they are, so growth only adds;
    where rows were deleted, the conversation has a new revision (which the caller saves). A
    new conversation (``is_new``) has no rows, and none are looked for.
    """
    equal_count, turns = delete_changed(conversation, stream_rows, is_new=is_new)
    return insert_rows(conversation, stream_rows, equal_count, turns)


def delete_changed(
    conversation: Conversation, stream_rows: from_stream.StreamRows, *, is_new: bool = False
) -> tuple[int, int]:
    """Delete the rows from the first difference on; returns the entries and turns that stay."""
    if is_new:
        return 0, 0
    kept_entries = _delete_from_difference(conversation, stream_rows.entries)
    existing_turns = list(Turn.objects.filter(conversation=conversation).order_by("number"))
    kept_turns = on_append.count_equal_turns(existing_turns, stream_rows.turns)
    Turn.objects.filter(conversation=conversation, number__gte=kept_turns).delete()
    return kept_entries, kept_turns


def insert_rows(
    conversation: Conversation, stream_rows: from_stream.StreamRows, entries: int, turns: int
) -> int:
    """Insert the rows after so many entries and turns; returns the number of entries written."""
    key = conversation.pk
    new_entries = stream_rows.entries[entries:] if entries else stream_rows.entries
    entry_rows = [(key, position, *entry) for position, entry in enumerate(new_entries, entries)]
    bulk.insert_rows(JournalEntry.TABLE, _COLUMNS, entry_rows)
    turn_rows = [(key, number, *turn) for number, turn in enumerate(stream_rows.turns)]
    bulk.insert_rows(Turn.TABLE, TURN_COLUMNS, turn_rows[turns:])
    return len(entry_rows)


def _delete_from_difference(
    conversation: Conversation, entries: Sequence[from_stream.EntryColumns]
) -> int:
    """Delete the entries from the first difference on; returns how many stay."""
    journal_rows = JournalEntry.objects.filter(conversation=conversation)
    existing_rows = journal_rows.order_by("position").values_list(
        "text", "item_position", "category"
    )
    equal_count = 0
    for row, (text, _, _, *derived_columns) in zip(existing_rows.iterator(), entries, strict=False):
        if row != (text, *derived_columns):
            break
        equal_count += 1
    if journal_rows.filter(position__gte=equal_count).delete()[0]:
        conversation.revision += 1
    return equal_count


def lock_conversation(conversation_id: int) -> Conversation:
    """Return a conversation, its row locked until the transaction ends.

    Raises UnknownConversation.
    """
    rows: list[Conversation] = _locked_query([conversation_id])
    if not rows:
        raise UnknownConversation("This conversation was deleted.")
    return rows[0]


#: The ORM takes 0.4 ms longer, while events are appended.
_locked_query = CompiledQuery(
    lambda keys: Conversation.objects.select_for_update().filter(pk__in=keys)
)


def _choose_next_phase(events: Sequence[ConversationEvent]) -> RunPhase | None:
    """Return the phase of a run after these events; None where they do not change it."""
    for event in reversed(events):
        match event.kind:
            case ToolCallRequest():
                return RunPhase.CALLING
            case ToolCallResponse() | ChatRequest():
                return RunPhase.REPLYING
            case _:
                pass
    return None


def _lock_writable(conversation_id: int) -> Conversation:
    conversation = lock_conversation(conversation_id)
    if conversation.origin != Origin.NATIVE:
        raise ReadOnlyConversation(
            "This conversation is managed by jp. Answer its questions there."
        )
    return conversation


def _make_entry(conversation: Conversation, element: Element) -> JournalEntry:
    content_anchor = anchor_ids.make_content_anchor(element)
    equal_count = _count_equal(conversation.pk, content_anchor)
    return JournalEntry(
        conversation=conversation,
        position=conversation.entry_count,
        text=element.raw,
        kind=element.tag,
        anchor=anchor_ids.add_ordinal(content_anchor, equal_count + 1),
        item_position=conversation.entry_count,
        category=categorize_element(element),
    )


def _count_equal(conversation_id: int, content_anchor: str) -> int:
    """Return the number of elements that are equal to the one with this anchor."""
    # The first one has the anchor without a suffix, which an index finds; LIKE needs a scan.
    if not _equal_query([conversation_id], [content_anchor]):
        return 0
    same_anchor = Q(anchor=content_anchor) | Q(anchor__startswith=f"{content_anchor}-x")
    return JournalEntry.objects.filter(same_anchor, conversation_id=conversation_id).count()


#: The ORM takes 0.2 ms longer, for each anchor.
_equal_query = CompiledQuery(
    lambda conversation_ids, anchors: JournalEntry.objects.filter(
        conversation_id__in=conversation_ids, anchor__in=anchors
    ).values_list("pk")[:1]
)
