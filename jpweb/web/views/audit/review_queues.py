"""Queues of reviews: their progress, their items, and the next item."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from jpweb.evidence import ledger_verifier
from jpweb.store import db_text
from jpweb.store.choices import Role
from jpweb.store.evidence import contents, csv_rows, queue_pages
from jpweb.store.exports import ExportChunk
from jpweb.store.inquiries import get_question_text
from jpweb.store.reviews import assignee_progress, queues, reservations
from jpweb.web import access, converters, review_pages, transcript
from jpweb.web.http import require_POST
from jpweb.web.labels import review_labels
from jpweb.web.security import file_names, read_recording
from jpweb.web.security.download_responses import send_file
from jpweb.web.views.audit import csv_export, exports

if TYPE_CHECKING:
    from jpweb.store.evidence.queue_pages import ReviewedQueueRow
    from jpweb.store.models import Inquiry
    from jpweb.web.http import Request

#: The columns of a queue's file but for those of reviewers; the audit's CSV has some of them too.
CSV_COLUMNS = (
    "asked_at", "workspace", "conversation", "conversation_title", "question", "outcome", "reason",
    "decided_by", "decider", "decider_id", "assigned_to", "review", "link",
)  # fmt: skip


@access.any_workspace(Role.AUDITOR)
def list_queues(request: Request) -> HttpResponse:
    review_queues = queues.load_queues(request.user.pk)
    context = {
        "queues": [
            review_pages.describe_progress(queue) for queue in review_queues.queues.values()
        ],
        "is_cut": review_queues.is_cut,
        "max_questions": queues.MAX_QUEUE_QUESTIONS,
    }
    return render(request, "reviews/index.html", context)


@access.any_workspace(Role.AUDITOR)
def show_queue(request: Request, queue_name: str) -> HttpResponse:
    if queue_name not in queues.QUEUE_NAMES:
        raise Http404
    queue = queues.load_queues(request.user.pk).queues[queue_name]
    after_key = db_text.clean_text(request.GET.get("after", ""))
    start = queues.find_start(queue, request.user.pk, after_key)
    end = start + queues.PAGE_ITEMS
    items = queue.items[start:end]
    remaining_keys = {item.key for item in queue.remaining_items}
    names = assignee_progress.load_names({item.assignee_id for item in items if item.assignee_id})
    rows = [
        {
            "item": item,
            "inquiry": inquiry,
            "conversation": conversation,
            "state": review_labels.STATE_LABELS[item.state],
            "assignee": names.get(item.assignee_id or 0, ""),
            "is_left": item.key in remaining_keys,
            "is_held": item.holder_id not in (None, request.user.pk),
        }
        for item, inquiry, conversation in queues.load_page(items)
    ]
    context = {
        "queue": review_pages.describe_progress(queue),
        "people": [
            {"title": row.name, "finished": row.finished_count, "total": row.total_count}
            for row in (
                assignee_progress.measure_progress(queue.items) if queue.has_progress else []
            )
        ],
        "rows": rows,
        "is_later_page": start > 0,
        "next_query": urlencode({"after": items[-1].key}) if queue.items[end:] else "",
    }
    return render(request, "reviews/queue.html", context)


@access.any_workspace(Role.AUDITOR)
async def export_queue_csv(request: Request, queue_name: str) -> HttpResponseBase:
    """Download all items of a queue as CSV, with their reviews."""
    return await _send_queue(request, queue_name, ".csv", "text/csv; charset=utf-8")


@access.any_workspace(Role.AUDITOR)
async def export_queue_lines(request: Request, queue_name: str) -> HttpResponseBase:
    """Download all items of a queue with their reviews, one JSON object a line."""
    return await _send_queue(request, queue_name, ".jsonl", "application/jsonl; charset=utf-8")


@access.any_workspace(Role.AUDITOR)
async def export_queue_evidence(request: Request, queue_name: str) -> HttpResponseBase:
    """Download one evidence bundle of all conversations of a queue."""
    file_name = _name_file(queue_name, ".evidence.zip")
    list_keys = partial(contents.list_queued_conversation_ids, request.user.pk, queue_name)
    filter_text = f"reviews, queue={queue_name}"
    return await exports.send_filtered_bundle(request, list_keys, filter_text, file_name)


@require_POST
@access.any_workspace(Role.AUDITOR)
def open_next(request: Request, queue_name: str) -> HttpResponse:
    """Reserve the next item of a queue and go to it; release the one before."""
    if queue_name not in queues.QUEUE_NAMES:
        raise Http404
    after_key = db_text.clean_text(request.POST.get("after", ""))
    conversation_key, _, anchor = after_key.partition("-")
    conversation_id = converters.parse_key(conversation_key)
    if conversation_id:
        reservations.release(conversation_id, anchor, request.user.pk)
    return review_pages.redirect_to_next(request, queue_name, after_key)


async def _send_queue(
    request: Request, queue_name: str, suffix: str, content_type: str
) -> HttpResponseBase:
    file_name, person_id = _name_file(queue_name, suffix), request.user.pk
    make_pieces = _make_csv if suffix == ".csv" else _make_lines
    pieces = make_pieces(person_id, queue_name, csv_export.make_address_pattern(request))
    record = partial(
        read_recording.record_workspace_exports,
        request,
        partial(queue_pages.list_workspace_ids, person_id, queue_name),
        file=file_name,
    )
    return await send_file(request, pieces, file_name, content_type, record=record)


def _name_file(queue_name: str, suffix: str) -> str:
    """Return the name of a queue's file. Raises Http404 for an unknown queue."""
    if queue_name not in queues.QUEUE_NAMES:
        raise Http404
    title, _ = review_labels.QUEUE_LABELS[queue_name]
    return file_names.name_filtered_file("reviews", {"words": title}, {}, suffix)


def _make_csv(person_id: int, queue_name: str, address: str) -> Iterator[ExportChunk]:
    reviewers = queue_pages.list_reviewers(person_id, queue_name)
    for number, page in enumerate(queue_pages.read_pages(person_id, queue_name)):
        lines: list[list[object]] = []
        if number == 0:
            lines.append([*CSV_COLUMNS, *csv_export.list_review_headings(reviewers)])
        for row, values in _make_rows(page.rows, address):
            review_cells = csv_export.list_review_cells(reviewers, row.reviews)
            lines.append([*values.values(), *review_cells])
        yield ExportChunk(csv_rows.write_rows(lines), page.done, page.total)


def _make_lines(person_id: int, queue_name: str, address: str) -> Iterator[ExportChunk]:
    """Yield the rows of the CSV as JSON; ``address`` is that of a conversation."""
    for page in queue_pages.read_pages(person_id, queue_name):
        lines = [
            values | {"reviews": csv_export.describe_reviews(row.reviews)}
            for row, values in _make_rows(page.rows, address)
        ]
        text = "".join(f"{ledger_verifier.encode_canonical(line)}\n" for line in lines)
        yield ExportChunk(text.encode(), page.done, page.total)


def _make_rows(
    rows: list[ReviewedQueueRow], address: str
) -> Iterator[tuple[ReviewedQueueRow, dict[str, object]]]:
    """Yield rows with their values by column; one query."""
    assignees = {row.item.assignee_id for row in rows if row.item.assignee_id}
    names = assignee_progress.load_names(assignees)
    for row in rows:
        item, conversation = row.item, row.conversation
        values: dict[str, object] = dict.fromkeys(CSV_COLUMNS, "")
        values |= _describe_question(row.inquiry) if row.inquiry else {}
        values |= {
            "workspace": conversation.workspace.name,
            "conversation": f"jp-c{conversation.jp_id}",
            "conversation_title": conversation.title,
            "assigned_to": names.get(item.assignee_id or 0, ""),
            "review": review_labels.STATE_LABELS[item.state],
            "link": address.format(conversation.pk) + transcript.format_event_query(item.anchor),
        }
        yield row, values


def _describe_question(inquiry: Inquiry) -> dict[str, object]:
    return {
        "asked_at": inquiry.asked_at.isoformat(),
        "question": get_question_text(inquiry),
        "outcome": inquiry.state,
        "reason": inquiry.reason,
        "decided_by": inquiry.decided_by,
        "decider": inquiry.decider_name,
        "decider_id": inquiry.decider_id or "",
    }
