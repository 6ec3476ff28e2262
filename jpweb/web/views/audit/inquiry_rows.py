"""Audit: the columns of the table of inquiries, its order in an address, and its rows."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from jpweb.store.choices import Origin, ReviewState
from jpweb.store.reviews import inquiry_pages
from jpweb.store.reviews.inquiry_pages import NO_RECEIPTS, OVERRIDING_DECIDERS, ReceiptCounts
from jpweb.store.reviews.inquiry_ranges import SORT_COLUMNS, Order
from jpweb.store.reviews.reviews import SubjectState
from jpweb.stream.markdown import outcome_texts
from jpweb.web.labels import audit_labels, review_labels

if TYPE_CHECKING:
    from jpweb.store.models import Inquiry

_UNREVIEWED = SubjectState(ReviewState.UNREVIEWED, "")


class Column(NamedTuple):
    """The heading of a column; ``query`` sorts by it, and is empty where nothing does.

    ``direction`` is the value of *aria-sort*, empty for all but the column of the order.
    """

    label: str
    query: str
    direction: str


class InquiryRow(NamedTuple):
    """A row of the table, and the values that its inquiry lacks.

    ``attempt`` is empty for the first one, and where the inquiry's id has none; ``channel`` for an
    answer that came by a page.
    """

    inquiry: Inquiry
    attempt: str
    receipt_count: str
    is_override: bool
    channel: str
    review: str


def parse_order(text: str) -> Order:
    """Return the order that an address names: a column, after "-" descending; else the newest."""
    name = text.removeprefix("-")
    return Order(name, text != name) if name in SORT_COLUMNS else Order()


def format_order(order: Order) -> str:
    """Return the value of ``sort`` in an address."""
    return f"-{order.name}" if order.is_descending else order.name


def list_columns(order: Order, query: dict[str, str]) -> list[Column]:
    """Return the headings; a second activation of one turns its order round."""
    columns = []
    for name, label in audit_labels.COLUMN_LABELS:
        if name not in SORT_COLUMNS:
            columns.append(Column(label, "", ""))
            continue
        is_current = name == order.name
        begins_descending = name in ("asked", "waited")
        next_order = Order(name, not order.is_descending if is_current else begins_descending)
        direction = "descending" if order.is_descending else "ascending"
        next_query = urlencode(query | {"sort": format_order(next_order)})
        columns.append(Column(label, next_query, direction if is_current else ""))
    return columns


def make_rows(inquiries: list[Inquiry]) -> list[InquiryRow]:
    """Return the rows of a page; two queries."""
    keys = [row.pk for row in inquiries]
    receipt_counts = inquiry_pages.count_receipts(keys)
    states = inquiry_pages.load_review_states(keys)
    return [
        InquiryRow(
            row,
            _describe_attempt(row.inquiry_id),
            _describe_receipts(row, receipt_counts.get(row.pk, NO_RECEIPTS)),
            row.decided_by in OVERRIDING_DECIDERS,
            outcome_texts.ANSWER_CHANNELS.get(row.channel, ""),
            _describe_review(states.get(row.pk, _UNREVIEWED)),
        )
        for row in inquiries
    ]


@cache
def _describe_review(state: SubjectState) -> str:
    label = review_labels.STATE_LABELS[state.state]
    return f"{label}: {review_labels.VERDICT_LABELS[state.verdict][0]}" if state.verdict else label


def _describe_attempt(inquiry_id: str) -> str:
    number = inquiry_pages.parse_attempt(inquiry_id)
    return "" if number == "1" else number


def _describe_receipts(row: Inquiry, receipt_count: ReceiptCounts) -> str:
    if not receipt_count.delivered_count:
        is_from_jp = row.conversation.origin == Origin.MIRRORED and row.run_id is None
        return audit_labels.SHOWN_IN_JP if is_from_jp else audit_labels.NEVER_SHOWN
    return audit_labels.SHOWING.format(
        delivered_count=receipt_count.delivered_count, seen_count=receipt_count.seen_count
    )
