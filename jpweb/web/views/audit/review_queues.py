"""Queues of reviews: their progress, their items, and the next item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_POST

from jpweb.store import db_text
from jpweb.store.choices import Role
from jpweb.store.evidence import csv_rows, queue_pages
from jpweb.store.exports import ExportChunk
from jpweb.store.reviews import assignee_progress, queues, reservations
from jpweb.web import access, converters, review_pages, transcript
from jpweb.web.labels import review_labels
from jpweb.web.security import file_names, read_recording
from jpweb.web.security.download_responses import send_file
from jpweb.web.views.audit import csv_export

if TYPE_CHECKING:
    from jpweb.store.reviews.queues import QueueRow
    from jpweb.web.http import Request

#: The columns of a queue's file; those that the audit's CSV has too mean the same there.
CSV_COLUMNS = (
    "asked_at", "workspace", "conversation", "conversation_title", "question", "outcome", "reason",
    "decided_by", "decider", "decider_id", "assigned_to", "review", "link",
)  # fmt: skip
#: Columns of a whole conversation's row that its question would have.
_NO_QUESTION = ("",) * 6


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
    left = {item.key for item in queue.left}
    names = assignee_progress.load_names(
        {item.assignee_id for item in queue.items[: queues.PAGE_ITEMS] if item.assignee_id}
    )
    rows = [
        {
            "item": item,
            "inquiry": inquiry,
            "conversation": conversation,
            "state": review_labels.STATE_LABELS[item.state],
            "assignee": names.get(item.assignee_id or 0, ""),
            "is_left": item.key in left,
            "is_held": item.holder_id not in (None, request.user.pk),
        }
        for item, inquiry, conversation in queues.load_page(queue.items)
    ]
    context = {
        "queue": review_pages.describe_progress(queue),
        "people": [
            {"title": row.name, "finished": row.finished_count, "total": row.total_count}
            for row in assignee_progress.measure_progress(queue.items)
        ],
        "rows": rows,
        "hidden_count": max(len(queue.items) - len(rows), 0),
    }
    return render(request, "reviews/queue.html", context)


@access.any_workspace(Role.AUDITOR)
async def export_queue(request: Request, queue_name: str) -> HttpResponseBase:
    """Download all items of a queue as CSV, as its page shows them."""
    if queue_name not in queues.QUEUE_NAMES:
        raise Http404
    title, _ = review_labels.QUEUE_LABELS[queue_name]
    file_name = file_names.name_filtered_file("reviews", {"words": title}, {}, ".csv")
    pieces = _make_csv(request.user.pk, queue_name, csv_export.make_address_pattern(request))
    record = partial(
        read_recording.record_workspace_exports,
        request,
        partial(queue_pages.list_workspace_ids, request.user.pk, queue_name),
        file=file_name,
    )
    return await send_file(request, pieces, file_name, "text/csv; charset=utf-8", record=record)


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


def _make_csv(person_id: int, queue_name: str, address: str) -> Iterator[ExportChunk]:
    for number, (rows, done, total) in enumerate(queue_pages.read_pages(person_id, queue_name)):
        assignees = {item.assignee_id for item, _, _ in rows if item.assignee_id}
        names = assignee_progress.load_names(assignees)
        lines: list[Iterable[object]] = [CSV_COLUMNS] if number == 0 else []
        lines += [_list_cells(row, names, address) for row in rows]
        yield ExportChunk(csv_rows.write_rows(lines), done, total)


def _list_cells(row: QueueRow, names: dict[int, str], address: str) -> list[object]:
    item, inquiry, conversation = row
    question_cells: Iterable[object] = _NO_QUESTION
    if inquiry is not None:
        question_cells = (
            inquiry.question["text"],
            inquiry.state,
            inquiry.reason,
            inquiry.decided_by,
            inquiry.decider_name,
            inquiry.decider_id or "",
        )
    return [
        inquiry.asked_at.isoformat() if inquiry else "",
        conversation.workspace.name,
        f"jp-c{conversation.jp_id}",
        conversation.title,
        *question_cells,
        names.get(item.assignee_id or 0, ""),
        review_labels.STATE_LABELS[item.state],
        address.format(conversation.pk) + transcript.format_event_query(item.anchor),
    ]
