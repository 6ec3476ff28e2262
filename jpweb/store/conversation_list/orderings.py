"""Orders of the conversation list, each as index ranges for ``keyset_merge``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from jpweb.store.choices import ApprovalState
from jpweb.store.conversation_list.filters import ListFilters, Sort, has_problem
from jpweb.store.inbox.snoozes import is_snoozed
from jpweb.store.inquiries import OPEN_STATE, is_run_unfinished
from jpweb.store.models import Approval, Conversation, Inquiry
from jpweb.store.sql.keyset_merge import IndexRange


@lru_cache(maxsize=64)
def build_ranges(filters: ListFilters) -> list[IndexRange]:
    """Return the index ranges to read for these filters."""
    if filters.sort == Sort.WAITING:
        return _build_waiting_ranges(filters)
    # As an IN list: SQLite does not use the index for a bare ``NOT archived``.
    rows = Conversation.objects.filter(archived__in=[filters.archived])
    condition = filters.build_condition()
    if filters.sort == Sort.LENGTH:
        condition &= Q(origin=filters.origin) if filters.origin else Q()
        condition &= has_problem() if filters.problem else Q()
        return [IndexRange(rows, "entry_count", is_descending=True, condition=condition or None)]
    if filters.problem:
        rows = rows.filter(has_problem())
        condition &= Q(origin=filters.origin) if filters.origin else Q()
    elif filters.origin:
        rows = rows.filter(origin=filters.origin)
    return [IndexRange(rows, "last_activity", is_descending=True, condition=condition or None)]


@lru_cache(maxsize=2)
def make_pinned_range(*, is_archived: bool) -> IndexRange:
    """Return the range of pinned conversations, the latest pin first."""
    rows = Conversation.objects.filter(archived__in=[is_archived], pinned_at__isnull=False)
    return IndexRange(rows, "pinned_at", is_descending=True)


def list_open_rows() -> list[QuerySet[Any]]:
    """Return the open questions and approvals of unfinished runs, as two querysets."""
    return [
        Inquiry.objects.filter(is_run_unfinished(), state=OPEN_STATE),
        Approval.objects.filter(is_run_unfinished(), state=ApprovalState.OPEN),
    ]


def open_row_ranges(person_id: int) -> list[IndexRange]:
    """Return the ranges of open questions and approvals, the longest waiting first.

    Questions that the person snoozed are left out.
    """
    return [
        IndexRange(
            rows if nth else rows.exclude(is_snoozed([person_id])),
            "asked_at",
            is_descending=False,
            conversation_column="conversation_id",
            table_index=nth,
            table_count=2,
        )
        for nth, rows in enumerate(list_open_rows())
    ]


def _build_waiting_ranges(filters: ListFilters) -> list[IndexRange]:
    """Return the ranges of conversations by the longest waiting row of each."""
    prefix = "conversation__"
    condition = filters.build_condition(prefix) & Q(conversation__archived=filters.archived)
    if filters.origin:
        condition &= Q(conversation__origin=filters.origin)
    if filters.problem:
        condition &= ~Q(conversation__problem="")
    return [
        IndexRange(
            rows.exclude(_has_earlier(nth, is_other_table=False)).exclude(
                _has_earlier(nth, is_other_table=True)
            ),
            "asked_at",
            is_descending=False,
            condition=condition,
            conversation_column="conversation_id",
            table_index=nth,
            table_count=2,
        )
        for nth, rows in enumerate(list_open_rows())
    ]


def _has_earlier(nth: int, *, is_other_table: bool) -> Exists:
    """Return the condition that another open row of the conversation has waited longer.

    Among rows of one instant, a question precedes an approval whose key is not smaller.
    """
    rows = list_open_rows()[1 - nth if is_other_table else nth]
    same_conversation = rows.filter(conversation_id=OuterRef("conversation_id"))
    at, key = OuterRef("asked_at"), OuterRef("pk")
    before = Q(pk__lte=key) if is_other_table and nth else Q(pk__lt=key)
    return Exists(same_conversation.filter(Q(asked_at__lt=at) | (Q(asked_at=at) & before)))
