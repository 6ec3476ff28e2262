"""Pages of the audit's inquiries in the order of a column, with receipts and the state of reviews.

Each order has an index, so a page costs the same wherever it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db.models import Count, OuterRef, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Left

from jpweb.store import accounts
from jpweb.store.audit import AuditFilters
from jpweb.store.choices import ReviewState
from jpweb.store.models import Conversation, DisplayReceipt, Inquiry, ReviewTask, Workspace
from jpweb.store.reviews import inquiry_ranges
from jpweb.store.reviews.inquiry_ranges import FilteredRange, Order
from jpweb.store.reviews.reviews import SubjectState
from jpweb.store.sql import keyset_merge
from jpweb.store.sql.compiled_query import CompiledQuery

PAGE_ROWS = 100
#: Kinds of deciders that decide in place of a person because a setting says so.
OVERRIDING_DECIDERS = frozenset({"configuration", "operator"})
#: Columns that no row of the table shows. Of the question it shows the beginning of its text: with
#: options by the ten thousand, the whole took 1.1 GB for a page.
_UNSHOWN_FIELDS = (
    "question",
    "position",
    "response_position",
    "label",
    "expires_at",
    "same_question_key",
    "waiter",
    "seal_key",
)
_CONVERSATION_FIELD: Any = Inquiry._meta.get_field("conversation")  # noqa: SLF001  Django documents it
#: Characters of a question's text that are read: the row shows its first line.
_MAX_QUESTION_CHARS = 1_000
#: Longest number of an attempt, in an inquiry's id.
_MAX_ATTEMPT_DIGITS = 4


class InquiryPage(NamedTuple):
    """A page of the table; the next one follows the row with ``next_key``, 0 on the last page.

    ``is_truncated``: the scan for the filters stopped at its limit; the next page continues there.
    """

    rows: list[Inquiry]
    next_key: int
    is_truncated: bool = False


class ReceiptCounts(NamedTuple):
    """To how many people a question was sent, and how many had it on their screen."""

    delivered_count: int
    seen_count: int


NO_RECEIPTS = ReceiptCounts(0, 0)


def load_page(
    workspaces: list[Workspace],
    filters: AuditFilters,
    time_range: FilteredRange,
    order: Order,
    after: int,
    *,
    has_first: bool = False,
) -> InquiryPage:
    """Return the rows after the one with key ``after``, 0 for the first.

    ``workspaces`` are those of ``audit.choose_workspaces``, and ``time_range`` that of
    ``inquiry_ranges.narrow_by_time``, for the same filters. ``has_first``: the page begins with
    the row.
    """
    workspace_ids = [workspace.pk for workspace in workspaces]
    keys: list[int] = []
    for index_range in inquiry_ranges.list_ranges(
        workspace_ids, filters, time_range, order, after, has_first=has_first
    ):
        limit = PAGE_ROWS + 1 - len(keys)
        range_page = keyset_merge.find_nearest(
            [index_range], workspace_ids, None, limit, is_backward=False
        )
        keys += [ranked_key.key.rank for ranked_key in range_page.ranked_keys]
        if len(keys) > PAGE_ROWS:
            return InquiryPage(_fetch_rows(keys[:PAGE_ROWS], workspaces), keys[PAGE_ROWS - 1])
        if range_page.horizon is not None:
            rows = _fetch_rows(keys, workspaces)
            return InquiryPage(rows, range_page.horizon.rank, is_truncated=True)
    return InquiryPage(_fetch_rows(keys, workspaces), 0)


def _fetch_rows(keys: list[int], workspaces: list[Workspace]) -> list[Inquiry]:
    """Return the rows with these keys, in their order; deleted ones are left out."""
    rows: dict[int, Inquiry] = {row.pk: row for row in _rows_query(keys)} if keys else {}
    conversation_ids = {row.conversation_id for row in rows.values()}
    conversations = accounts.attach_workspaces(
        _conversations_query(list(conversation_ids)) if conversation_ids else [], workspaces
    )
    shown_rows = [
        rows[key] for key in keys if key in rows and rows[key].conversation_id in conversations
    ]
    for row in shown_rows:  # assigning takes 9 calls a row, a thirtieth of the page
        _CONVERSATION_FIELD.set_cached_value(row, conversations[row.conversation_id])
    return shown_rows


#: The ORM takes 0.2 to 0.4 ms longer for each query of this module, for each page of the table.
_rows_query = CompiledQuery(
    lambda keys: (
        Inquiry.objects.filter(pk__in=keys)
        .defer(*_UNSHOWN_FIELDS)
        .annotate(question_text=Left(KeyTextTransform("text", "question"), _MAX_QUESTION_CHARS))
    )
)
_conversations_query = CompiledQuery(
    lambda keys: Conversation.objects.filter(pk__in=keys).only("title", "workspace_id", "origin")
)


def count_receipts(keys: Iterable[int]) -> dict[int, ReceiptCounts]:
    """Return the receipt counts of questions by key; one that was never shown has no entry."""
    key_list = list(keys)
    count_rows = _receipt_counts_query(key_list) if key_list else []
    return {
        key: ReceiptCounts(delivered_count, seen_count)
        for key, delivered_count, seen_count in count_rows
    }


_receipt_counts_query = CompiledQuery(
    lambda keys: (
        DisplayReceipt.objects.filter(inquiry_id__in=keys)
        .values_list("inquiry_id")
        .annotate(Count("id"), Count("visible_at"))
        .order_by()
    )
)


def parse_attempt(inquiry_id: str) -> str:
    """Return the number of the attempt, the last part of an id by JP's rule; else "".

    The rule is ``<tool call>.<question>.<attempt>``.
    """
    head, _, number = inquiry_id.rpartition(".")
    is_number = number.isascii() and number.isdigit() and len(number) <= _MAX_ATTEMPT_DIGITS
    return number if is_number and "." in head else ""


def load_review_states(inquiry_ids: Iterable[int]) -> dict[int, SubjectState]:
    """Return the state of the reviews of questions by their keys; one query.

    Questions without a review of their present events are left out, as ``refresh_states`` stores
    it. Nothing of a blind review is in it.
    """
    keys = list(inquiry_ids)
    rows = _state_query(keys) if keys else []
    return {
        key: SubjectState(ReviewState(state), verdict)
        for key, state, verdict in rows
        if state not in (None, ReviewState.UNREVIEWED)
    }


_inquiry_task = ReviewTask.objects.filter(
    conversation_id=OuterRef("conversation_id"), anchor=OuterRef("anchor")
)
#: Run for every page of the audit table: 0.25 ms. With two queries of the ORM ``page.audit`` was
#: 5.4 instead of 4.9.
_state_query = CompiledQuery(
    lambda keys: Inquiry.objects.filter(pk__in=keys).values_list(
        "pk",
        Subquery(_inquiry_task.values("state")[:1]),
        Subquery(_inquiry_task.values("verdict")[:1]),
    )
)
