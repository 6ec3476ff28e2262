"""Inquiry rows: the question, its outcome, and the person who decided.

They are derived from the journal, except that the row of an open question also decides
which of two answers came first (``inbox.settlement``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol, Self

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.db.models.fields.json import KeyTextTransform

from jpweb.store import db_text
from jpweb.store.choices import UNFINISHED_STATES, Role
from jpweb.store.derived_rows import from_stream
from jpweb.store.errors import UnknownInquiry
from jpweb.store.models import (
    Conversation,
    Inquiry,
    JournalEntry,
    Membership,
    Person,
    Run,
)
from jpweb.store.sql import bulk
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.stream import wire
from jpweb.stream.answer_type import Boolean
from jpweb.stream.inquiry import AnswerReusePolicy
from jpweb.stream.outline import Outline

OPEN_STATE = "open"
#: Kind of decider of a question that an answer for the rest of its turn decided.
MEMORY_DECIDER = "memory"
#: Every state of a row, in the order of lists on pages.
INQUIRY_STATES = ("open", "answered", "redacted", "cancelled", "unanswered")

#: Rows that are deleted in one transaction.
_DELETE_BATCH_ROWS = 500
_COLUMNS = ("conversation_id", *from_stream.INQUIRY_COLUMNS, "workspace_id")
#: Index of ``asked_at`` in a derived row; ``settled_at`` follows it.
_ASKED_AT_INDEX = from_stream.INQUIRY_COLUMNS.index("asked_at")
_STATE_INDEX = from_stream.INQUIRY_COLUMNS.index("state")


@dataclass(frozen=True, slots=True)
class Decider:
    """The person or component that made a decision.

    ``kind``: person, configuration, memory, assistant, system. ``channel`` is the way on which the
    decision came, where that was no page of a signed-in person. ``member_id`` is the
    person whose role is checked again under the lock, for which a request may wait.
    """

    kind: str
    name: str = ""
    person_id: int | None = None
    channel: str = ""
    member_id: int | None = None

    @classmethod
    def from_member(cls, person: Person, channel: str = "") -> Self:
        """Return a person as the decider, who needs a responder's role at the commit."""
        return cls("person", person.display_name, person.pk, channel, person.pk)

    @classmethod
    def from_person(cls, person: Person, channel: str = "") -> Self:
        """Return a person as the decider."""
        return cls("person", person.display_name, person.pk, channel)

    def make_note(self, **extras: bool | str) -> dict[str, Any]:
        """Return the response's ``metadata.jpweb``: the decider, and other values."""
        by: dict[str, Any] = {"kind": self.kind}
        if self.name:
            by["name"] = self.name
        if self.person_id is not None:
            by["id"] = self.person_id
        extras = {"channel": self.channel, **extras}
        return {"jpweb": {"by": by} | {name: value for name, value in extras.items() if value}}


class SettlementTimes(Protocol):
    """The times of a question and its outcome; an ``Inquiry`` or a row of its columns has them."""

    @property
    def asked_at(self) -> datetime:
        """Time of the question."""

    @property
    def settled_at(self) -> datetime | None:
        """Time of the outcome; None while the question is open."""


class SettledInquiry(NamedTuple):
    """A settled question; ``is_remembered``: its answer counts for the rest of the turn."""

    inquiry: Inquiry
    is_remembered: bool


def get_inquiry(inquiry_id: int) -> Inquiry:
    """Return a row with its conversation. Raises UnknownInquiry."""
    rows: list[Inquiry] = _inquiry_query([inquiry_id])
    if not rows:
        raise UnknownInquiry("Question not found.")
    return rows[0]


#: The ORM takes 0.1 to 1.0 ms longer for each query of this module, for each question or answer.
_inquiry_query = CompiledQuery(
    lambda keys: Inquiry.objects.select_related("conversation__workspace", "run").filter(
        pk__in=keys
    )
)
_state_query = CompiledQuery(lambda keys: Inquiry.objects.filter(pk__in=keys).values_list("state"))


def get_if_settled(inquiry_id: int) -> SettledInquiry | None:
    """Return how a question was settled; None while it is open. Raises UnknownInquiry."""
    if _state_query([inquiry_id]) == [(OPEN_STATE,)]:
        return None
    row = get_inquiry(inquiry_id)
    return SettledInquiry(row, is_remembered(row))


def find_by_inquiry_id(conversation_id: int, inquiry_id: str) -> Inquiry:
    """Return the newest row of a conversation with this inquiry id. Raises UnknownInquiry."""
    lookup = [conversation_id], [db_text.clean_text(inquiry_id)]
    # The newest of one id is settled last; open rows have an index, so they are tried first.
    rows: list[Inquiry] = _newest_open_query(*lookup) or _newest_query(*lookup)
    if not rows:
        raise UnknownInquiry("Question not found.")
    return rows[0]


def _order_newest_first(conversation_ids: list[int], inquiry_ids: list[str]) -> QuerySet[Inquiry]:
    rows = Inquiry.objects.filter(conversation_id__in=conversation_ids, inquiry_id__in=inquiry_ids)
    return rows.select_related("conversation").order_by("-position")


_newest_query = CompiledQuery(
    lambda conversation_ids, inquiry_ids: _order_newest_first(conversation_ids, inquiry_ids)[:1]
)
_newest_open_query = CompiledQuery(
    lambda conversation_ids, inquiry_ids: _order_newest_first(conversation_ids, inquiry_ids).filter(
        state=OPEN_STATE
    )[:1]
)


def list_open(*person_ids: int) -> QuerySet[Inquiry]:
    """Return the open questions of unfinished runs that these people may answer, oldest first."""
    return (
        list_answerable(*person_ids)
        .filter(is_run_unfinished(), state=OPEN_STATE)
        .order_by("asked_at", "id")
    )


def list_open_in(
    conversation_ids: Collection[int], person_ids: Collection[int]
) -> QuerySet[Inquiry]:
    """Return those of ``list_open`` in some conversations.

    The role is a subquery for each row: by ``list_open``, SQLite reads all questions of the
    conversation, 0.55 ms for 1,348 instead of 0.12.
    """
    memberships = Membership.objects.filter(
        person_id__in=person_ids, role__gte=Role.RESPONDER, workspace_id=OuterRef("workspace_id")
    )
    rows = Inquiry.objects.filter(
        is_run_unfinished(),
        Exists(memberships),
        conversation_id__in=conversation_ids,
        state=OPEN_STATE,
    )
    return rows.select_related("conversation__workspace", "run", "decider").order_by(
        "asked_at", "id"
    )


def defer_questions(rows: QuerySet[Inquiry]) -> QuerySet[Inquiry]:
    """Let rows read their questions on access, and have the text of each as ``question_text``.

    A stream's question may have any number of options: 50 of 40,000 took 909 MB for one page.
    """
    return rows.defer("question").annotate(question_text=KeyTextTransform("text", "question"))


def get_question_text(row: Inquiry) -> str:
    """Return the text of the question of a row of ``defer_questions``."""
    question_text: str = row.question_text  # type: ignore[attr-defined]  # an annotation
    return question_text


def count_by_state(conversation_ids: Iterable[int]) -> dict[int, dict[str, int]]:
    """Return the number of inquiries by state for each conversation; one query.

    States come in the order of ``INQUIRY_STATES``: that of a ``GROUP BY`` is the engine's choice.
    """
    keys = list(conversation_ids)
    rows = _state_counts_query(keys) if keys else []
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    for conversation_id, state, number in sorted(
        rows, key=lambda row: INQUIRY_STATES.index(row[1])
    ):
        counts[conversation_id][state] = number
    return counts


#: With the states, an index answers: 0.2 ms for 1,348 inquiries; else their rows are read, in 0.7.
_state_counts_query = CompiledQuery(
    lambda conversation_ids: (
        Inquiry.objects.filter(conversation_id__in=conversation_ids, state__in=INQUIRY_STATES)
        .order_by()
        .values_list("conversation_id", "state")
        .annotate(Count("id"))
    )
)


def get_ids_by_anchor(conversation_id: int) -> dict[str, int]:
    """Return the primary keys of a conversation's questions by their anchors; one query."""
    inquiries = Inquiry.objects.filter(conversation_id=conversation_id)
    return dict(inquiries.values_list("anchor", "pk"))


def rebuild_rows(conversation: Conversation, outline: Outline) -> Counter[str]:
    """Derive the rows of a conversation from its outline; returns their number by state."""
    return replace_rows(conversation, from_stream.derive_inquiry_rows(outline))


def replace_rows(
    conversation: Conversation,
    inquiry_rows: Sequence[from_stream.InquiryColumns],
    *,
    is_new: bool = False,
) -> Counter[str]:
    """Replace the rows of a conversation by these; returns their number by state.

    A row keeps its key while its question keeps its anchor. A new conversation (``is_new``)
    has none.
    """
    if not is_new:
        delete_stale(conversation, inquiry_rows)
    return upsert_rows(conversation, inquiry_rows, is_new=is_new)


def delete_stale(
    conversation: Conversation, inquiry_rows: Sequence[from_stream.InquiryColumns]
) -> None:
    """Delete the rows of a conversation whose anchors are not among these."""
    existing_rows = Inquiry.objects.filter(conversation=conversation)
    stale_rows = sorted(
        set(existing_rows.values_list("anchor", flat=True)) - {row[0] for row in inquiry_rows}
    )
    for begin in range(0, len(stale_rows), _DELETE_BATCH_ROWS):
        with transaction.atomic():
            existing_rows.filter(anchor__in=stale_rows[begin : begin + _DELETE_BATCH_ROWS]).delete()


def upsert_rows(
    conversation: Conversation,
    inquiry_rows: Sequence[from_stream.InquiryColumns],
    *,
    is_new: bool = False,
) -> Counter[str]:
    """Insert or overwrite rows by their anchors; returns their number by state."""
    adapt = bulk.get_time_adapter()
    values = [
        (
            conversation.pk,
            *row[:_ASKED_AT_INDEX],
            adapt(row[_ASKED_AT_INDEX]),
            adapt(row[_ASKED_AT_INDEX + 1]),
            conversation.workspace_id,
        )
        for row in inquiry_rows
    ]
    if is_new:
        bulk.insert_rows(Inquiry.TABLE, _COLUMNS, values)
    else:
        bulk.upsert_rows(Inquiry.TABLE, _COLUMNS, values, _COLUMNS[:2])
    return Counter(row[_STATE_INDEX] for row in inquiry_rows)


def get_waiting_seconds(row: SettlementTimes) -> float | None:
    """Return the seconds between question and outcome, or None."""
    if row.settled_at is None:
        return None
    return max((row.settled_at - row.asked_at).total_seconds(), 0.0)


def can_remember(row: Inquiry) -> bool:
    """Tell whether an answer can count for the rest of the turn.

    As in JP's terminal (y, Y, n, N) only answers to boolean questions can.
    """
    policy = row.question.get("persistence", AnswerReusePolicy.TURN)
    return row.answer_type == Boolean.TAG and policy == AnswerReusePolicy.TURN


def is_remembered(row: Inquiry) -> bool:
    """Tell whether the person let the answer count for the rest of the turn."""
    if row.response_position is None or not can_remember(row):
        return False
    ((text,),) = _text_query([row.conversation_id], [row.response_position])
    return any(event.note.get("remember") is True for event in wire.read_element(text).events)


_text_query = CompiledQuery(
    lambda conversation_ids, positions: JournalEntry.objects.filter(
        conversation_id__in=conversation_ids, position__in=positions
    ).values_list("text")
)


def is_run_unfinished() -> Exists:
    """Return the condition that the run of a row has not ended.

    A subquery for each row, and no join: without statistics PostgreSQL would begin a join
    with all unfinished runs.
    """
    return Exists(Run.objects.filter(pk=OuterRef("run_id"), state__in=UNFINISHED_STATES))


def list_answerable(*person_ids: int) -> QuerySet[Inquiry]:
    """Return the questions, open or not, that these people may answer."""
    workspaces = Membership.objects.filter(person_id__in=person_ids, role__gte=Role.RESPONDER)
    return Inquiry.objects.filter(workspace__in=workspaces.values("workspace_id")).select_related(
        "conversation__workspace", "run", "decider"
    )
