"""Where an event belongs that is appended: what ``stream.layout.places`` says of a whole stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Value

from jpweb.store import plain
from jpweb.store.models import Conversation, JournalEntry, Turn
from jpweb.store.rows import single
from jpweb.store.rows.derived import Begun
from jpweb.store.rows.prepared import Prepared
from jpweb.stream import wire
from jpweb.stream.events import KINDS, ChatRequest, ConversationEvent, ToolCallRequest, TurnStart
from jpweb.stream.layout.places import words
from jpweb.stream.turns import Matches, owners

#: Which version of derived columns and of passages this is; those of an older one are made again.
PLACED = 2
#: The columns that a conversation says its growth in.
COLUMNS = ("length", "turns", "accounts", "placed", "unindexed")

_EVENTS = tuple(tag for tag, kind in KINDS.items() if not kind.OVERLAY)
_RESULTS = ("result", "failure")
#: An id that JSON spells as it is, so that texts without it need not be read.
_AS_IT_IS = re.compile(r"[A-Za-z0-9_.:-]+")


class Turning:
    """The turn that a conversation is in, looked at no further than what is appended asks."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    @cached_property
    def _now(self) -> Turn | None:
        found: list[Turn] = _last_turn([self._conversation.pk])
        return found[0] if found else None

    @property
    def _start(self) -> int:
        return self._now.position if self._now else 0

    def take(self, entry: JournalEntry, event: ConversationEvent) -> bool:
        """Begin a turn where this event does, and let it be named by what a person asks in it.

        Returns whether a turn begins.
        """
        begins = self._begins(event)
        if begins:
            number = self._now.number + 1 if self._now else 0
            made = Turn(conversation=self._conversation, number=number, position=entry.position)
            single.insert(made)
            self._now = made
            self._conversation.turns = number + 1
        if isinstance(event.kind, ChatRequest) and self._now and not self._now.words:
            self._now.words = plain.text(words(event.kind.content))
            single.update(Turn, {"id": self._now.pk}, words=self._now.words)
        return begins

    def asker(self, entry: JournalEntry, event: ConversationEvent) -> tuple[int, str]:
        """Return the position of the call that asks (``turns.owners``), else the question's own.

        With it the name of its tool, where the call is noted beside the question.
        """
        noted = event.note.get("tool_call_id")
        known = self._calls(noted) if isinstance(noted, str) else []
        if known:
            position, call = known[-1]
            return position, call.name
        running = self._running()
        events = [((position, 0), ConversationEvent("", call, {})) for position, call in running]
        place = (entry.position, 0)
        found = owners([*events, (place, event)], Matches({}, frozenset())).get(place)
        return (found[0] if found else entry.position), ""

    def caller(self, entry: JournalEntry, call_id: str) -> int:
        """Return the position of the call that a result belongs to, else the result's own."""
        asking = [position for position, _ in self._calls(call_id)]
        done = _ended([self._conversation.pk], asking) if asking else []
        return next((at for at in asking if (at,) not in done), entry.position)

    def _calls(self, call_id: str) -> list[tuple[int, ToolCallRequest]]:
        """Return the calls of this turn that have an id, in order."""
        own = [self._conversation.pk], [self._start]
        rows = _naming(*own, [call_id]) if _AS_IT_IS.fullmatch(call_id) else _called(*own)
        return [(position, call) for position, call in _read(rows) if call.id == call_id]

    def _running(self) -> list[tuple[int, ToolCallRequest]]:
        """Return the calls of this turn that have no result, in order."""
        return _read(_unended([self._conversation.pk], [self._start]))

    def _begins(self, event: ConversationEvent) -> bool:
        if not self._conversation.turns:
            return True
        if not isinstance(event.kind, TurnStart):
            return False
        return bool(_said([self._conversation.pk], [self._start]))


def _read(rows: Iterable[tuple[int, str]]) -> list[tuple[int, ToolCallRequest]]:
    read = [(position, wire.read(text).kind) for position, text in rows]
    return [(position, kind) for position, kind in read if isinstance(kind, ToolCallRequest)]


def _calls(talks: list[int], starts: list[int]) -> QuerySet[JournalEntry, tuple[int, str]]:
    rows = JournalEntry.objects.filter(
        conversation_id__in=talks, facet="call", head__gte=Value(starts[0])
    )
    return rows.order_by("head").values_list("position", "text")


def _results(**own: Any) -> QuerySet[JournalEntry]:
    return JournalEntry.objects.filter(facet__in=_RESULTS, **own)


_last_turn = Prepared(
    lambda talks: Turn.objects.filter(conversation_id__in=talks).order_by("-number")[:1]
)
# Of a conversation, from where its turn begins: calls, those with an id in their text, ...
_called = Prepared(_calls)
_naming = Prepared(
    lambda talks, starts, ids: _calls(talks, starts).filter(text__contains=Value(str(ids[0])))
)
# ... those without a result, whether anything was said; of calls, by their heads, those with one.
_unended = Prepared(
    lambda talks, starts: _calls(talks, starts).exclude(
        Exists(_results(conversation=OuterRef("conversation"), head=OuterRef("head")))
    )
)
_said = Prepared(
    lambda talks, starts: JournalEntry.objects.filter(
        Q(kind__in=_EVENTS) | Q(facet="legacy"),
        conversation_id__in=talks,
        position__gte=Value(starts[0]),
    ).values_list("pk")[:1]
)
_ended = Prepared(
    lambda talks, heads: _results(conversation_id__in=talks, head__in=heads).values_list("head")
)


def account(conversation: Conversation, facet: str) -> None:
    """Count one entry more."""
    conversation.accounts[facet] = conversation.accounts.get(facet, 0) + 1
    conversation.length += 1
    conversation.placed, conversation.unindexed = PLACED, True


def common(known: Sequence[Turn], found: Sequence[Begun]) -> int:
    """Return how many turns are known as they are found, from the first."""
    same = 0
    for row, begun in zip(known, found, strict=False):
        if (row.position, row.words) != tuple(begun):
            break
        same += 1
    return same
