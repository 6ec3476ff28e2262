"""The journal: the ordered, durable events of a conversation. The one truth.

A row keeps an element's JSON text as it came; the other columns, and the inquiry rows, are
derived from it in the same transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.db import transaction
from django.db.models import Q

from jpweb.store import inquiries
from jpweb.store.errors import ReadOnly, UnknownConversation, UnknownEvent
from jpweb.store.models import Conversation, Inquiry, JournalEntry, Run, Turn
from jpweb.store.rows import derived, growth, many, single
from jpweb.store.rows.prepared import Prepared
from jpweb.store.running import leases, leaving
from jpweb.store.terms import Origin, RunPhase
from jpweb.stream import identity, timestamps, wire
from jpweb.stream.events import (
    ChatRequest,
    ConversationEvent,
    Element,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryRequest, InquiryResponse
from jpweb.stream.layout.facets import facet

_COLUMNS = ("conversation_id", "position", "text", "kind", "anchor", "head", "facet")
#: What an event changes of its conversation.
_GROWS = (*growth.COLUMNS, "last_activity")
#: The columns of a turn.
TURN = ("conversation_id", "number", "position", "words")


def elements(conversation_id: int) -> tuple[Element, ...]:
    """Return the whole stream, in order."""
    texts = JournalEntry.objects.filter(conversation_id=conversation_id).order_by("position")
    return tuple(wire.read(text) for text in texts.values_list("text", flat=True))


def element(conversation_id: int, anchor: str) -> tuple[int, Element]:
    """Return the position and the element of a permalink. Raises UnknownEvent.

    A permalink to an event inside a legacy element leads to the whole of it.
    """
    whole, _ = identity.whole(anchor)
    entry = JournalEntry.objects.filter(conversation_id=conversation_id, anchor=whole).first()
    if entry is None:
        raise UnknownEvent(f"There is no event {anchor} in this conversation.")
    return entry.position, wire.read(entry.text)


@transaction.atomic
def append(
    conversation_id: int,
    events: Sequence[ConversationEvent],
    run: Run | None = None,
    row: Inquiry | None = None,
) -> int:
    """Append events; all or none. Returns the new length.

    An ``inquiry_request`` opens a row, an ``inquiry_response`` settles it by compare-and-set, and
    wakes the run that is parked over it. With a ``run`` it is its holder that appends. With a
    ``row`` the event is a response that settles this row and no other; open questions that stand
    before it under the same id are closed as lost, since a reader pairs by order.
    Raises AlreadySettled (and appends nothing) where a response comes second, ReadOnly for a
    mirrored conversation, UnknownConversation where the conversation is gone, NotHolder.
    """
    if row is None:
        return add(conversation_id, events, run)
    while True:
        try:
            return add(conversation_id, events, run, row.pk)
        except inquiries.OlderOpen:  # another program asked; nothing is written yet
            lost = InquiryResponse(row.inquiry_id, Cancelled(CancellationReason.LOST))
            note = inquiries.Decider("system").note()
            add(conversation_id, [ConversationEvent(events[0].timestamp, lost, note)], run)


def add(
    conversation_id: int,
    events: Sequence[ConversationEvent],
    run: Run | None = None,
    row_id: int | None = None,
) -> int:
    """As ``append``, in the transaction of the caller, which ends it where this raises."""
    conversation = _writable(conversation_id)
    if run is not None:
        leases.guard(run, _phase(events))
    turn = growth.Turning(conversation)
    for event in events:
        made = wire.write(event)
        entry = _entry(conversation, made)
        if turn.take(entry, event):
            leaving.leave_before(conversation.pk, entry.position)
        match event.kind:
            case InquiryRequest():
                entry.head, asker = turn.asker(entry, event)
                inquiries.open_row(entry, event, event.kind, run, asker)
            case InquiryResponse() as given:
                settled = inquiries.settle_row(entry, event, given, row_id)
                entry.head, parked = settled
                if parked is not None:
                    leases.wake(parked)
            case ToolCallResponse():
                entry.head = turn.caller(entry, event.kind.id)
                leaving.leave_call(conversation.pk, entry.head)
            case _:
                pass
        single.insert(entry)
        growth.account(conversation, entry.facet)
        conversation.last_activity = timestamps.parse(event.timestamp) or conversation.last_activity
    grown = {name: getattr(conversation, name) for name in _GROWS}
    single.update(Conversation, {"id": conversation.pk}, **grown)
    return conversation.length


def replace(conversation: Conversation, read: Sequence[Element], anchors: Sequence[str]) -> int:
    """As ``hold``, of elements with their anchors; what the caller saves is counted as well."""
    laid = derived.laid(read, anchors)
    count(conversation, laid)
    return hold(conversation, laid)


def count(conversation: Conversation, laid: derived.Laid) -> None:
    """Say on a conversation, which the caller saves, how much there is of it."""
    conversation.length, conversation.turns = len(laid.entries), len(laid.turns)
    conversation.accounts = dict(Counter(entry[-1] for entry in laid.entries))
    conversation.placed, conversation.unindexed = growth.PLACED, True


def hold(conversation: Conversation, laid: derived.Laid, *, fresh: bool = False) -> int:
    """Make the journal of a conversation hold these entries; returns the rows written.

    Rows that are the same up to the first difference stay as they are, so growth only adds; where
    rows had to go, the conversation has a new revision (which the caller saves). Of a ``fresh``
    conversation nothing is there, and not looked for.
    """
    same, turns = trim(conversation, laid, fresh=fresh)
    return insert(conversation, laid, same, turns)


def trim(conversation: Conversation, laid: derived.Laid, *, fresh: bool = False) -> tuple[int, int]:
    """Delete the rows from the first difference on; returns the entries and turns that stay."""
    if fresh:
        return 0, 0
    same = _common(conversation, laid.entries)
    known = list(Turn.objects.filter(conversation=conversation).order_by("number"))
    stay = growth.common(known, laid.turns)
    Turn.objects.filter(conversation=conversation, number__gte=stay).delete()
    return same, stay


def insert(conversation: Conversation, laid: derived.Laid, entries: int, turns: int) -> int:
    """Insert what comes after so many entries and turns; returns the entries written."""
    key = conversation.pk
    new = laid.entries[entries:] if entries else laid.entries
    made = [(key, at, *entry) for at, entry in enumerate(new, entries)]
    many.insert(JournalEntry.TABLE, _COLUMNS, made)
    begun = [(key, number, *turn) for number, turn in enumerate(laid.turns)]
    many.insert(Turn.TABLE, TURN, begun[turns:])
    return len(made)


def _common(conversation: Conversation, found: Sequence[derived.Entry]) -> int:
    """Return how many rows already hold ``found``; the others are deleted."""
    entries = JournalEntry.objects.filter(conversation=conversation)
    known = entries.order_by("position").values_list("text", "head", "facet")
    same = 0
    for row, (text, _, _, *place) in zip(known.iterator(), found, strict=False):
        if row != (text, *place):
            break
        same += 1
    if entries.filter(position__gte=same).delete()[0]:
        conversation.revision += 1
    return same


def held(conversation_id: int) -> Conversation:
    """Return a conversation, its row locked until the transaction ends.

    Raises UnknownConversation.
    """
    found: list[Conversation] = _held([conversation_id])
    if not found:
        raise UnknownConversation("This conversation is gone.")
    return found[0]


_held = Prepared(lambda keys: Conversation.objects.select_for_update().filter(pk__in=keys))


def _phase(events: Sequence[ConversationEvent]) -> RunPhase | None:
    """Return what a run does once these events are on record, where they change that."""
    for event in reversed(events):
        match event.kind:
            case ToolCallRequest():
                return RunPhase.CALLING
            case ToolCallResponse() | ChatRequest():
                return RunPhase.REPLYING
            case _:
                pass
    return None


def _writable(conversation_id: int) -> Conversation:
    found = held(conversation_id)
    if found.origin != Origin.NATIVE:
        raise ReadOnly("This conversation is managed by jp. Answer its questions there.")
    return found


def _entry(conversation: Conversation, made: Element) -> JournalEntry:
    own = identity.name(made)
    twins = _twins(conversation.pk, own)
    return JournalEntry(
        conversation=conversation,
        position=conversation.length,
        text=made.raw,
        kind=made.tag,
        anchor=identity.numbered(own, twins + 1),
        head=conversation.length,
        facet=facet(made),
    )


def _twins(conversation_id: int, own: str) -> int:
    """Return how many elements there are that are equal to the one with this name."""
    # They are numbered from the first, which an index finds; the others it does not.
    if not _equal([conversation_id], [own]):
        return 0
    named = Q(anchor=own) | Q(anchor__startswith=f"{own}-x")
    return JournalEntry.objects.filter(named, conversation_id=conversation_id).count()


_equal = Prepared(
    lambda talks, anchors: JournalEntry.objects.filter(
        conversation_id__in=talks, anchor__in=anchors
    ).values_list("pk")[:1]
)
