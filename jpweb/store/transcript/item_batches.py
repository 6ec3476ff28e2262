"""Every item of a conversation in order, in batches: the outline's content in bounded memory.

A batch reads entries in the order of their items, so it has all entries of its items. An item
never spans batches, whatever its length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jpweb.store import exports
from jpweb.store.errors import ExportBroken
from jpweb.store.masking import masks
from jpweb.store.models import Conversation, JournalEntry, Turn
from jpweb.stream import wire
from jpweb.stream.events import Element
from jpweb.stream.inquiry import InquiryRequest
from jpweb.stream.transcript import builder
from jpweb.stream.transcript.builder import ElementRow, TurnItem
from jpweb.stream.transcript.items import InquiryState
from jpweb.stream.turns import TurnCompleteness

#: Entries of one batch, and characters after which it adds no further item.
MAX_BATCH_ENTRIES, MAX_BATCH_CHARS = 300, 200_000
_COLUMNS = ("item_position", "position", "anchor", "text")


class ItemBatch(NamedTuple):
    """Consecutive items; ``done`` counts the entries of this batch and the previous ones.

    ``incomplete_turn`` is the index of the last turn where that turn is incomplete (RFD 023).
    """

    items: list[TurnItem]
    done: int
    incomplete_turn: int | None


class _LastTurn(NamedTuple):
    number: int
    start: int
    is_incomplete: bool


def read_items(conversation: Conversation) -> Iterator[ItemBatch]:
    """Yield the items of a conversation in order, as at least one batch.

    Raises ExportBroken if entries are replaced or removed between two batches.
    """
    item_position = done_count = 0
    last_turn: _LastTurn | None = None
    while True:
        entries = _read_entries(conversation, item_position)
        if done_count or len(entries) < conversation.entry_count:
            exports.check_unchanged(conversation)
        if not entries and done_count < conversation.entry_count:
            raise ExportBroken("The conversation was removed while it was downloaded.")
        event_masks = masks.load_masks(conversation.pk, [entry[2] for entry in entries])
        rows = sorted(
            ElementRow(position, anchor, event_masks.read_element(anchor, text))
            for _, position, anchor, text in entries
        )
        done_count += len(rows)
        if last_turn is None and rows and _is_in_last_turn(conversation, rows[-1].position):
            last_turn = _read_last_turn(conversation)
        yield ItemBatch(
            builder.build_items(
                rows, _read_turns(conversation, rows), _find_open_questions(rows, last_turn)
            ),
            done_count,
            last_turn.number if last_turn and last_turn.is_incomplete else None,
        )
        if done_count >= conversation.entry_count:
            return
        item_position = entries[-1][0] + 1


def _read_entries(
    conversation: Conversation, item_position: int
) -> list[tuple[int, int, str, str]]:
    """Return all entries of some items from a position on, by item and position."""
    entries_from_item_position = JournalEntry.objects.filter(
        conversation=conversation,
        item_position__gte=item_position,
        position__lt=conversation.entry_count,
    )
    ordered_entries = entries_from_item_position.order_by("item_position", "position").values_list(
        *_COLUMNS
    )[: MAX_BATCH_ENTRIES + 1]
    entries: list[tuple[int, int, str, str]] = []
    characters = 0
    for entry in ordered_entries.iterator(chunk_size=exports.FETCH_ROWS):
        is_full = characters >= MAX_BATCH_CHARS
        if is_full and entry[0] != entries[-1][0]:
            return entries
        entries.append(entry)
        characters += len(entry[-1])
    if len(entries) <= MAX_BATCH_ENTRIES:
        return entries
    last_item_position = entries[-1][0]
    complete_entries = [entry for entry in entries if entry[0] != last_item_position]
    return complete_entries or list(
        JournalEntry.objects.filter(
            conversation=conversation,
            item_position=last_item_position,
            position__lt=conversation.entry_count,
        )
        .order_by("position")
        .values_list(*_COLUMNS)
    )


def _read_turns(conversation: Conversation, rows: list[ElementRow]) -> list[tuple[int, int]]:
    """Return the index and the first position of each turn that these rows are in."""
    if not rows:
        return []
    turns_before_end = Turn.objects.filter(
        conversation=conversation, position__lte=rows[-1].position
    )
    first_turn = (
        turns_before_end.filter(position__lte=rows[0].position)
        .order_by("-position")
        .values("position")
    )
    turns = turns_before_end.filter(position__gte=first_turn[:1]).order_by("position")
    return list(turns.values_list("number", "position"))


def _is_in_last_turn(conversation: Conversation, position: int) -> bool:
    later_turns = Turn.objects.filter(conversation=conversation, position__gt=position)
    return not later_turns.filter(position__lt=conversation.entry_count).exists()


def _read_last_turn(conversation: Conversation) -> _LastTurn | None:
    """Return the last turn; its entries are read again, in batches, to find how it ended."""
    turns = Turn.objects.filter(conversation=conversation, position__lt=conversation.entry_count)
    turn = turns.order_by("-position").first()
    if turn is None:
        return None
    entries = JournalEntry.objects.filter(
        conversation=conversation,
        position__gte=turn.position,
        position__lt=conversation.entry_count,
    )
    completeness = TurnCompleteness()
    ordered_entries = entries.order_by("position").values_list("text", flat=True)
    for text in ordered_entries.iterator(chunk_size=exports.FETCH_ROWS):
        completeness.add_element(wire.read_element(text))
    return _LastTurn(turn.number, turn.position, completeness.is_incomplete)


def _find_open_questions(
    rows: list[ElementRow], last_turn: _LastTurn | None
) -> dict[int, InquiryState]:
    """Return the state of questions without an outcome, as ``outline`` has it, by position.

    Questions of an incomplete turn are open; ``build_items`` makes those unanswered whose call
    has ended.
    """
    if last_turn is None or not last_turn.is_incomplete:
        return {}
    return {
        row.position: "open"
        for row in rows
        if row.position >= last_turn.start and _has_question(row.element)
    }


def _has_question(element: Element) -> bool:
    return any(isinstance(event.kind, InquiryRequest) for event in element.events)
