"""Conversation pages: windows, outline of a turn, read marks, export and new ones."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from jpweb.runtime import exports, runs, wiring
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import receipt_buffer
from jpweb.store import accounts, approvals, conversations, inquiries
from jpweb.store.annotations import mentions
from jpweb.store.choices import Role
from jpweb.store.errors import StoreError, UnknownAnchor
from jpweb.store.evidence import contents
from jpweb.store.inbox import claims, snoozes
from jpweb.store.ledger.entries import Place
from jpweb.store.transcript import read_marks, turns, windows
from jpweb.web import (
    access,
    annotation_blocks,
    converters,
    event_filter,
    notice_text,
    transcript,
)
from jpweb.web.forms import unsent_text
from jpweb.web.forms.conversation_forms import NewConversationForm
from jpweb.web.forms.filters.conversation_filters import find_list_query
from jpweb.web.http import require_POST, take_form
from jpweb.web.security import cache_headers, file_names, read_recording
from jpweb.web.security.download_responses import send_file
from jpweb.web.transcript import TranscriptQuery
from jpweb.web.websocket import conversation_updates

if TYPE_CHECKING:
    from jpweb.store.models import Conversation, Run, Workspace
    from jpweb.web.http import Request
    from jpweb.web.transcript import TranscriptPage

#: Characters of the first request that become the title.
MAX_TITLE_CHARS = 60
#: In the name of a file that has the comments.
COMMENTED_SUFFIX = "-with-comments"


@access.conversation(Role.READER)
def show_conversation(request: Request, conversation: Conversation) -> HttpResponse:
    """Show the window of a conversation that the query string names; to htmx as a fragment."""
    query = TranscriptQuery.from_params(request.GET.dict())
    if request.htmx and (query.after is not None or query.before is not None):
        return cache_headers.add_etag(request, _render_window(request, conversation, query))
    # What a script fetches is not shown: the text stays for the page.
    text = unsent_text.take_text(request, conversation) if _is_document(request) else ""
    response = _render_conversation(request, conversation, query, text)
    return cache_headers.add_etag(request, response)


def _render_window(
    request: Request, conversation: Conversation, query: TranscriptQuery
) -> HttpResponse:
    """Render the window before or after one that the page shows."""
    read_count = read_marks.get_read_count(request.user.pk, conversation.pk)
    page = transcript.load_page(conversation, query, read_count=read_count)
    context = transcript.build_window_context(conversation, query, page)
    _build_annotations(request, conversation, page)
    if query.before is None:
        context["earlier_url"] = ""
    else:
        context["later_url"] = ""
    return render(request, "conversations/_window.html", context)


def _render_conversation(
    request: Request, conversation: Conversation, query: TranscriptQuery, rejected_text: str = ""
) -> HttpResponse:
    """Render a conversation; ``rejected_text`` is a request that could not be sent."""
    # Read the run before the window: a page that shows it as ended then has all of its events.
    person_id, workspace_id = request.user.pk, conversation.workspace_id
    role = access.get_roles(request).get(workspace_id, Role.READER)
    context = conversation_updates.build_composer_context(conversation, role)
    run: Run | None = context["run"]
    # Nothing waits without an unfinished run: an old conversation takes six queries less.
    is_running = run is not None and run.is_unfinished
    scope = {"conversation_id": conversation.pk}
    rows = approvals.list_waiting(person_id, **scope) if is_running else []
    claims.attach_claims(rows)
    total_count = approvals.count_all_waiting(rows, person_id, conversation.pk)
    receipt_buffer.note_delivered(
        person_id, [row.pk for row in rows if not approvals.is_approval(row)]
    )
    read_count = read_marks.get_read_count(person_id, conversation.pk)
    is_live = is_running or bool(rejected_text)
    try:
        page = transcript.load_page(conversation, query, read_count=read_count, is_live=is_live)
    except UnknownAnchor as error:
        raise Http404(str(error)) from error
    is_document = _is_document(request)
    if is_document and _is_read_to_end(query, page) and read_count != conversation.entry_count:
        read_marks.record_read(person_id, conversation.pk, conversation.entry_count)
    context |= transcript.build_window_context(
        conversation, query, page
    ) | transcript.build_outline_context(conversation, page)
    context |= event_filter.build_filter_context(conversation, query)
    context |= _build_annotations(request, conversation, page)
    if is_document:
        shown_anchors = context["annotations"].threads.keys()
        mentions.mark_threads_seen(request.user, conversation.pk, shown_anchors)
    context |= {
        "list_query": find_list_query(request),
        "at_anchor": query.at,
        "state_counts": inquiries.count_by_state([conversation.pk]).get(conversation.pk, {}),
        "entry_count": conversation.entry_count,
        "unread_count": _count_unread(conversation, read_count, page),
        "pending_rows": rows,
        "pending_total": total_count,
        "hidden_count": max(total_count - len(rows), 0),
        "snoozed_rows": snoozes.list_snoozed(person_id, **scope) if is_running else [],
        "rejected_text": rejected_text,
    } | _build_export_context(request, conversation)
    return render(
        request, "conversations/detail.html", context, status=422 if rejected_text else 200
    )


def _build_export_context(request: Request, conversation: Conversation) -> dict[str, Any]:
    may_export = access.has_request_role(request, conversation.workspace_id, Role.AUDITOR)
    return {
        "formats": exports.FORMATS,
        "may_export": may_export,
        "masked_count": contents.count_masked_places([conversation.pk]).total()
        if may_export
        else 0,
    }


def _count_unread(conversation: Conversation, read_count: int | None, page: TranscriptPage) -> int:
    """Return the number of new events where some of them are below a page, else 0."""
    if read_count is None or not page.window.has_later:
        return 0
    return max(conversation.entry_count - read_count, 0)


def _is_read_to_end(query: TranscriptQuery, page: TranscriptPage) -> bool:
    """Tell whether a page reaches the end without a filter, which hides unread events."""
    return not query.show and not page.window.has_later


def _is_document(request: Request) -> bool:
    """Tell whether a browser shows the response as a page.

    One that a script fetches counts as unread until the script calls ``mark_read``.
    """
    return request.headers.get("Sec-Fetch-Dest", "document") == "document"


def _build_annotations(
    request: Request, conversation: Conversation, page: TranscriptPage
) -> dict[str, Any]:
    items = (line.item for line in page.lines)
    return annotation_blocks.build_page_context(
        request.user.pk, conversation, items, is_at_end=not page.window.has_later
    )


@access.conversation(Role.READER)
def show_turn_outline(request: Request, conversation: Conversation) -> HttpResponse:
    """Show the outline of one turn: its tool calls and questions."""
    query = TranscriptQuery.from_params(request.GET.dict())
    item_positions, remaining_count = turns.list_item_positions(conversation.pk, query.turn or 0)
    items = [
        item_place.item for item_place in windows.load_items(conversation.pk, item_positions).items
    ]
    context = {
        "conversation": conversation,
        "page_url": reverse("conversation", args=[conversation.pk]),
        "items": items,
        "remaining_count": remaining_count,
        "turn_number": query.turn or 0,
    }
    name = "_outline_items" if request.htmx else "outline"
    return render(request, f"conversations/{name}.html", context)


@require_POST
@access.conversation(Role.READER)
def mark_read(request: Request, conversation: Conversation) -> HttpResponse:
    """Save the person's read mark, at most the conversation's entry count."""
    entry_count = converters.parse_number(request.POST.get("entry_count"))
    if entry_count is None:
        return HttpResponse(notice_text.ENTRY_COUNT_INVALID, status=400)
    read_count = min(entry_count, conversation.entry_count)
    read_marks.record_read(request.user.pk, conversation.pk, read_count)
    return HttpResponse(status=204)


@access.conversation(Role.AUDITOR)
async def export_conversation(
    request: Request, conversation: Conversation, format_name: str
) -> HttpResponseBase:
    """Download a conversation in a format, with its comments where the query asks for them."""
    export_format = exports.FORMATS.get(format_name)
    if export_format is None:
        raise Http404
    has_comments = request.GET.get("comments") == "1"
    make_pieces = export_format.make_commented_pieces if has_comments else export_format.make_pieces
    if make_pieces is None:
        raise Http404
    suffix = f"{COMMENTED_SUFFIX if has_comments else ''}{export_format.suffix}"
    file_name = file_names.name_conversation_file(conversation, suffix)
    may_read = partial(access.has_role, request.user.pk, conversation.workspace_id, Role.AUDITOR)
    pieces = make_pieces(conversation)
    place = Place(conversation.workspace_id, conversation.pk)
    details = {"format": format_name, "file": file_name}
    if has_comments:
        details["comments"] = "included"
    record = partial(read_recording.record_export, request, place, **details)
    content_type = export_format.content_type
    return await send_file(request, pieces, file_name, content_type, may_read, record)


@take_form
@access.any_workspace(Role.RESPONDER)
async def start_conversation(request: Request) -> HttpResponse:
    """Show the form of a new conversation, or start it."""
    workspaces = await run_in_db_thread(accounts.list_workspaces, request.user.pk, Role.RESPONDER)
    form = NewConversationForm(workspaces, request.POST if request.method == "POST" else None)
    if form.is_valid():
        workspace, text = form.cleaned_data["workspace"], form.cleaned_data["text"]
        problem = (await run_in_db_thread(wiring.get_model_status, workspace)).problem
        if not problem:
            return await _create_conversation(request, workspace, text)
        refusal_text = notice_text.CONVERSATION_NOT_STARTED
        form.add_error(None, refusal_text.format(workspace=workspace.name, problem=problem))
    workspace_models = [
        (choice, await run_in_db_thread(wiring.get_model_status, choice)) for choice in workspaces
    ]
    context = {
        "workspace_models": workspace_models,
        "form": form,
        "scripted_names": [
            workspace.name for workspace, model_status in workspace_models if model_status.is_script
        ],
        "has_problems": any(model_status.problem for _, model_status in workspace_models),
    }
    status = 422 if form.errors else 200
    return await run_in_db_thread(render, request, "conversations/new.html", context, status=status)


async def _create_conversation(request: Request, workspace: Workspace, text: str) -> HttpResponse:
    """Create a conversation, start its first turn, and redirect to its page."""
    title = text.splitlines()[0][:MAX_TITLE_CHARS].replace("\x00", "")
    conversation = await run_in_db_thread(
        conversations.create_conversation, workspace, title, request.user.pk
    )
    try:
        await runs.start_turn(conversation, request.user, text, requires_role=True)
    except StoreError as error:
        messages.error(request, notice_text.TURN_NOT_STARTED.format(problem=error))
        return unsent_text.redirect_with_text(request, conversation, text)
    return redirect("conversation", conversation_id=conversation.pk)
