"""Every item of a conversation in order, in batches: what the outline shows, without holding it.

A batch reads entries in the order of their heads, so it has all entries of the items that it
holds. One item is always held whole, however long it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jpweb.store import exports
from jpweb.store.errors import ExportBroken
from jpweb.store.models import Conversation, JournalEntry, Turn
from jpweb.stream import wire
from jpweb.stream.events import Element
from jpweb.stream.inquiry import InquiryRequest
from jpweb.stream.layout import laying
from jpweb.stream.layout.items import State
from jpweb.stream.layout.laying import Row, Shown
from jpweb.stream.turns import TurnCompleteness

#: Entries that one batch reads, and characters after which it reads no further item.
MAX_BATCH_ENTRIES, MAX_BATCH_CHARACTERS = 300, 200_000
_COLUMNS = ("head", "position", "anchor", "text")


class ItemBatch(NamedTuple):
    """Items in a row; the first ``done`` entries by head are in this batch and those before it.

    ``incomplete_turn`` is the index of the last turn where that turn is incomplete (RFD 023).
    """

    items: list[Shown]
    done: int
    incomplete_turn: int | None


class _LastTurn(NamedTuple):
    number: int
    start: int
    is_incomplete: bool


def read_items(conversation: Conversation) -> Iterator[ItemBatch]:
    """Yield the items of a conversation in order; one batch at least.

    Raises ExportBroken where entries are replaced or removed between two batches.
    """
    head = done = 0
    last: _LastTurn | None = None
    while True:
        entries = _read_entries(conversation, head)
        if done or len(entries) < conversation.length:
            exports.check_unchanged(conversation)
        if not entries and done < conversation.length:
            raise ExportBroken("The conversation was removed while it was downloaded.")
        rows = sorted(
            Row(position, anchor, wire.read(text)) for _, position, anchor, text in entries
        )
        done += len(rows)
        if last is None and rows and _is_in_last_turn(conversation, rows[-1].position):
            last = _read_last_turn(conversation)
        yield ItemBatch(
            laying.items(rows, _read_turns(conversation, rows), _find_open(rows, last)),
            done,
            last.number if last and last.is_incomplete else None,
        )
        if done >= conversation.length:
            return
        head = entries[-1][0] + 1


def _read_entries(conversation: Conversation, head: int) -> list[tuple[int, int, str, str]]:
    """Return all entries of some items from a head on, by head and position."""
    own = JournalEntry.objects.filter(
        conversation=conversation, head__gte=head, position__lt=conversation.length
    )
    ordered = own.order_by("head", "position").values_list(*_COLUMNS)[: MAX_BATCH_ENTRIES + 1]
    entries: list[tuple[int, int, str, str]] = []
    characters = 0
    for entry in ordered.iterator(chunk_size=exports.FETCHED_ROWS):
        is_full = characters >= MAX_BATCH_CHARACTERS
        if is_full and entry[0] != entries[-1][0]:
            return entries
        entries.append(entry)
        characters += len(entry[-1])
    if len(entries) <= MAX_BATCH_ENTRIES:
        return entries
    cut = entries[-1][0]
    whole = [entry for entry in entries if entry[0] != cut]
    return whole or list(
        JournalEntry.objects.filter(
            conversation=conversation, head=cut, position__lt=conversation.length
        )
        .order_by("position")
        .values_list(*_COLUMNS)
    )


def _read_turns(conversation: Conversation, rows: list[Row]) -> list[tuple[int, int]]:
    """Return the index and the first position of each turn that these rows are in."""
    if not rows:
        return []
    every = Turn.objects.filter(conversation=conversation, position__lte=rows[-1].position)
    begun = every.filter(position__lte=rows[0].position).order_by("-position").values("position")
    spanned = every.filter(position__gte=begun[:1]).order_by("position")
    return list(spanned.values_list("number", "position"))


def _is_in_last_turn(conversation: Conversation, position: int) -> bool:
    later = Turn.objects.filter(conversation=conversation, position__gt=position)
    return not later.filter(position__lt=conversation.length).exists()


def _read_last_turn(conversation: Conversation) -> _LastTurn | None:
    """Return the last turn; its entries are read once more, in batches, to see how it ended."""
    own = Turn.objects.filter(conversation=conversation, position__lt=conversation.length)
    turn = own.order_by("-position").first()
    if turn is None:
        return None
    entries = JournalEntry.objects.filter(
        conversation=conversation, position__gte=turn.position, position__lt=conversation.length
    )
    completeness = TurnCompleteness()
    ordered = entries.order_by("position").values_list("text", flat=True)
    for text in ordered.iterator(chunk_size=exports.FETCHED_ROWS):
        completeness.add(wire.read(text))
    return _LastTurn(turn.number, turn.position, completeness.is_incomplete)


def _find_open(rows: list[Row], last: _LastTurn | None) -> dict[int, State]:
    """Return the state of questions without an outcome, as ``outline`` has it, by position.

    Questions of an incomplete turn are open; laying makes those unanswered whose call has ended.
    """
    if last is None or not last.is_incomplete:
        return {}
    return {
        row.position: "open" for row in rows if row.position >= last.start and _asks(row.element)
    }


def _asks(element: Element) -> bool:
    return any(isinstance(event.kind, InquiryRequest) for event in element.events)
