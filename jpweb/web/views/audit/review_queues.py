"""Queues of reviews: their progress, their items, and the next item."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from jpweb.store import db_text
from jpweb.store.choices import Role
from jpweb.store.reviews import assignee_progress, queues, reservations
from jpweb.web import access, converters, review_pages
from jpweb.web.labels import review_labels

if TYPE_CHECKING:
    from jpweb.web.http import Request


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
