"""Turns of a conversation as its outline lists them, a stretch at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Value

from jpweb.store.models import Inquiry, JournalEntry, Turn
from jpweb.store.rows.prepared import Prepared

#: Turns that are listed on each side of the one that is looked at.
AROUND = 20
#: Items of one turn that are listed.
LISTED = 100


@dataclass(frozen=True, slots=True)
class Stretch:
    """Turns in a row; ``earlier`` and ``later`` count those before and after them."""

    turns: Sequence[Turn]
    earlier: int
    later: int


def around(conversation_id: int, number: int, total: int) -> Stretch:
    """Return a turn, by its number from 0, with those next to it; ``total`` says of how many."""
    first = max(min(number - AROUND, total - 2 * AROUND - 1), 0)
    rows = Turn.objects.filter(
        conversation_id=conversation_id, number__gte=first, number__lte=first + 2 * AROUND
    )
    found = list(rows.order_by("number"))
    return Stretch(found, first, max(total - first - len(found), 0))


def at(conversation_id: int, position: int) -> Turn | None:
    """Return the turn that a position is in."""
    return next(iter(_at([conversation_id], [position])), None)


_at = Prepared(
    lambda talks, position: Turn.objects.filter(
        conversation_id__in=talks, position__lte=Value(position[0])
    ).order_by("-position")[:1]
)


def starts(conversation_id: int, *numbers: int) -> dict[int, int]:
    """Return the positions where turns begin, by their numbers from 0; of those that there are."""
    rows = Turn.objects.filter(conversation_id=conversation_id, number__in=numbers)
    return dict(rows.values_list("number", "position"))


def next_start(conversation_id: int, position: int) -> int | None:
    """Return the position where the first turn begins that does so from a position on, or None."""
    rows = Turn.objects.filter(conversation_id=conversation_id, position__gte=position)
    return rows.order_by("position").values_list("position", flat=True).first()


def begins(conversation_id: int, number: int) -> int | None:
    """Return the position where a turn begins, or None where there is no such turn."""
    return starts(conversation_id, number).get(number)


def heads(conversation_id: int, number: int) -> tuple[list[int], int]:
    """Return the heads of a turn's tool calls and stray questions, and how many are left out."""
    found = starts(conversation_id, number, number + 1)
    if number not in found:
        return [], 0
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, head__gte=found[number])
    if number + 1 in found:
        rows = rows.filter(head__lt=found[number + 1])
    asked = rows.filter(facet__in=("call", "question")).order_by("head")
    every = asked.values_list("head", flat=True).distinct()
    listed = list(every[:LISTED])
    return listed, every.count() - len(listed) if len(listed) == LISTED else 0


def left_open(conversation_id: int, start: int) -> list[int]:
    """Return the heads of items before a turn's start that hold a question without an outcome.

    Those of the turn before it: what begins a turn ends what waited there.
    """
    before = at(conversation_id, start - 1)
    if before is None:
        return []
    asked = Inquiry.objects.filter(
        conversation_id=conversation_id,
        response_position=None,
        position__gte=before.position,
        position__lt=start,
    )
    rows = JournalEntry.objects.filter(
        conversation_id=conversation_id, position__in=asked.values("position")[:LISTED]
    )
    return sorted(set(rows.values_list("head", flat=True)))
