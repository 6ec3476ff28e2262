"""Questions as rows of CSV files: of the audit, and of evidence bundles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jpweb.store import inquiries
from jpweb.store.audit import ReviewedInquiry
from jpweb.store.evidence import csv_rows
from jpweb.store.models import Conversation, Inquiry
from jpweb.store.reviews import inquiry_pages
from jpweb.store.reviews.inquiry_pages import NO_RECEIPTS, OVERRIDING_DECIDERS, ReceiptCounts
from jpweb.stream.answer_type import format_answer

COLUMNS = (
    "asked_at", "workspace", "conversation", "conversation_title", "started_by", "asker",
    "source", "question", "answer_type", "outcome", "reason", "answer", "comment", "decided_by",
    "decider", "decider_id", "channel", "settled_at", "waited_seconds", "inquiry_id", "attempt",
    "override", "delivered_count", "seen_count", "link",
)  # fmt: skip
#: Columns that name an installation's own rows: a bundle has none, so that an imported
#: conversation has the same file.
_INSTALLATION_COLUMNS = frozenset({"workspace", "started_by", "decider_id", "link"})
BUNDLE_COLUMNS = tuple(name for name in COLUMNS if name not in _INSTALLATION_COLUMNS)
#: The fields of a row that its conversation or its run has.
_JOINED_FIELDS = frozenset({"workspace_name", "jp_id", "conversation_title", "started_by"})
_OWN_FIELDS = tuple(name for name in ReviewedInquiry._fields if name not in _JOINED_FIELDS)
#: Rows of one query.
_BATCH_ROWS = 250


def make_values(
    row: ReviewedInquiry, receipt_count: ReceiptCounts, link: str = ""
) -> dict[str, object]:
    """Return the values of a row, in the order of ``COLUMNS``."""
    waited_seconds = inquiries.get_waiting_seconds(row)
    return {
        "asked_at": row.asked_at.isoformat(),
        "workspace": row.workspace_name,
        "conversation": f"jp-c{row.jp_id}",
        "conversation_title": row.conversation_title,
        "started_by": row.started_by,
        "asker": row.asker,
        "source": row.source,
        "question": row.question["text"],
        "answer_type": row.answer_type,
        "outcome": row.state,
        "reason": row.reason,
        "answer": "" if row.answer is None else format_answer(row.answer),
        "comment": row.note,
        "decided_by": row.decided_by,
        "decider": row.decider_name,
        "decider_id": row.decider_id or "",
        "channel": row.channel,
        "settled_at": row.settled_at.isoformat() if row.settled_at else "",
        "waited_seconds": "" if waited_seconds is None else f"{waited_seconds:.3f}",
        "inquiry_id": row.inquiry_id,
        "attempt": inquiry_pages.parse_attempt(row.inquiry_id),
        "override": row.decided_by in OVERRIDING_DECIDERS,
        "delivered_count": receipt_count.delivered_count,
        "seen_count": receipt_count.seen_count,
        "link": link,
    }


def export_questions(conversation: Conversation) -> Iterator[bytes]:
    """Yield the questions of a conversation as CSV, a query or two a batch.

    Like the events of the bundle, they end where the conversation ended when it was loaded.
    """
    rows = Inquiry.objects.filter(conversation=conversation, position__lt=conversation.entry_count)
    keys = list(rows.order_by("position", "pk").values_list("pk", flat=True))
    yield csv_rows.write_rows([BUNDLE_COLUMNS])
    for start in range(0, len(keys), _BATCH_ROWS):
        yield csv_rows.write_rows(_list_cells(conversation, keys[start : start + _BATCH_ROWS]))


def _list_cells(conversation: Conversation, keys: Sequence[int]) -> list[list[object]]:
    rows: Mapping[int, ReviewedInquiry] = {
        values["pk"]: ReviewedInquiry(
            **values,
            workspace_name="",
            jp_id=conversation.jp_id,
            conversation_title=conversation.title,
            started_by="",
        )
        for values in Inquiry.objects.filter(pk__in=keys).values(*_OWN_FIELDS)
    }
    receipt_counts = inquiry_pages.count_receipts(keys)
    rows_of_cells = []
    for key in keys:
        if key in rows:
            values = make_values(rows[key], receipt_counts.get(key, NO_RECEIPTS))
            rows_of_cells.append([values[name] for name in BUNDLE_COLUMNS])
    return rows_of_cells
