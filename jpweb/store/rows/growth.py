"""Where an event belongs that is appended: what ``stream.layout.places`` says of a whole stream."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from django.db.models import Exists, OuterRef, Q, QuerySet

from jpweb.store import plain
from jpweb.store.models import Conversation, JournalEntry, Turn
from jpweb.store.rows.derived import Begun
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
        return Turn.objects.filter(conversation=self._conversation).order_by("-number").first()

    @property
    def _start(self) -> int:
        return self._now.position if self._now else 0

    def take(self, entry: JournalEntry, event: ConversationEvent) -> None:
        """Begin a turn where this event does, and let it be named by what a person asks in it."""
        if self._begins(event):
            number = self._now.number + 1 if self._now else 0
            made = Turn(conversation=self._conversation, number=number, position=entry.position)
            made.save(force_insert=True)
            self._now = made
            self._conversation.turns = number + 1
        if isinstance(event.kind, ChatRequest) and self._now and not self._now.words:
            self._now.words = plain.text(words(event.kind.content))
            self._now.save(update_fields=["words"])

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
        own = JournalEntry.objects.filter(conversation=self._conversation, head__in=asking)
        done = set(own.filter(facet__in=_RESULTS).values_list("head", flat=True))
        return next((position for position in asking if position not in done), entry.position)

    def _calls(self, call_id: str) -> list[tuple[int, ToolCallRequest]]:
        """Return the calls of this turn that have an id, in order."""
        rows = self._rows()
        if _AS_IT_IS.fullmatch(call_id):
            rows = rows.filter(text__contains=call_id)
        return [(position, call) for position, call in _read(rows) if call.id == call_id]

    def _running(self) -> list[tuple[int, ToolCallRequest]]:
        """Return the calls of this turn that have no result, in order."""
        own = JournalEntry.objects.filter(conversation=self._conversation, head=OuterRef("head"))
        return _read(self._rows().exclude(Exists(own.filter(facet__in=_RESULTS))))

    def _rows(self) -> QuerySet[JournalEntry]:
        return JournalEntry.objects.filter(
            conversation=self._conversation, facet="call", head__gte=self._start
        )

    def _begins(self, event: ConversationEvent) -> bool:
        if self._now is None:
            return True
        if not isinstance(event.kind, TurnStart):
            return False
        inside = JournalEntry.objects.filter(
            conversation=self._conversation, position__gte=self._start
        )
        return inside.filter(Q(kind__in=_EVENTS) | Q(facet="legacy")).exists()


def _read(rows: QuerySet[JournalEntry]) -> list[tuple[int, ToolCallRequest]]:
    texts = rows.order_by("head").values_list("position", "text")
    read = [(position, wire.read(text).kind) for position, text in texts]
    return [(position, kind) for position, kind in read if isinstance(kind, ToolCallRequest)]


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
