"""Comments on an event: their page, and the forms that add, edit, delete and resolve them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.annotations import mentions, thread_listing, threads
from jpweb.store.choices import Role
from jpweb.store.errors import CommentRefused, StoreError
from jpweb.web import (
    access,
    annotation_blocks,
    converters,
    notice_text,
    review_pages,
    transcript,
)
from jpweb.web.forms.conversation_forms import CommentForm
from jpweb.web.forms.fields import RowKeyForm
from jpweb.web.http import require_POST

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request


@access.conversation(Role.READER)
def show_comments(request: Request, conversation: Conversation, anchor: str) -> HttpResponse:
    """Show the comments on an event, with their forms; to htmx as a fragment."""
    is_known = thread_listing.find_positions(conversation.pk, [anchor])
    if not is_known and not thread_listing.load_threads(conversation.pk, [anchor]):
        raise Http404
    # A fragment without forms is for a page that nobody may be looking at.
    if request.method == "GET" and (not request.htmx or "form" in request.GET):
        mentions.mark_threads_seen(request.user, conversation.pk, [anchor])
    return _render_comments(request, conversation, anchor)


@access.conversation(Role.READER)
def open_next(request: Request, conversation: Conversation) -> HttpResponse:
    """Redirect to the next event with open comments."""
    previous_anchor = converters.parse_anchor(request.GET.get("from"))
    anchor = annotation_blocks.find_next_open(conversation.pk, previous_anchor)
    if not anchor:
        messages.info(request, notice_text.NO_OPEN_COMMENTS)
        return redirect("conversation", conversation_id=conversation.pk)
    queue_name = review_pages.get_queue_name(request)
    return redirect(transcript.make_event_url(conversation.pk, anchor, queue=queue_name))


@require_POST
@access.conversation(Role.READER)
async def add_comment(request: Request, conversation: Conversation, anchor: str) -> HttpResponse:
    _, text = CommentForm(request.POST).read_values()

    def save_comment() -> None:
        threads.add_comment(conversation, anchor, request.user, text)

    return await _apply(request, conversation, anchor, save_comment)


@require_POST
@access.conversation(Role.READER)
async def edit_comment(request: Request, conversation: Conversation, anchor: str) -> HttpResponse:
    key, text = CommentForm(request.POST).read_values()

    def save_edit() -> None:
        threads.edit_comment(conversation, anchor, key, request.user, text)

    return await _apply(request, conversation, anchor, save_edit)


@require_POST
@access.conversation(Role.READER)
async def delete_comment(request: Request, conversation: Conversation, anchor: str) -> HttpResponse:
    key, _ = CommentForm(request.POST).read_values()

    def remove_comment() -> None:
        may_audit = access.has_role(request.user.pk, conversation.workspace_id, Role.AUDITOR)
        threads.delete_comment(conversation, anchor, key, request.user, may_audit=may_audit)

    return await _apply(request, conversation, anchor, remove_comment)


@require_POST
@access.conversation(Role.READER)
async def resolve_comments(
    request: Request, conversation: Conversation, anchor: str
) -> HttpResponse:
    is_resolved = request.POST.get("resolved") == "1"

    def save_resolution() -> None:
        threads.set_resolved(conversation, anchor, request.user, is_resolved=is_resolved)

    return await _apply(request, conversation, anchor, save_resolution)


@access.signed_in
def list_mentions(request: Request) -> HttpResponse:
    """List the comments that mention the person; each is new until its event is opened."""
    rows = mentions.list_mentions(request.user.pk)
    context = {
        "mentions": rows,
        "limit": mentions.MAX_LISTED,
        "has_new": any(row.mention.seen_at is None for row in rows),
    }
    return render(request, "annotations/mentions.html", context)


@require_POST
@access.signed_in
def mark_mentions_seen(request: Request) -> HttpResponse:
    """Mark the person's mentions as seen, up to the newest one that their page showed."""
    newest_id = RowKeyForm(request.POST, "newest").read_key()
    mentions.mark_seen(request.user.pk, newest_id)
    return redirect("mentions")


async def _apply(
    request: Request, conversation: Conversation, anchor: str, change: Callable[[], None]
) -> HttpResponse:
    """Change comments and show them; where that is refused, show the form and its text again."""
    try:
        await run_in_db_thread(change)
    except CommentRefused as error:
        return await run_in_db_thread(
            _render_comments, request, conversation, anchor, problem=str(error), status=422
        )
    except StoreError as error:
        raise Http404(str(error)) from error
    await publisher.publish_conversation_changed(conversation.pk)
    if request.htmx:
        html = await run_in_db_thread(
            annotation_blocks.render_block, request, conversation, anchor, has_forms=False
        )
        return HttpResponse(html)
    return redirect(transcript.make_event_url(conversation.pk, anchor))


def _render_comments(
    request: Request, conversation: Conversation, anchor: str, **extra_context: Any
) -> HttpResponse:
    status = extra_context.pop("status", 200)
    if request.htmx:
        has_forms = bool(extra_context) or "form" in request.GET
        html = annotation_blocks.render_block(
            request, conversation, anchor, has_forms=has_forms, **extra_context
        )
        return HttpResponse(html, status=status)
    lines = thread_listing.load_first_lines([(conversation.pk, anchor)])
    context = {
        "conversation": conversation,
        "anchor": anchor,
        "is_known": bool(lines),
        "first_line": lines.get((conversation.pk, anchor), ""),
        "event_url": transcript.make_event_url(conversation.pk, anchor),
        "annotations_html": annotation_blocks.render_block(
            request, conversation, anchor, has_forms=True, **extra_context
        ),
    }
    return render(request, "annotations/comments.html", context, status=status)
