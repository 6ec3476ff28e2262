"""Audit: filtered inquiries as CSV, with the reviews of each reviewer in columns of their own."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.urls import reverse

from jpweb.store import inquiries
from jpweb.store.audit import ReviewedBatch, ReviewedInquiry
from jpweb.store.exports import ExportChunk
from jpweb.store.reviews import inquiry_pages
from jpweb.store.reviews.exported_reviews import ExportedReview, ExportedReviews
from jpweb.store.reviews.inquiry_pages import OVERRIDING_DECIDERS, Showing
from jpweb.stream.answer_type import format_answer
from jpweb.web import transcript
from jpweb.web.views.audit.inquiry_rows import NEVER_SHOWN

if TYPE_CHECKING:
    from jpweb.web.http import Request

CSV_COLUMNS = (
    "asked_at", "workspace", "conversation", "conversation_title", "started_by", "asker",
    "source", "question", "answer_type", "outcome", "reason", "answer", "comment", "decided_by",
    "decider", "decider_id", "channel", "settled_at", "waited_seconds", "inquiry_id", "attempt",
    "override", "delivered_count", "seen_count", "link",
)  # fmt: skip
#: Placeholder of a conversation's key while the pattern of its address is built.
_PLACEHOLDER_ID = 987_654_321
#: CSV injection: spreadsheets evaluate a cell that begins with one of these, full-width forms too.
RISKY_SIGNS = frozenset("=+-@")
#: Spreadsheets may split a cell at one of these, and evaluate the rest.
RISKY_CONTROLS = ("\t", "\r", "\n")
#: Headings of a reviewer's columns.
REVIEW_HEADING, REVIEW_NOTE_HEADING = "review by {name}", "review note by {name}"
REVIEW_TIME_HEADING = "review time by {name}"
#: The verdict of a review that its reader must not know yet.
HIDDEN_VERDICT = "hidden"


def make_csv(
    batches: Iterator[ReviewedBatch], address: str, reviews: ExportedReviews
) -> Iterator[ExportChunk]:
    """Yield the file, with one more query for each batch; ``address`` is that of a conversation."""
    reviewers = reviews.list_reviewers()
    for number, (rows, done, total) in enumerate(batches):
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        if number == 0:
            names = _list_names([reviewer.name for reviewer in reviewers])
            writer.writerow([escape_cell(name) for name in (*CSV_COLUMNS, *names)])
        found = reviews.load_reviews(rows) if reviewers else {}
        for row, cells in make_csv_rows(rows, address):
            shown_reviews = found.get(row.pk, {})
            for reviewer in reviewers:
                cells.extend(_make_review_cells(shown_reviews.get(reviewer.key)))
            writer.writerow([escape_cell(value) for value in cells])
        yield ExportChunk(text.getvalue().encode(), done, total)


def _list_names(reviewer_names: list[str]) -> list[str]:
    """Return three headings for each reviewer; a second one of the same name gets a number."""
    headings = []
    for index, name in enumerate(reviewer_names):
        earlier_count = reviewer_names[:index].count(name)
        shown_name = f"{name} ({earlier_count + 1})" if earlier_count else name
        headings += [
            REVIEW_HEADING.format(name=shown_name),
            REVIEW_NOTE_HEADING.format(name=shown_name),
            REVIEW_TIME_HEADING.format(name=shown_name),
        ]
    return headings


def _make_review_cells(review: ExportedReview | None) -> list[object]:
    if review is None:
        return ["", "", ""]
    verdict, note = (HIDDEN_VERDICT, "") if review.is_hidden else (review.verdict, review.note)
    return [verdict, note, review.reviewed_at.isoformat()]


def make_address_pattern(request: Request) -> str:
    """Return a format string of conversations' addresses: rows need no URL resolution."""
    path = reverse("conversation", kwargs={"conversation_id": _PLACEHOLDER_ID})
    address = request.build_absolute_uri(path).replace("{", "{{").replace("}", "}}")
    head, _, tail = address.rpartition(str(_PLACEHOLDER_ID))
    return f"{head}{{0}}{tail}"


def make_csv_rows(
    rows: list[ReviewedInquiry], address: str
) -> Iterator[tuple[ReviewedInquiry, list[object]]]:
    """Yield rows with their cells, in the order of ``CSV_COLUMNS``; one query."""
    showings = inquiry_pages.count_showings([row.pk for row in rows])
    for row in rows:
        yield row, _make_csv_row(row, address, showings.get(row.pk, NEVER_SHOWN))


def _make_csv_row(row: ReviewedInquiry, address: str, showing: Showing) -> list[object]:
    waited_seconds = inquiries.waiting_seconds(row)
    return [
        row.asked_at.isoformat(),
        row.workspace_name,
        f"jp-c{row.jp_id}",
        row.conversation_title,
        row.started_by,
        row.asker,
        row.source,
        row.question["text"],
        row.answer_type,
        row.state,
        row.reason,
        "" if row.answer is None else format_answer(row.answer),
        row.note,
        row.decided_by,
        row.decider_name,
        row.decider_id or "",
        row.channel,
        row.settled_at.isoformat() if row.settled_at else "",
        "" if waited_seconds is None else f"{waited_seconds:.3f}",
        row.inquiry_id,
        inquiry_pages.parse_attempt(row.inquiry_id),
        row.decided_by in OVERRIDING_DECIDERS,
        *(showing.delivered_count, showing.seen_count),
        address.format(row.conversation_id) + transcript.format_event_query(row.anchor),
    ]


def escape_cell(value: object) -> str:
    """Return the text of a cell that no spreadsheet evaluates."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text[:1].isascii() and text[:1].isalnum():
        return text
    return f"'{text}" if text.startswith(RISKY_CONTROLS) or _begins_formula(text) else text


def _begins_formula(text: str) -> bool:
    """Tell whether the first character that a spreadsheet keeps is one of ``RISKY_SIGNS``.

    It may drop spaces, controls, a byte order mark and other zero-width characters.
    """
    visible = (char for char in text if unicodedata.category(char)[0] not in "ZC")
    return unicodedata.normalize("NFKC", next(visible, ""))[:1] in RISKY_SIGNS
