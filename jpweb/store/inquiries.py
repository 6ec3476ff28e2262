"""Inquiry rows: what was asked, how it ended, who decided.

They are derived from the journal, except that the row of an open question is also what decides
who answers first.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from jpweb.store import plain
from jpweb.store.errors import AlreadySettled, UnknownInquiry
from jpweb.store.models import (
    Conversation,
    Inquiry,
    JournalEntry,
    Membership,
    Run,
    Turn,
    Workspace,
)
from jpweb.store.rows import derived, many, single
from jpweb.store.rows.prepared import Prepared
from jpweb.store.terms import UNFINISHED, Role, RunState
from jpweb.stream import wire
from jpweb.stream.answers import Boolean, Secret
from jpweb.stream.events import ConversationEvent
from jpweb.stream.inquiry import AnswerReusePolicy, InquiryRequest, InquiryResponse
from jpweb.stream.outline import Outline

OPEN = "open"
#: Characters that are kept of what somebody says beside a decline.
NOTE = 2000
#: Every state a row can have, in the order in which people list them.
STATES = ("open", "answered", "redacted", "cancelled", "unanswered")

#: Rows that are deleted in one transaction.
_DROPPED_TOGETHER = 500
_COLUMNS = ("conversation_id", *derived.INQUIRY)
#: Where a derived row's two times begin.
_ASKED = derived.INQUIRY.index("asked_at")
_STATE = derived.INQUIRY.index("state")


@dataclass(frozen=True, slots=True)
class Decider:
    """Who or what made a decision. ``kind``: person, configuration, memory, assistant, system."""

    kind: str
    name: str = ""
    person_id: int | None = None

    def note(self, **more: bool | str) -> dict[str, Any]:
        """Return what is written to ``metadata.jpweb`` of the response, and what else is said."""
        by: dict[str, Any] = {"kind": self.kind}
        if self.name:
            by["name"] = self.name
        if self.person_id is not None:
            by["id"] = self.person_id
        return {"jpweb": {"by": by} | {name: said for name, said in more.items() if said}}


class Settled(Protocol):
    """When a question was asked and settled: of an ``Inquiry``, or of a row that was read of it."""

    @property
    def asked_at(self) -> datetime:
        """When it was asked."""

    @property
    def settled_at(self) -> datetime | None:
        """When it was settled; None while it is open."""


class OlderOpen(Exception):
    """An older question of the turn is open under the same id, to which a response would belong."""


class Ended(NamedTuple):
    """A question that is not open any more; whether its answer counts for the rest of the turn."""

    row: Inquiry
    remembered: bool


def get(inquiry_id: int) -> Inquiry:
    """Return a row with its conversation. Raises UnknownInquiry."""
    rows: list[Inquiry] = _rows([inquiry_id])
    if not rows:
        raise UnknownInquiry("Question not found.")
    return rows[0]


_rows = Prepared(
    lambda keys: Inquiry.objects.select_related("conversation__workspace", "run", "decider").filter(
        pk__in=keys
    )
)
_states = Prepared(lambda keys: Inquiry.objects.filter(pk__in=keys).values_list("state"))


def ended(inquiry_id: int) -> Ended | None:
    """Return how a question ended; None while it is open. Raises UnknownInquiry."""
    if _states([inquiry_id]) == [(OPEN,)]:
        return None
    row = get(inquiry_id)
    return Ended(row, remembered(row))


def by_stream_id(conversation_id: int, inquiry_id: str) -> Inquiry:
    """Return the newest row of a conversation with this inquiry id. Raises UnknownInquiry."""
    own = [conversation_id], [plain.text(inquiry_id)]
    # Of those with one id the newest is settled last, and an index knows what is open.
    rows: list[Inquiry] = _open_named(*own) or _named(*own)
    if not rows:
        raise UnknownInquiry("Question not found.")
    return rows[0]


def _newest(talks: list[int], names: list[str]) -> QuerySet[Inquiry]:
    own = Inquiry.objects.filter(conversation_id__in=talks, inquiry_id__in=names)
    return own.select_related("conversation").order_by("-position")


_named = Prepared(lambda talks, names: _newest(talks, names)[:1])
_open_named = Prepared(lambda talks, names: _newest(talks, names).filter(state=OPEN)[:1])


def waiting(*people: int) -> QuerySet[Inquiry]:
    """Return the questions that a run holds open and these people may answer, oldest first."""
    return _answerable(*people).filter(goes_on(), state=OPEN).order_by("asked_at", "id")


def closed_unasked(person_id: int, limit: int = 20) -> list[Inquiry]:
    """Return the newest questions that ended without anybody deciding."""
    ended = _answerable(person_id).filter(run__isnull=False, reason__in=("lost", "expired"))
    return list(ended.order_by("-settled_at", "-id")[:limit])


def decided_by(person_id: int, limit: int = 20) -> list[Inquiry]:
    """Return the newest questions that this person answered or declined."""
    mine = _answerable(person_id).filter(decider_id=person_id)
    return list(mine.order_by("-settled_at", "-id")[:limit])


def counts(conversation_ids: Iterable[int]) -> dict[int, dict[str, int]]:
    """Return the inquiries by state, a conversation each; one query."""
    every = Inquiry.objects.filter(conversation_id__in=list(conversation_ids))
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for row in every.values("conversation_id", "state").annotate(n=Count("id")):
        found[row["conversation_id"]][row["state"]] = row["n"]
    return found


def keys(conversation_id: int) -> dict[str, int]:
    """Return the keys of a conversation's questions by their anchors; one query."""
    every = Inquiry.objects.filter(conversation_id=conversation_id)
    return dict(every.values_list("anchor", "pk"))


def open_row(
    entry: JournalEntry,
    event: ConversationEvent,
    asked: InquiryRequest,
    run: Run | None,
    tool: str = "",
) -> Inquiry:
    """Insert the row of a question that jpweb asks; ``tool`` is the name of the one that does.

    It expires as its own note says, else as its workspace does now, else never.
    """
    asker = tool or asked.source.name or asked.source.tag
    workspace_id = entry.conversation.workspace_id
    row = Inquiry(
        conversation_id=entry.conversation_id,
        workspace_id=workspace_id,
        run=run,
        anchor=entry.anchor,
        position=entry.position,
        label=derived.label(event),
        state=OPEN,
        note="",
        asked_at=derived.moment(event),
        expires_at=_expiry(workspace_id, event),
        asker=plain.text(asker)[:200],
        waiter="",
        seal_key="",
        **derived.asked(asked),
    )
    row.alike = _alike(row, workspace_id)
    single.insert(row)
    return row


def settle_row(
    entry: JournalEntry,
    event: ConversationEvent,
    given: InquiryResponse,
    row_id: int | None = None,
) -> tuple[int, int | None]:
    """Settle the oldest open row of this inquiry id in the last turn by compare-and-set.

    Ids are unique within a turn alone (RFD 082), and a response belongs to the oldest request that
    waits there. With a ``row_id`` it has to be this row: raises OlderOpen where another is older.
    Returns the head of the item that it is shown in; the key of its run, where that is parked: only
    who holds the conversation, as the caller does, may park one. A person's key is believed: only
    our own events come this way. Raises AlreadySettled, UnknownInquiry.
    """
    talk, name = entry.conversation_id, plain.text(given.id)
    values = derived.settled(event, given, entry.position)
    values["decider_id"] = _decider(event)
    values["note"] = note(str(event.note.get("note") or ""))
    found = _oldest_open([talk], [name])
    if row_id is not None and (not found or found[0][0] != row_id):
        row = get(row_id)
        raise OlderOpen if found and row.state == OPEN else AlreadySettled(row)
    if not found or not single.update(Inquiry, {"id": found[0][0], "state": OPEN}, **values):
        own = Inquiry.objects.filter(conversation_id=talk, inquiry_id=name)
        first = own.order_by("-position").select_related("decider").first()
        if first is None:
            raise UnknownInquiry(f"No question has the id {given.id}.")
        raise AlreadySettled(first)
    _, head, run_id, state = found[0]
    return head, run_id if state == RunState.PARKED else None


_asked_in = JournalEntry.objects.filter(
    conversation_id=OuterRef("conversation_id"), position=OuterRef("position")
)
_last_turn = Turn.objects.filter(conversation_id=OuterRef("conversation_id")).order_by("-number")
_oldest_open = Prepared(
    lambda talks, names: (
        Inquiry.objects.filter(
            conversation_id__in=talks,
            inquiry_id__in=names,
            position__gte=Coalesce(Subquery(_last_turn.values("position")[:1]), 0),
            state=OPEN,
        )
        .order_by("position")
        .values_list("pk", Subquery(_asked_in.values("head")), "run_id", "run__state")[:1]
    )
)


def derive(conversation: Conversation, outline: Outline) -> Counter[str]:
    """Make the rows of a conversation follow its outline; returns them by state."""
    return hold(conversation, derived.inquiries(outline))


def hold(
    conversation: Conversation, found: Sequence[derived.Asked], *, fresh: bool = False
) -> Counter[str]:
    """Make the rows of a conversation be those found; returns them by state.

    A row keeps its key while its question keeps its anchor. A ``fresh`` conversation has no rows.
    """
    if not fresh:
        drop_stale(conversation, found)
    return put(conversation, found, fresh=fresh)


def drop_stale(conversation: Conversation, found: Sequence[derived.Asked]) -> None:
    """Delete the rows of a conversation that are not among those found."""
    known = Inquiry.objects.filter(conversation=conversation)
    stale = sorted(set(known.values_list("anchor", flat=True)) - {row[0] for row in found})
    for begin in range(0, len(stale), _DROPPED_TOGETHER):
        with transaction.atomic():
            known.filter(anchor__in=stale[begin : begin + _DROPPED_TOGETHER]).delete()


def put(
    conversation: Conversation, found: Sequence[derived.Asked], *, fresh: bool = False
) -> Counter[str]:
    """Insert or overwrite rows by their anchors; returns them by state."""
    adapt = many.moments()
    made = [
        (conversation.pk, *row[:_ASKED], adapt(row[_ASKED]), adapt(row[_ASKED + 1]))
        for row in found
    ]
    if fresh:
        many.insert(Inquiry.TABLE, _COLUMNS, made)
    else:
        many.upsert(Inquiry.TABLE, _COLUMNS, made, _COLUMNS[:2])
    return Counter(row[_STATE] for row in found)


def waiting_time(row: Settled) -> float | None:
    """Return the seconds between question and outcome, or None."""
    if row.settled_at is None:
        return None
    return max((row.settled_at - row.asked_at).total_seconds(), 0.0)


def may_be_remembered(row: Inquiry) -> bool:
    """Tell whether a person may let an answer count for the rest of the turn.

    As in JP's terminal (y, Y, n, N) that is said of booleans alone.
    """
    policy = row.question.get("persistence", AnswerReusePolicy.TURN)
    return row.answer_type == Boolean.TAG and policy == AnswerReusePolicy.TURN


def remembered(row: Inquiry) -> bool:
    """Tell whether the person who answered let the answer count for the rest of the turn."""
    if row.response_position is None or not may_be_remembered(row):
        return False
    ((text,),) = _texts([row.conversation_id], [row.response_position])
    return any(event.note.get("remember") is True for event in wire.read(text).events)


_texts = Prepared(
    lambda talks, places: JournalEntry.objects.filter(
        conversation_id__in=talks, position__in=places
    ).values_list("text")
)


def note(text: str) -> str:
    """Return what is kept of what somebody says beside a decline."""
    return plain.text(text.replace("\r\n", "\n")).strip()[:NOTE]


def _alike(row: Inquiry, workspace_id: int) -> str:
    """Return what the same question of the same asker has in common; a secret has nothing."""
    if row.answer_type == Secret.TAG:
        return ""
    same = [workspace_id, row.asker, row.answer_type, row.question["text"]]
    return hashlib.sha256(json.dumps(same).encode()).hexdigest()[:40]


def goes_on() -> Exists:
    """Return the condition that the run of a row has yet to end.

    Looked at for each row, and not joined: a database that knows no figures would begin with all
    runs that wait.
    """
    return Exists(Run.objects.filter(pk=OuterRef("run_id"), state__in=UNFINISHED))


def _answerable(*people: int) -> QuerySet[Inquiry]:
    workspaces = Membership.objects.filter(person_id__in=people, role__gte=Role.RESPONDER)
    return Inquiry.objects.filter(workspace__in=workspaces.values("workspace_id")).select_related(
        "conversation__workspace", "run", "decider"
    )


def _expiry(workspace_id: int, event: ConversationEvent) -> datetime | None:
    seconds = event.note.get("expires_after")
    if seconds is None:
        ((seconds,),) = _seconds([workspace_id])
    return None if seconds is None else derived.moment(event) + timedelta(seconds=seconds)


_seconds = Prepared(lambda keys: Workspace.objects.filter(pk__in=keys).values_list("expires_after"))


def _decider(event: ConversationEvent) -> Any:
    by = event.note.get("by")
    return by.get("id") if isinstance(by, dict) else None
