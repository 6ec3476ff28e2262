"""Audit: filtered inquiries as CSV, with the reviews of each reviewer in columns of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from jpweb.store.audit import ReviewedBatch, ReviewedInquiry
from jpweb.store.evidence import csv_rows, question_cells
from jpweb.store.exports import ExportChunk
from jpweb.store.reviews import inquiry_pages
from jpweb.store.reviews.exported_reviews import ExportedReview, ExportedReviews, Reviewer
from jpweb.store.reviews.inquiry_pages import NO_RECEIPTS
from jpweb.web import transcript

if TYPE_CHECKING:
    from jpweb.web.http import Request

#: Headings of a reviewer's columns.
REVIEW_HEADING, REVIEW_NOTE_HEADING = "review by {name}", "review note by {name}"
REVIEW_TIME_HEADING = "review time by {name}"
#: The verdict of a review that its reader must not know yet.
HIDDEN_VERDICT = "hidden"
#: The verdict of a review of an earlier version.
OUTDATED_VERDICT = "{verdict} (earlier version)"


def make_csv(
    batches: Iterator[ReviewedBatch], address: str, reviews: ExportedReviews
) -> Iterator[ExportChunk]:
    """Yield the file, with one more query for each batch; ``address`` is that of a conversation."""
    reviewers = reviews.list_reviewers()
    for number, (rows, done_count, total) in enumerate(batches):
        lines: list[list[object]] = []
        if number == 0:
            lines.append([*question_cells.COLUMNS, *list_review_headings(reviewers)])
        reviews_by_place = reviews.load_reviews(rows) if reviewers else {}
        for row, values in make_csv_rows(rows, address):
            review_cells = list_review_cells(reviewers, reviews_by_place.get(row.pk, {}))
            lines.append([*values.values(), *review_cells])
        yield ExportChunk(csv_rows.write_rows(lines), done_count, total)


def list_review_headings(reviewers: Sequence[Reviewer]) -> list[str]:
    """Return three headings for each reviewer; a second one of the same name gets a number."""
    reviewer_names = [reviewer.name for reviewer in reviewers]
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


def list_review_cells(
    reviewers: Sequence[Reviewer], reviews: Mapping[int | str, ExportedReview]
) -> list[object]:
    """Return the cells of a row below the headings of its reviewers."""
    return [
        cell for reviewer in reviewers for cell in _make_review_cells(reviews.get(reviewer.key))
    ]


def describe_reviews(reviews: Mapping[int | str, ExportedReview]) -> list[dict[str, Any]]:
    """Return the reviews of a row as JSON; a hidden one has neither verdict nor note."""
    return [_describe_review(review) for review in reviews.values()]


def _describe_review(review: ExportedReview) -> dict[str, Any]:
    verdict_fields = {} if review.is_hidden else {"verdict": review.verdict, "note": review.note}
    return {
        "reviewer": review.reviewer.name,
        "round": review.round,
        "reviewed_at": review.reviewed_at.isoformat(),
        "is_hidden": review.is_hidden,
        "is_outdated": review.is_outdated,
    } | verdict_fields


def _make_review_cells(review: ExportedReview | None) -> list[object]:
    if review is None:
        return ["", "", ""]
    verdict, note = (HIDDEN_VERDICT, "") if review.is_hidden else (review.verdict, review.note)
    if review.is_outdated and not review.is_hidden:
        verdict = OUTDATED_VERDICT.format(verdict=verdict)
    return [verdict, note, review.reviewed_at.isoformat()]


def make_address_pattern(request: Request) -> str:
    """Return a format string of conversations' addresses: rows need no URL resolution."""
    path = reverse("conversation", kwargs={"conversation_id": 0})
    address = request.build_absolute_uri(path).replace("{", "{{").replace("}", "}}")
    head, _, tail = address.rpartition("0")  # the key is the end of the address
    return f"{head}{{0}}{tail}"


def make_csv_rows(
    rows: list[ReviewedInquiry], address: str
) -> Iterator[tuple[ReviewedInquiry, dict[str, object]]]:
    """Yield rows with their values by column; one query."""
    receipt_counts = inquiry_pages.count_receipts([row.pk for row in rows])
    for row in rows:
        link = address.format(row.conversation_id) + transcript.format_event_query(row.anchor)
        yield row, question_cells.make_values(row, receipt_counts.get(row.pk, NO_RECEIPTS), link)
