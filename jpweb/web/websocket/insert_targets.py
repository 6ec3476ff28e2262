"""Insert targets of items that are added to a live page: its end, or between its items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jpweb.store.transcript import navigation, turns, windows
from jpweb.web import transcript
from jpweb.web.transcript import TranscriptLine

if TYPE_CHECKING:
    from datetime import datetime

    from jpweb.store.models import Conversation

#: htmx target after the last item of the window.
END_TARGET = "beforeend:#transcript-end"


class Insertion(NamedTuple):
    """An item, and the htmx target that inserts it."""

    line: TranscriptLine
    target: str = END_TARGET


def place_at_end(conversation: Conversation, lines: Sequence[TranscriptLine]) -> list[Insertion]:
    """Return the insertions of new items, in stream order, for an unfiltered page at the end."""
    placements: list[Insertion] = []
    times = {element.position: element.time for line in lines for element in line.item.elements}
    # The event before a new item may be of an older one, such as the result of a parallel call.
    previous_positions = {line.item.first - 1 for line in lines}
    times |= windows.get_event_times(conversation.pk, previous_positions - times.keys())
    end: datetime | None = None
    for line in lines:
        end = transcript.find_latest(end, times.get(line.item.first - 1))
        placements.append(Insertion(replace(line, gap=transcript.find_gap(line.item, end))))
        end = transcript.find_latest(end, transcript.find_end_time(line.item))
    return placements


def place_among(
    conversation: Conversation, lines: Sequence[TranscriptLine], categories: frozenset[str]
) -> list[Insertion]:
    """Return the insertions of items, in stream order, for a page filtered by categories.

    An older item is among them if a later entry changed its category. Each is inserted after its
    previous item, which the page has by then.
    """
    new_item_positions = {line.item.first for line in lines}
    return [_place_line(conversation, line, categories, new_item_positions) for line in lines]


def _place_line(
    conversation: Conversation,
    line: TranscriptLine,
    categories: frozenset[str],
    new_item_positions: set[int],
) -> Insertion:
    previous_item_positions, later_item_positions = windows.get_neighbors(
        conversation.pk, line.item.first, categories, 1 + len(new_item_positions)
    )
    previous_item_position = previous_item_positions[-1] if previous_item_positions else None
    next_item_position = next(
        (
            item_position
            for item_position in later_item_positions
            if item_position not in new_item_positions
        ),
        None,
    )
    turn = turns.find_turn(conversation.pk, line.item.first)
    if previous_item_position is not None:
        line = replace(
            line,
            gap=transcript.find_gap(
                line.item, windows.get_end_time(conversation.pk, previous_item_positions)
            ),
        )
    if turn and (previous_item_position is None or previous_item_position < turn.position):
        if next_item_position is not None and turn == turns.find_turn(
            conversation.pk, next_item_position
        ):
            # The page has later items of the turn, and so the turn's heading: insert below it.
            return Insertion(
                line, f"beforebegin:#{navigation.get_anchor(conversation.pk, next_item_position)}"
            )
        line = replace(line, turn=turn)
    if previous_item_position is not None:
        return Insertion(
            line, f"afterend:#{navigation.get_anchor(conversation.pk, previous_item_position)}"
        )
    next_turn = (
        None if next_item_position is None else turns.find_turn(conversation.pk, next_item_position)
    )
    return Insertion(line, f"beforebegin:#turn-{next_turn.number}" if next_turn else END_TARGET)
