"""Receipts of questions in an evidence bundle: their lines, and their import."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec

from jpweb.store.evidence.line_times import format_time
from jpweb.store.models import Conversation, DisplayReceipt

_BATCH_ROWS = 250


class ReceiptLine(msgspec.Struct, forbid_unknown_fields=True):
    """A receipt as a line; ``event`` is the anchor of the question."""

    event: str
    person: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    delivered_at: datetime
    visible_at: datetime | None
    focused_at: datetime | None
    draft_at: datetime | None


def describe_receipt(row: DisplayReceipt) -> dict[str, Any]:
    """Return the line of a receipt, whose question and person are loaded."""
    return {
        "event": row.inquiry.anchor,
        "person": row.reader_name,
        "delivered_at": format_time(row.delivered_at),
        "visible_at": format_time(row.visible_at),
        "focused_at": format_time(row.focused_at),
        "draft_at": format_time(row.draft_at),
    }


def insert_receipts(conversation: Conversation, lines: list[ReceiptLine]) -> None:
    """Insert the receipts of an imported conversation; they have a name and no person.

    A bundle of an earlier jpweb may have some of a question that was asked after its events were
    written: those are left out.
    """
    keys = dict(conversation.inquiries.values_list("anchor", "pk"))
    rows = [
        DisplayReceipt(
            inquiry_id=keys[line.event],
            person_name=line.person,
            delivered_at=line.delivered_at,
            visible_at=line.visible_at,
            focused_at=line.focused_at,
            draft_at=line.draft_at,
        )
        for line in lines
        if line.event in keys
    ]
    DisplayReceipt.objects.bulk_create(rows, _BATCH_ROWS)
