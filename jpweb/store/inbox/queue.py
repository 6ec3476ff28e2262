"""Batch queries for many pages: roles, queues of open questions, and change marks.

Each function takes the same number of queries for any number of people and pages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, Sum, Window
from django.db.models.functions import Now, RowNumber

from jpweb.store.choices import ApprovalState, Role, RunState
from jpweb.store.inquiries import OPEN_STATE, is_run_unfinished
from jpweb.store.models import (
    Approval,
    ApprovalClaim,
    Conversation,
    Inquiry,
    Membership,
    QuestionClaim,
    QuestionSnooze,
    Run,
)
from jpweb.store.models.runs import compute_latest_wait
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.store.sql.waiting_time import WaitingMilliseconds

#: Keys of one query at most; every database accepts so many parameters.
MAX_QUERY_KEYS = 10_000
#: Cards that an inbox shows at most: the oldest open questions and approvals.
MAX_INBOX_CARDS = 100
#: Limit of the count in the head of a page, which shows no larger number.
COUNT_LIMIT = 1000


class PendingItem(NamedTuple):
    """An open question or approval of an unfinished run."""

    asked_at: datetime
    is_approval: bool
    key: int
    workspace_id: int
    conversation_id: int


@dataclass(frozen=True, slots=True)
class PendingQueue:
    """The open questions and approvals of one scope: their number, the oldest, and the newest."""

    count: int = 0
    oldest: tuple[PendingItem, ...] = ()
    newest: PendingItem | None = None

    @classmethod
    def merge(cls, queues: Iterable[PendingQueue]) -> PendingQueue:
        """Return several queues merged into one, cut to the size of one."""
        all_queues = list(queues)
        oldest_items = sorted(row for queue in all_queues for row in queue.oldest)[:MAX_INBOX_CARDS]
        newest_item = max((queue.newest for queue in all_queues if queue.newest), default=None)
        return cls(sum(queue.count for queue in all_queues), tuple(oldest_items), newest_item)

    def exclude_questions(self, keys: Collection[int]) -> PendingQueue:
        """Return the queue without these questions, all of which are in it."""
        if not keys:
            return self
        oldest_items = tuple(row for row in self.oldest if row.is_approval or row.key not in keys)
        newest_item = self.newest
        if newest_item is not None and not newest_item.is_approval and newest_item.key in keys:
            newest_item = oldest_items[-1] if oldest_items else None
        return PendingQueue(max(self.count - len(keys), 0), oldest_items, newest_item)

    @property
    def is_complete(self) -> bool:
        """Whether ``oldest`` has all of them."""
        return self.count == len(self.oldest)


#: The ORM takes 0.2 ms longer for each of these two, for each update of an inbox.
_role_query = CompiledQuery(
    lambda person_ids: Membership.objects.filter(person_id__in=person_ids).values_list(
        "person_id", "workspace_id", "role"
    )
)
_workspace_role_query = CompiledQuery(
    lambda workspace_ids, person_ids: Membership.objects.filter(
        workspace_id__in=workspace_ids, person_id__in=person_ids
    ).values_list("person_id", "role")
)


def get_roles(person_ids: Collection[int]) -> dict[int, dict[int, Role]]:
    """Return the roles of people by workspace; a person without any has an empty dict."""
    roles_by_person: dict[int, dict[int, Role]] = {key: {} for key in person_ids}
    for keys in _split_keys(person_ids):
        for person_id, workspace_id, role in _role_query(keys):
            roles_by_person[person_id][workspace_id] = Role(role)
    return roles_by_person


def get_roles_in(workspace_id: int, person_ids: Collection[int]) -> dict[int, Role]:
    """Return the roles that people have in one workspace; outsiders are left out."""
    role_by_person: dict[int, Role] = {}
    for keys in _split_keys(person_ids):
        role_by_person |= {
            key: Role(role) for key, role in _workspace_role_query([workspace_id], keys)
        }
    return role_by_person


def get_workspace_queues(workspace_ids: Collection[int]) -> dict[int, PendingQueue]:
    """Return the queues of these workspaces; empty ones are left out."""
    return _load_queues("workspace_id", workspace_ids)


def get_conversation_queues(
    conversation_ids: Collection[int], workspace_queues: Collection[PendingQueue]
) -> dict[int, PendingQueue]:
    """Return the queues of these conversations; empty ones are left out.

    ``workspace_queues`` are those of their workspaces; conversations of others may be left
    out. No query is made where all of these are complete, so only for inboxes longer than
    ``MAX_INBOX_CARDS``.
    """
    if not all(queue.is_complete for queue in workspace_queues):
        return _load_queues("conversation_id", conversation_ids)
    items_by_conversation: dict[int, list[PendingItem]] = defaultdict(list)
    for queue in workspace_queues:
        for row in queue.oldest:
            if row.conversation_id in conversation_ids:
                items_by_conversation[row.conversation_id].append(row)
    return {
        key: PendingQueue(len(rows), tuple(rows), rows[-1])
        for key, rows in items_by_conversation.items()
    }


def load_questions(keys: Collection[int]) -> dict[int, Inquiry]:
    """Return the rows of questions, with the columns of a card; unknown keys are left out."""
    return _load_card_rows(Inquiry, keys)


def load_approvals(keys: Collection[int]) -> dict[int, Approval]:
    """Return the rows of approvals, with the columns of a card; unknown keys are left out."""
    return _load_card_rows(Approval, keys)


def filter_open_approvals(*person_ids: int) -> QuerySet[Approval]:
    """Return the open approvals of unfinished runs that these people may decide, unordered."""
    workspaces = Membership.objects.filter(person_id__in=person_ids, role__gte=Role.RESPONDER)
    return Approval.objects.filter(
        is_run_unfinished(),
        workspace__in=workspaces.values("workspace_id"),
        state=ApprovalState.OPEN,
    )


def build_approval_marks(**scope: OuterRef) -> dict[str, Subquery]:
    """Return annotations that differ once an approval was requested, decided or withdrawn."""
    rows = Approval.objects.filter(**scope)
    open_rows = rows.filter(state=ApprovalState.OPEN).order_by().values(*scope)
    return {
        "newest_approval_id": Subquery(rows.order_by("-asked_at", "-pk").values("pk")[:1]),
        "open_approval_count": Subquery(open_rows.annotate(n=Count("pk")).values("n")),
    }


def get_conversation_marks(keys: Collection[int]) -> dict[int, tuple[Any, ...]]:
    """Return the columns that differ once a conversation has changed, or its run waits too long."""
    marks: dict[int, tuple[Any, ...]] = {}
    run_columns = ("run", "state", "resume_count", "is_waiting")
    newest_runs = Run.objects.filter(conversation_id=OuterRef("pk")).order_by("-id")
    waiting_runs = Run.objects.filter(
        conversation_id=OuterRef("pk"), state=RunState.QUEUED, queued_at__lt=compute_latest_wait()
    )
    approval_marks = build_approval_marks(conversation=OuterRef("pk"))
    for part in _split_keys(keys):
        rows = Conversation.objects.filter(pk__in=part).annotate(
            run=Subquery(newest_runs.values("pk")[:1]),
            state=Subquery(newest_runs.values("state")[:1]),
            resume_count=Subquery(newest_runs.values("resume_count")[:1]),
            is_waiting=Exists(waiting_runs),
            **approval_marks,
        )
        columns = ("entry_count", "revision", "archived", "removed_at", "expires_at")
        shown_columns = ("title", "pinned_at", "labels", "comment_revision", "problem")
        right_columns = ("origin", "workspace__writing")
        marks |= {
            row[0]: row[1:]
            for row in rows.values_list(
                "pk", *columns, *shown_columns, *right_columns, *run_columns, *approval_marks
            )
        }
    return marks


#: Models of claims and snoozes, with the field that leads to their question or approval.
_HOLD_FIELDS: tuple[tuple[Any, str], ...] = (
    (QuestionClaim, "inquiry"),
    (ApprovalClaim, "approval"),
    (QuestionSnooze, "inquiry"),
)


def get_inbox_marks(workspace_ids: Collection[int]) -> dict[int, tuple[Any, ...]]:
    """Return marks that differ once a workspace's queue, or a claim or snooze there, has changed.

    Five queries for up to ``MAX_QUERY_KEYS`` workspaces.
    """
    marks_by_workspace: dict[int, list[Any]] = defaultdict(list)
    scope_column = "workspace_id"
    for keys in _split_keys(workspace_ids):
        for is_approval in (False, True):
            rows = _filter_open(scope_column, is_approval, keys)
            # Without the model's default ordering, whose columns would join the GROUP BY.
            marks = rows.order_by().values(scope_column).annotate(Count("pk"), Max("pk"), Sum("pk"))
            for key, *mark in marks.values_list(scope_column, "pk__count", "pk__max", "pk__sum"):
                marks_by_workspace[key].append((is_approval, *mark))
        for model, field in _HOLD_FIELDS:
            for key, *mark in _mark_holds(model, field, keys):
                marks_by_workspace[key].append((model.__name__, *mark))
    return {key: tuple(marks_by_workspace[key]) for key in workspace_ids}


def _mark_holds(model: Any, field: str, keys: list[int]) -> QuerySet[Any, Any]:
    """Return the marks of current claims or snoozes by workspace.

    A second snooze of a question changes only its time, so the sum includes times. Closed rows
    are left out, so that a planner that begins with these workspaces reads few.
    """
    scope_column = f"{field}__workspace_id"
    is_open = {f"{field}__state": ApprovalState.OPEN if field == "approval" else OPEN_STATE}
    holds = model.objects.filter(**is_open, **{f"{scope_column}__in": keys}, until__gt=Now())
    marks: QuerySet[Any, Any] = holds.values(scope_column).annotate(
        Count("pk"),
        Sum("pk"),
        milliseconds=Sum(WaitingMilliseconds("until", f"{field}__asked_at")),
    )
    return marks.values_list(scope_column, "pk__count", "pk__sum", "milliseconds")


def _filter_open(scope_column: str, is_approval: bool, keys: Collection[int]) -> QuerySet[Any, Any]:
    """Return the open questions, or approvals, of these workspaces or conversations."""
    scope_filter = {f"{scope_column}__in": keys}
    if is_approval:
        return Approval.objects.filter(
            is_run_unfinished(), state=ApprovalState.OPEN, **scope_filter
        )
    return Inquiry.objects.filter(is_run_unfinished(), state=OPEN_STATE, **scope_filter)


def _load_queues(scope_column: str, keys: Collection[int]) -> dict[int, PendingQueue]:
    """Return the queues by key. The database counts; few rows of each queue leave it."""
    queues_by_key: dict[int, list[PendingQueue]] = defaultdict(list)
    for part in _split_keys(keys):
        for is_approval in (False, True):
            for key, nth, count, asked_at, *ids in _QUEUE_END_QUERIES[scope_column, is_approval](
                part
            ):
                row = PendingItem(asked_at, is_approval, *ids)
                queues_by_key[key].append(
                    PendingQueue(
                        count if nth == 1 else 0,
                        (row,) if nth <= MAX_INBOX_CARDS else (),
                        row if nth == count else None,
                    )
                )
    return {key: PendingQueue.merge(queues) for key, queues in queues_by_key.items()}


def _query_queue_ends(scope_column: str, is_approval: bool, keys: list[int]) -> QuerySet[Any, Any]:
    """Return the oldest rows of each queue and the newest, counted."""
    ranked_rows = (
        _filter_open(scope_column, is_approval, keys)
        .order_by()
        .annotate(
            nth=Window(RowNumber(), partition_by=scope_column, order_by=("asked_at", "pk")),
            count=Window(Count("pk"), partition_by=scope_column),
        )
    )
    end_rows: QuerySet[Any, Any] = ranked_rows.filter(
        Q(nth__lte=MAX_INBOX_CARDS) | Q(nth=F("count"))
    )
    columns = ("asked_at", "pk", "workspace_id", "conversation_id")
    return end_rows.values_list(scope_column, "nth", "count", *columns)


#: The ORM takes 2 ms longer for each of these, for each update of an inbox.
_QUEUE_END_QUERIES = {
    (scope_column, is_approval): CompiledQuery(
        partial(_query_queue_ends, scope_column, is_approval)
    )
    for scope_column in ("workspace_id", "conversation_id")
    for is_approval in (False, True)
}


def _load_card_rows(model: Any, keys: Collection[int]) -> dict[int, Any]:
    return {row.pk: row for part in _split_keys(keys) for row in _CARD_QUERIES[model](part)}


def _query_card_rows(model: Any, keys: list[int]) -> QuerySet[Any]:
    rows: QuerySet[Any] = model.objects.select_related("conversation__workspace", "run")
    return rows.filter(pk__in=keys)


#: The ORM takes 0.8 to 1.0 ms longer for each of these.
_CARD_QUERIES = {
    model: CompiledQuery(partial(_query_card_rows, model)) for model in (Inquiry, Approval)
}


def _split_keys(keys: Collection[int]) -> Iterator[list[int]]:
    sorted_keys = sorted(keys)
    for start in range(0, len(sorted_keys), MAX_QUERY_KEYS):
        yield sorted_keys[start : start + MAX_QUERY_KEYS]
