"""Pages of the audit's inquiries in the order of a column, and what each row was shown to whom.

Each order has an index, so a page costs the same wherever it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db.models import Count, Expression, F, OrderBy, Q

from jpweb.store import audit
from jpweb.store.audit import PAGE_ROWS, AuditFilters
from jpweb.store.models import DisplayReceipt, Inquiry
from jpweb.store.sql.waiting_time import WaitingMilliseconds

#: What the rows can be sorted by, by the name in an address.
SORT_COLUMNS: dict[str, Expression | F] = {
    "asked": F("asked_at"),
    "asker": F("asker"),
    "outcome": F("state"),
    "decider": F("decider_name"),
    "waited": WaitingMilliseconds("settled_at", "asked_at"),
}
#: Longest number of an attempt, in an inquiry's id.
_MAX_ATTEMPT_DIGITS = 4


class Order(NamedTuple):
    """The order of the table."""

    name: str = "asked"
    is_descending: bool = True


class Showing(NamedTuple):
    """To how many people a question was sent, and how many had it on their screen."""

    delivered_count: int
    seen_count: int


def load_page(
    person_id: int, filters: AuditFilters, order: Order, after: int
) -> tuple[list[Inquiry], int]:
    """Return the rows after the one with key ``after`` (0 for the first), and the next key."""
    rows = audit.filter_inquiries(person_id, filters)
    column = SORT_COLUMNS[order.name]
    last = Inquiry.objects.filter(pk=after).values_list(column).first() if after else None
    rows = rows.annotate(sort_value=column)
    if last is not None:
        side = "lt" if order.is_descending else "gt"
        is_later = Q(sort_value=last[0], **{f"id__{side}": after})
        rows = rows.filter(Q(**{f"sort_value__{side}": last[0]}) | is_later)
        rows = rows.filter(**{f"sort_value__{side}e": last[0]})  # the range of the index
    directions = [OrderBy(each, descending=order.is_descending) for each in (column, F("id"))]
    page: list[Any] = list(rows.order_by(*directions)[: PAGE_ROWS + 1])
    return page[:PAGE_ROWS], page[PAGE_ROWS - 1].pk if len(page) > PAGE_ROWS else 0


def count_showings(keys: Iterable[int]) -> dict[int, Showing]:
    """Return the showings of questions by key; without an entry a question was never shown."""
    receipts = DisplayReceipt.objects.filter(inquiry_id__in=list(keys)).values_list("inquiry_id")
    counted: Any = receipts.annotate(Count("id"), Count("visible_at")).order_by()
    return {key: Showing(delivered, seen) for key, delivered, seen in counted}


def parse_attempt(inquiry_id: str) -> str:
    """Return the number of the attempt, the last part of an id by JP's rule; else "".

    The rule is ``<tool call>.<question>.<attempt>``.
    """
    head, _, number = inquiry_id.rpartition(".")
    is_number = number.isascii() and number.isdigit() and len(number) <= _MAX_ATTEMPT_DIGITS
    return number if is_number and "." in head else ""
