"""Every inquiry, for people who review: filtered, paged by key, counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from jpweb.store.inquiries import STATES
from jpweb.store.models import Conversation, Inquiry, Membership
from jpweb.store.terms import Role

PAGE = 100
#: Rows of one batch of a file.
BATCH_ROWS = 250


@dataclass(frozen=True, slots=True)
class Filters:
    """What is looked for; an empty value does not filter. ``until`` is exclusive."""

    outcome: str = ""
    reason: str = ""
    source: str = ""
    person: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Choices:
    """The values that occur, for the filter's lists."""

    reasons: list[str]
    sources: list[str]
    people: list[str]


class ReviewedInquiry(NamedTuple):
    """What a file of inquiries says of one; without a model's instance, which costs ten times."""

    pk: int
    asked_at: datetime
    workspace_name: str
    conversation_id: int
    jp_id: int
    conversation_title: str
    asker: str
    source: str
    question: dict[str, Any]
    answer_type: str
    state: str
    reason: str
    answer: Any
    decided_by: str
    decider_name: str
    settled_at: datetime | None
    anchor: str


class ReviewedBatch(NamedTuple):
    """Rows in a row; ``done`` of about ``total`` are in this batch and those before it."""

    rows: list[ReviewedInquiry]
    done: int
    total: int


#: The columns of an inquiry itself; the others are its conversation's.
_OWN_COLUMNS = (
    "pk", "asked_at", "conversation_id", "asker", "source", "question", "answer_type", "state",
    "reason", "answer", "decided_by", "decider_name", "settled_at", "anchor",
)  # fmt: skip
_CONVERSATION_COLUMNS = {
    "jp_id": "jp_id",
    "title": "conversation_title",
    "workspace__name": "workspace_name",
}


def find(person_id: int, filters: Filters) -> QuerySet[Inquiry]:
    """Return the inquiries a person may review, the newest first."""
    found = _reviewable(person_id).filter(*_make_conditions(filters))
    return found.select_related("conversation__workspace", "decider").order_by("-asked_at", "-id")


def page(found: QuerySet[Inquiry], before: int) -> tuple[list[Inquiry], int]:
    """Return the rows after the one with key ``before`` (0 for the first), and the next key."""
    last = Inquiry.objects.filter(pk=before).values_list("asked_at", flat=True).first()
    if last is not None:
        found = found.filter(asked_at__lte=last).exclude(asked_at=last, id__gte=before)
    rows = list(found[: PAGE + 1])
    return rows[:PAGE], rows[PAGE - 1].pk if len(rows) > PAGE else 0


def read_batches(person_id: int, filters: Filters) -> Iterator[ReviewedBatch]:
    """Yield the rows of ``find`` in batches, each by queries of its own; one batch at least.

    A row that comes in meanwhile is newer than all that follow, so it is in none of them.
    """
    # An index has the rows in this order. SQLite would rather sort all rows for each batch where a
    # join, or a condition on an indexed column, offers it another index to begin with.
    memberships = Membership.objects.filter(
        person_id=person_id,
        role__gte=Role.AUDITOR,
        workspace__conversations=OuterRef("conversation_id"),
    )
    rows = Inquiry.objects.annotate(any_state=Coalesce("state", Value("")))
    rows = rows.filter(Exists(memberships), *_make_conditions(filters, state="any_state"))
    rows = rows.order_by("-asked_at", "-id")
    total = done = 0
    key: tuple[datetime, int] | None = None
    while True:
        if key and not total:
            total = find(person_id, filters).order_by().count()
        read = _read_rows(rows, key)
        is_last = len(read) <= BATCH_ROWS
        read = read[:BATCH_ROWS]
        done += len(read)
        # Rows come and go meanwhile, so the count may be off.
        known_total = done if is_last else max(total, done + 1)
        yield ReviewedBatch(_join_conversations(read), done, known_total)
        if is_last:
            return
        key = read[-1]["asked_at"], read[-1]["pk"]


def _read_rows(rows: QuerySet[Inquiry], after: tuple[datetime, int] | None) -> list[dict[str, Any]]:
    """Return the rows that follow a key, one more than a batch holds where there are so many."""
    wanted = BATCH_ROWS + 1
    values = rows.values(*_OWN_COLUMNS)
    if after is None:
        return list(values[:wanted])
    # Two ranges of one index: joined by OR, all rows of one time would be passed over each time.
    asked_at, key = after
    read = list(values.filter(asked_at=asked_at, pk__lt=key)[:wanted])
    if len(read) < wanted:
        read += values.filter(asked_at__lt=asked_at)[: wanted - len(read)]
    return read


def _join_conversations(rows: list[dict[str, Any]]) -> list[ReviewedInquiry]:
    """Return rows with what a file says of their conversations; those that are gone are not."""
    keys = {row["conversation_id"] for row in rows}
    found = Conversation.objects.filter(pk__in=keys).values("pk", *_CONVERSATION_COLUMNS)
    conversations = {
        row["pk"]: {name: row[column] for column, name in _CONVERSATION_COLUMNS.items()}
        for row in found
    }
    return [
        ReviewedInquiry(**row, **conversations[row["conversation_id"]])
        for row in rows
        if row["conversation_id"] in conversations
    ]


def by_outcome(found: QuerySet[Inquiry]) -> dict[str, int]:
    """Return how many there are of each state, every state named."""
    rows = found.order_by().values_list("state").annotate(n=Count("id"))
    return dict.fromkeys(STATES, 0) | dict(rows)


def choices(person_id: int) -> Choices:
    """Return the values that a person can filter by."""
    rows = _reviewable(person_id)

    def distinct(column: str) -> list[str]:
        values = rows.exclude(Q(**{column: ""})).values_list(column, flat=True)
        return sorted(values.order_by(column).distinct())

    return Choices(distinct("reason"), distinct("source"), distinct("decider_name"))


def _make_conditions(filters: Filters, state: str = "state") -> list[Q]:
    """Return what the filters ask for; ``state`` is the expression of the state."""
    plain = {
        state: filters.outcome,
        "reason": filters.reason,
        "source": filters.source,
        "decider_name": filters.person,
        "asked_at__gte": filters.since,
        "asked_at__lt": filters.until,
    }
    if any("\x00" in value for value in plain.values() if isinstance(value, str)):
        return [Q(pk__in=[])]  # no row holds the character, and PostgreSQL refuses it
    return [Q(**{key: value}) for key, value in plain.items() if value]


def _reviewable(person_id: int) -> QuerySet[Inquiry]:
    allowed = Membership.objects.filter(person_id=person_id, role__gte=Role.AUDITOR)
    return Inquiry.objects.filter(conversation__workspace__in=allowed.values("workspace_id"))
