"""Audit: lists, pages and counts every inquiry for people who review."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, NullIf
from django.db.models.lookups import Exact

from jpweb.store import accounts, exports
from jpweb.store.choices import ApprovalState, Role
from jpweb.store.inquiries import OPEN_STATE
from jpweb.store.models import (
    DEMO_ROOT,
    Approval,
    Conversation,
    Inquiry,
    Membership,
    Person,
    Workspace,
)
from jpweb.store.sql.call_ids import build_inquiry_match
from jpweb.store.sql.distinct_values import list_distinct
from jpweb.store.sql.spellings import build_contains

if TYPE_CHECKING:
    from jpweb.store.reviews.decisions import DecisionFilters

#: Rows of one batch of an export.
BATCH_ROWS = 250
#: Rows of a name that are read to find the accounts of namesakes. Among a million inquiries, 2,000
#: take 3.6 ms of a page's 21.
MAX_NAMESAKE_ROWS = 500
#: Longest list of values to filter by.
MAX_FILTER_VALUES = 300


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """The filters of the audit; an empty value does not filter. ``until`` is exclusive.

    ``workspace`` and ``conversation`` are keys. Without one the demo is left out, unless ``demo``
    is set or the person reviews nothing else. ``words`` have to be in the question. ``identifier``
    is the id of an inquiry or of its tool call. ``decided`` is the kind of decider. ``person`` is a
    name; ``account`` tells namesakes apart.
    """

    workspace: int | None = None
    conversation: int | None = None
    demo: bool = False
    tool: str = ""
    words: str = ""
    identifier: str = ""
    outcome: str = ""
    reason: str = ""
    source: str = ""
    person: str = ""
    account: int | None = None
    decided: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class FilterValues:
    """The values that occur in inquiries, for the lists of the filter form."""

    reasons: list[str]
    sources: list[str]
    tools: list[str]
    people: list[str]


class ReviewedInquiry(NamedTuple):
    """The columns of one inquiry in an export; a model's instance would cost ten times as much.

    ``started_by`` is the name of the person who started its turn, "" where that is not on record.
    """

    pk: int
    asked_at: datetime
    workspace_name: str
    conversation_id: int
    jp_id: int
    conversation_title: str
    started_by: str
    asker: str
    source: str
    question: dict[str, Any]
    answer_type: str
    state: str
    reason: str
    answer: Any
    note: str
    decided_by: str
    decider_name: str
    decider_id: int | None
    channel: str
    settled_at: datetime | None
    anchor: str
    inquiry_id: str


class ReviewedBatch(NamedTuple):
    """Consecutive rows; ``done`` of about ``total`` are in this batch and those before it."""

    rows: list[ReviewedInquiry]
    done: int
    total: int


#: Columns of an export that are the inquiry's own; the others are its conversation's.
_INQUIRY_COLUMNS = (
    "pk", "asked_at", "conversation_id", "started_by", "asker", "source", "question",
    "answer_type", "state", "reason", "answer", "note", "decided_by", "decider_name", "decider_id",
    "channel", "settled_at", "anchor", "inquiry_id",
)  # fmt: skip
_CONVERSATION_COLUMNS = {
    "jp_id": "jp_id",
    "title": "conversation_title",
    "workspace__name": "workspace_name",
}
#: The name of the person who started the turn of an inquiry, as ``Person.display_name``.
_STARTER_NAME = Coalesce(
    NullIf(F("run__started_by__first_name"), Value("")),
    F("run__started_by__username"),
    Value(""),
)


def list_inquiries(person_id: int, filters: AuditFilters) -> QuerySet[Inquiry]:
    """Return the inquiries a person may review, the newest first."""
    memberships = _list_filtered_memberships(person_id, filters)
    inquiries = _list_reviewable(memberships).filter(*_make_conditions(filters))
    return inquiries.select_related("conversation__workspace", "decider").order_by(
        "-asked_at", "-id"
    )


def filter_inquiries(person_id: int, filters: AuditFilters) -> QuerySet[Inquiry]:
    """Return the same inquiries in no order, with conditions that leave the index to the order."""
    memberships = _list_filtered_memberships(person_id, filters).filter(
        workspace__conversations=OuterRef("conversation_id")
    )
    rows = Inquiry.objects.annotate(any_state=Coalesce("state", Value("")))
    rows = rows.filter(Exists(memberships), *_make_conditions(filters, state="any_state"))
    return rows.prefetch_related("conversation__workspace", "decider")


def list_open_rows(
    person_id: int, filters: AuditFilters
) -> tuple[QuerySet[Inquiry], QuerySet[Approval]]:
    """Return the inquiries and the approvals that wait; no approvals for a filter of inquiries."""
    memberships = _list_filtered_memberships(person_id, filters)
    inquiries = _list_reviewable(memberships).filter(*_make_conditions(filters), state=OPEN_STATE)
    approvals = Approval.objects.filter(
        conversation__workspace__in=memberships.values("workspace_id"), state=ApprovalState.OPEN
    )
    return inquiries, _filter_approvals(approvals, filters)


def read_batches(person_id: int, filters: AuditFilters) -> Iterator[ReviewedBatch]:
    """Yield the rows of ``list_inquiries`` in batches, each by its own query; at least one batch.

    A row that is inserted meanwhile is newer than all that follow, so it is in no batch. Raises
    ExportBroken where the person's roles are changed meanwhile.
    """
    # An index has the rows in this order. With a join, or a condition on an indexed column, SQLite
    # would choose another index and sort all rows for each batch.
    memberships = _list_filtered_memberships(person_id, filters)
    workspace_ids = exports.list_workspace_ids(memberships)
    is_audited = Exists(memberships.filter(workspace__conversations=OuterRef("conversation_id")))
    rows = Inquiry.objects.annotate(
        any_state=Coalesce("state", Value("")), started_by=_STARTER_NAME
    )
    rows = rows.filter(is_audited, *_make_conditions(filters, state="any_state"))
    rows = rows.order_by("-asked_at", "-id")
    total = done_count = 0
    key: tuple[datetime, int] | None = None
    while True:
        if key and not total:
            total = list_inquiries(person_id, filters).order_by().count()
        batch_rows = _read_rows(rows, key)
        if key:  # a file of one batch is what one query found
            exports.check_memberships(memberships, workspace_ids)
        is_last = len(batch_rows) <= BATCH_ROWS
        batch_rows = batch_rows[:BATCH_ROWS]
        done_count += len(batch_rows)
        # Rows are inserted and deleted between batches, so the total is an estimate.
        known_total = done_count if is_last else max(total, done_count + 1)
        yield ReviewedBatch(_join_conversations(batch_rows), done_count, known_total)
        if is_last:
            return
        key = batch_rows[-1]["asked_at"], batch_rows[-1]["pk"]


def list_matching_workspaces(person_id: int, filters: AuditFilters) -> list[int]:
    """Return the keys of the workspaces that have any of the inquiries; two queries."""
    rows = Inquiry.objects.filter(*_make_conditions(filters), workspace_id=OuterRef("workspace_id"))
    memberships = _list_filtered_memberships(person_id, filters).filter(Exists(rows))
    return sorted(memberships.values_list("workspace_id", flat=True))


def _read_rows(rows: QuerySet[Inquiry], after: tuple[datetime, int] | None) -> list[dict[str, Any]]:
    """Return the rows that follow a key, one more than a batch holds where there are so many."""
    limit = BATCH_ROWS + 1
    values = rows.values(*_INQUIRY_COLUMNS)
    if after is None:
        return list(values[:limit])
    # Two index ranges: one query with OR would scan all rows of one time for each batch.
    asked_at, key = after
    batch_rows = list(values.filter(asked_at=asked_at, pk__lt=key)[:limit])
    if len(batch_rows) < limit:
        batch_rows += values.filter(asked_at__lt=asked_at)[: limit - len(batch_rows)]
    return batch_rows


def _join_conversations(rows: list[dict[str, Any]]) -> list[ReviewedInquiry]:
    """Return rows with the columns of their conversations; rows of deleted ones are left out."""
    keys = {row["conversation_id"] for row in rows}
    values = Conversation.objects.filter(pk__in=keys).values("pk", *_CONVERSATION_COLUMNS)
    conversations = {
        row["pk"]: {name: row[column] for column, name in _CONVERSATION_COLUMNS.items()}
        for row in values
    }
    return [
        ReviewedInquiry(**row, **conversations[row["conversation_id"]])
        for row in rows
        if row["conversation_id"] in conversations
    ]


def list_filter_values(workspaces: Iterable[Workspace]) -> FilterValues:
    """Return the values that occur in workspaces, up to a limit of each."""
    workspace_ids = sorted(workspace.pk for workspace in workspaces)
    columns = ("reason", "source", "asker", "decider_name")
    return FilterValues(*list_distinct(Inquiry.TABLE, columns, workspace_ids, MAX_FILTER_VALUES))


def list_decider_names(workspaces: Iterable[Workspace]) -> list[str]:
    """Return the names of those who decided questions, up to ``MAX_FILTER_VALUES``."""
    workspace_ids = sorted(workspace.pk for workspace in workspaces)
    return list_distinct(Inquiry.TABLE, ["decider_name"], workspace_ids, MAX_FILTER_VALUES)[0]


def list_namesakes(workspaces: Iterable[Workspace], name: str) -> dict[int, str]:
    """Return the accounts with a decider's name by key, with their user names; one query.

    The accounts are those of members with the name, and the deciders of its first
    ``MAX_NAMESAKE_ROWS`` inquiries.
    """
    workspace_ids = [workspace.pk for workspace in workspaces]
    if not name or "\x00" in name:
        return {}
    rows = Inquiry.objects.filter(workspace_id__in=workspace_ids, decider_name=name)
    deciders = rows.values("decider_id")[:MAX_NAMESAKE_ROWS]
    is_member = Q(memberships__workspace_id__in=workspace_ids)
    has_name = Q(first_name=name) | Q(first_name="", username=name)
    people = Person.objects.filter(Q(pk__in=deciders) | (is_member & has_name))
    return dict(people.order_by("pk").values_list("pk", "username").distinct())


def is_demo(workspace: Workspace) -> bool:
    """Tell whether a workspace is the demo that ships with jpweb."""
    return workspace.root == DEMO_ROOT


def list_workspaces(person_id: int) -> list[Workspace]:
    """Return the workspaces that a person may review, by name; the demo is the last one."""
    return sort_workspaces(accounts.list_workspaces(person_id, Role.AUDITOR))


def sort_workspaces(workspaces: Iterable[Workspace]) -> list[Workspace]:
    """Return workspaces by name; the demo is the last one."""
    return sorted(workspaces, key=lambda workspace: (is_demo(workspace), workspace.name))


def find_title(workspaces: list[Workspace], conversation_id: int | None) -> str | None:
    """Return the title of a conversation of these workspaces; None where it is none of theirs."""
    if conversation_id is None:
        return None
    rows = Conversation.objects.filter(pk=conversation_id, workspace__in=workspaces)
    return rows.values_list("title", flat=True).first()


def is_demo_left_out(workspaces: list[Workspace], filters: AuditFilters | DecisionFilters) -> bool:
    """Tell whether the filters leave out the demo, which is among a person's workspaces."""
    is_narrowed = filters.workspace is not None or filters.conversation is not None
    has_demo = len(workspaces) > 1 and is_demo(workspaces[-1])
    return has_demo and not (is_narrowed or filters.demo)


def load_filter_names(
    person_id: int, workspace_id: int | None, conversation_id: int | None
) -> dict[str, str]:
    """Return the names of a workspace and a conversation, as far as a person may review them.

    Of an untitled conversation it is its id. Without either there is no query.
    """
    if workspace_id is None and conversation_id is None:
        return {}
    names = {row.pk: row.name for row in list_workspaces(person_id)}
    rows = Conversation.objects.filter(pk=conversation_id or 0, workspace__in=[*names])
    titles = (title or f"jp-c{jp_id}" for title, jp_id in rows.values_list("title", "jp_id"))
    return {"workspace": names.get(workspace_id or 0, ""), "conversation": next(titles, "")}


def choose_workspaces(workspaces: list[Workspace], filters: AuditFilters) -> list[Workspace]:
    """Return those of a person's workspaces whose inquiries the filters let through, by key."""
    rows = workspaces
    if filters.workspace is not None:
        rows = [row for row in rows if row.pk == filters.workspace]
    elif filters.conversation is None and not filters.demo:
        rows = [row for row in rows if not is_demo(row)] or rows
    return sorted(rows, key=attrgetter("pk"))


def _make_conditions(filters: AuditFilters, state: str = "state") -> list[Q]:
    """Return the conditions of the filters; ``state`` is the expression of the state."""
    values_by_lookup = {
        state: filters.outcome,
        "conversation_id": filters.conversation,
        "reason": filters.reason,
        "source": filters.source,
        "decider_name": filters.person,
        "decided_by": filters.decided,
        "asker": filters.tool,
        "asked_at__gte": filters.since,
        "asked_at__lt": filters.until,
    }
    values = [*values_by_lookup.values(), filters.words, filters.identifier]
    if any("\x00" in value for value in values if isinstance(value, str)):
        return [Q(pk__in=[])]  # no row contains NUL, and PostgreSQL refuses it
    conditions = [
        Q(**{key: value}) for key, value in values_by_lookup.items() if value not in ("", None)
    ]
    if filters.account is not None:
        # No index answers an expression: by that of the account all its rows would be sorted.
        conditions.append(Q(Exact(Coalesce("decider_id", Value(0)), Value(filters.account))))
    if filters.words:
        conditions.append(build_contains("question__text", filters.words))
    if filters.identifier:
        conditions.append(build_inquiry_match(filters.identifier))
    return conditions


def _filter_approvals(approvals: QuerySet[Approval], filters: AuditFilters) -> QuerySet[Approval]:
    inquiry_values = (
        filters.words, filters.reason, filters.source, filters.person, filters.decided
    )  # fmt: skip
    has_nul = "\x00" in filters.tool + filters.identifier
    if any(inquiry_values) or filters.outcome not in ("", ApprovalState.OPEN) or has_nul:
        return approvals.none()
    values_by_lookup = {
        "conversation_id": filters.conversation,
        "tool_name": filters.tool,
        "tool_call_id": filters.identifier,
        "asked_at__gte": filters.since,
        "asked_at__lt": filters.until,
    }
    values = {key: value for key, value in values_by_lookup.items() if value not in ("", None)}
    return approvals.filter(**values)


def _list_auditor_memberships(person_id: int) -> QuerySet[Membership]:
    return Membership.objects.filter(
        person_id=person_id, role__in=Role.list_including(Role.AUDITOR)
    )


def _list_filtered_memberships(person_id: int, filters: AuditFilters) -> QuerySet[Membership]:
    """Return the memberships of the workspaces whose inquiries the filters let through."""
    memberships = _list_auditor_memberships(person_id)
    if filters.workspace is not None:
        return memberships.filter(workspace_id=filters.workspace)
    if filters.conversation is not None:
        return memberships
    without_demo = memberships.exclude(workspace__root=DEMO_ROOT)
    return memberships if filters.demo or not without_demo.exists() else without_demo


def _list_reviewable(memberships: QuerySet[Membership]) -> QuerySet[Inquiry]:
    return Inquiry.objects.filter(conversation__workspace__in=memberships.values("workspace_id"))
