"""Derives the columns of an appended event, as ``from_stream`` does for a whole stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Value

from jpweb.store import db_text
from jpweb.store.derived_rows.from_stream import TurnColumns
from jpweb.store.models import Conversation, JournalEntry, Turn
from jpweb.store.sql import compiled_write
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.stream import wire
from jpweb.stream.events import KINDS, ChatRequest, ConversationEvent, ToolCallRequest, TurnStart
from jpweb.stream.transcript.grouping import extract_title
from jpweb.stream.turns import EventMatches, find_owners

#: Version of derived columns and of passages; those of an older version are rebuilt.
DERIVED_VERSION = 3
#: Version since which derived columns are the same; of a later one, passages alone are rebuilt.
COLUMNS_VERSION = 2
#: Columns of a conversation that an appended entry changes.
GROWTH_COLUMNS = ("entry_count", "turns", "category_counts", "derived_version", "needs_indexing")

_EVENT_KINDS = tuple(tag for tag, kind in KINDS.items() if not kind.OVERLAY)
_RESULT_CATEGORIES = ("result", "failure")
#: An id that JSON does not escape: only entries whose text contains it have to be parsed.
_UNESCAPED_ID = re.compile(r"[A-Za-z0-9_.:-]+")


class CurrentTurn:
    """The current turn of a conversation; reads only the rows that the appended event needs."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    @cached_property
    def _turn(self) -> Turn | None:
        rows: list[Turn] = _last_turn_query([self._conversation.pk])
        return rows[0] if rows else None

    @property
    def _start_position(self) -> int:
        return self._turn.position if self._turn else 0

    def apply_event(self, entry: JournalEntry, event: ConversationEvent) -> bool:
        """Apply an event: begin a turn where it does, and title the turn by the person's request.

        Returns whether a turn begins.
        """
        begins_turn = self._is_turn_start(event)
        if begins_turn:
            number = self._turn.number + 1 if self._turn else 0
            turn = Turn(conversation=self._conversation, number=number, position=entry.position)
            compiled_write.insert_row(turn)
            self._turn = turn
            self._conversation.turns = number + 1
        if isinstance(event.kind, ChatRequest) and self._turn and not self._turn.title:
            self._turn.title = db_text.clean_text(extract_title(event.kind.content))
            compiled_write.update_rows(Turn, {"id": self._turn.pk}, title=self._turn.title)
        return begins_turn

    def find_asker(self, entry: JournalEntry, event: ConversationEvent) -> tuple[int, str]:
        """Return the position of the call that asks (``find_owners``), else the question's own.

        Also the name of its tool, where the event's note has the call.
        """
        call_id = event.note.get("tool_call_id")
        calls = self._find_calls(call_id) if isinstance(call_id, str) else []
        if calls:
            position, call = calls[-1]
            return position, call.name
        running_calls = self._list_running_calls()
        events = [
            ((position, 0), ConversationEvent("", call, {})) for position, call in running_calls
        ]
        place_key = (entry.position, 0)
        owner_place = find_owners([*events, (place_key, event)], EventMatches({}, frozenset())).get(
            place_key
        )
        return (owner_place[0] if owner_place else entry.position), ""

    def find_caller(self, entry: JournalEntry, call_id: str) -> int:
        """Return the position of the call that a result belongs to, else the result's own."""
        call_positions = [position for position, _ in self._find_calls(call_id)]
        answered_item_positions = (
            _result_item_position_query([self._conversation.pk], call_positions)
            if call_positions
            else []
        )
        return next(
            (
                call_position
                for call_position in call_positions
                if (call_position,) not in answered_item_positions
            ),
            entry.position,
        )

    def _find_calls(self, call_id: str) -> list[tuple[int, ToolCallRequest]]:
        """Return the calls of this turn that have an id, in order."""
        turn_keys = [self._conversation.pk], [self._start_position]
        rows = (
            _call_by_id_query(*turn_keys, [call_id])
            if _UNESCAPED_ID.fullmatch(call_id)
            else _call_query(*turn_keys)
        )
        return [(position, call) for position, call in _parse_calls(rows) if call.id == call_id]

    def _list_running_calls(self) -> list[tuple[int, ToolCallRequest]]:
        """Return the calls of this turn that have no result, in order."""
        return _parse_calls(_running_call_query([self._conversation.pk], [self._start_position]))

    def _is_turn_start(self, event: ConversationEvent) -> bool:
        if not self._conversation.turns:
            return True
        if not isinstance(event.kind, TurnStart):
            return False
        return bool(_event_query([self._conversation.pk], [self._start_position]))


def _parse_calls(rows: Iterable[tuple[int, str]]) -> list[tuple[int, ToolCallRequest]]:
    kinds = [(position, wire.read_element(text).kind) for position, text in rows]
    return [(position, kind) for position, kind in kinds if isinstance(kind, ToolCallRequest)]


def _list_calls_since(
    conversation_ids: list[int], starts: list[int]
) -> QuerySet[JournalEntry, tuple[int, str]]:
    rows = JournalEntry.objects.filter(
        conversation_id__in=conversation_ids, category="call", item_position__gte=Value(starts[0])
    )
    return rows.order_by("item_position").values_list("position", "text")


def _filter_results(**conditions: Any) -> QuerySet[JournalEntry]:
    return JournalEntry.objects.filter(category__in=_RESULT_CATEGORIES, **conditions)


#: The ORM takes 0.3 to 1.0 ms longer for each of these, while an event is appended.
_last_turn_query = CompiledQuery(
    lambda conversation_ids: Turn.objects.filter(conversation_id__in=conversation_ids).order_by(
        "-number"
    )[:1]
)
# Calls of a conversation's current turn: all, and those whose text contains an id.
_call_query = CompiledQuery(_list_calls_since)
_call_by_id_query = CompiledQuery(
    lambda conversation_ids, starts, call_ids: _list_calls_since(conversation_ids, starts).filter(
        text__contains=Value(str(call_ids[0]))
    )
)
# Calls of the current turn without a result; any event of it; the calls with a result.
_running_call_query = CompiledQuery(
    lambda conversation_ids, starts: _list_calls_since(conversation_ids, starts).exclude(
        Exists(
            _filter_results(
                conversation=OuterRef("conversation"), item_position=OuterRef("item_position")
            )
        )
    )
)
_event_query = CompiledQuery(
    lambda conversation_ids, starts: JournalEntry.objects.filter(
        Q(kind__in=_EVENT_KINDS) | Q(category="legacy"),
        conversation_id__in=conversation_ids,
        position__gte=Value(starts[0]),
    ).values_list("pk")[:1]
)
_result_item_position_query = CompiledQuery(
    lambda conversation_ids, item_positions: _filter_results(
        conversation_id__in=conversation_ids, item_position__in=item_positions
    ).values_list("item_position")
)


def count_entry(conversation: Conversation, category: str) -> None:
    """Count an added entry in its conversation."""
    conversation.category_counts[category] = conversation.category_counts.get(category, 0) + 1
    conversation.entry_count += 1
    conversation.derived_version, conversation.needs_indexing = DERIVED_VERSION, True


def count_equal_turns(existing_turns: Sequence[Turn], derived_turns: Sequence[TurnColumns]) -> int:
    """Return the number of equal turns, from the first."""
    equal_count = 0
    for row, columns in zip(existing_turns, derived_turns, strict=False):
        if (row.position, row.title) != tuple(columns):
            break
        equal_count += 1
    return equal_count
