"""The conversation list, and changes to a conversation's metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urlencode, urlsplit

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import audit
from jpweb.store.choices import Role
from jpweb.store.conversation_list import paginator
from jpweb.store.conversation_list.filters import ListFilters, Sort
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import metadata_file, pass_progress
from jpweb.store.jp_files.metadata_file import MetadataChange
from jpweb.store.sql import keyset_merge
from jpweb.web import access, converters, display_text, notice_text
from jpweb.web.forms.conversation_forms import MetadataForm
from jpweb.web.forms.fields import find_problem
from jpweb.web.forms.filters.conversation_filters import ConversationFilterForm
from jpweb.web.http import require_POST
from jpweb.web.security import rate_limits

if TYPE_CHECKING:
    from jpweb.store.conversation_list.paginator import ConversationPage
    from jpweb.store.jp_files.pass_progress import FilesReport
    from jpweb.store.models import Conversation, Workspace
    from jpweb.web.http import Request

#: Changes and confirmations, by the button's action.
_BUTTON_CHANGES = {
    "pin": (MetadataChange(pinned=True), notice_text.CONVERSATION_PINNED),
    "unpin": (MetadataChange(pinned=False), notice_text.CONVERSATION_UNPINNED),
    "archive": (MetadataChange(archived=True), notice_text.CONVERSATION_ARCHIVED),
    "unarchive": (MetadataChange(archived=False), notice_text.CONVERSATION_UNARCHIVED),
}
#: Names of the fields that people fill in, by the action of their form.
_FIELDS_BY_ACTION = {"rename": "title", "label": "label"}


@access.signed_in
@rate_limits.limit_words(lambda request: request.GET.get("q", ""), rate_limits.TYPING_LIMIT)
def list_conversations(request: Request) -> HttpResponse:
    """List the conversations that the person may read; all filters are in the URL."""
    form = ConversationFilterForm(request.GET)
    filters = form.build_filters()
    page = paginator.get_page(request.user.pk, filters)
    _, older_label, newer_label = display_text.LIST_SORT_LABELS[filters.sort]
    params = _build_params(filters)
    context = {
        "page": page,
        "scan_limit": f"{keyset_merge.MAX_SCANNED_ROWS:,}",
        "filters": filters,
        "unknown_filters": form.list_unknown(),
        "has_more_filters": bool(params.keys() - {"q", "sort", "archived"}),
        "is_filtered": filters != ListFilters(sort=filters.sort, archived=filters.archived),
        "is_first_page": not (filters.before or filters.after),
        "answer_workspace_ids": set(paginator.list_workspace_ids(request.user.pk, Role.RESPONDER)),
        "page_links": [
            (label, f"?{urlencode(params | {name: key})}", rel)
            for label, name, key, rel in (
                (newer_label, "after", page.newer, "prev"),
                (older_label, "before", page.older, "next"),
            )
            if key
        ],
        "first_page_url": f"?{urlencode(params)}",
        "sorts": [
            (sort.value, labels[0]) for sort, labels in display_text.LIST_SORT_LABELS.items()
        ],
        "origins": [(origin.value, label) for origin, label in display_text.ORIGIN_LABELS.items()],
        "page_url": request.get_full_path(),
        "unread_workspaces": [] if _has_own_row(page) else _list_unread_workspaces(request),
    }
    name = "conversations/_list.html" if request.htmx else "conversations/index.html"
    return render(request, name, context)


def _has_own_row(page: ConversationPage) -> bool:
    """Tell whether a page lists a conversation that is not of the demo."""
    return any(not audit.is_demo(row.conversation.workspace) for row in page.rows)


def _list_unread_workspaces(
    request: Request,
) -> list[tuple[Workspace, FilesReport, bool]]:
    """Return the workspaces of the person whose files are not all read; True for an owner."""
    roles = access.get_roles(request)
    workspaces = access.list_workspaces(request, Role.READER)
    files_by_workspace = pass_progress.describe_files(workspaces)
    return [
        (workspace, files_by_workspace[workspace.pk], roles[workspace.pk] == Role.OWNER)
        for workspace in workspaces
        if files_by_workspace[workspace.pk].is_unsettled
    ]


@access.conversation(Role.RESPONDER)
def show_metadata_forms(request: Request, conversation: Conversation) -> HttpResponse:
    """Show the forms that change a conversation's title, labels, pin and archive state."""
    return _render_forms(request, conversation)


@require_POST
@access.conversation(Role.RESPONDER)
async def change_conversation(request: Request, conversation: Conversation) -> HttpResponse:
    """Change a conversation's metadata, publish the change, and redirect to the form's page.

    A refusal shows a form that was filled in again, with its text.
    """
    form, return_url = MetadataForm(request.POST), _find_return_url(request, conversation)
    try:
        requested_change, message = _parse_change(form, conversation)
        changed_row = await run_in_db_thread(
            metadata_file.apply_change, conversation.pk, requested_change
        )
    except StoreError as error:
        if _is_filled_in(form, return_url, conversation):
            return await run_in_db_thread(
                _render_refusal, request, conversation, form, str(error), return_url
            )
        messages.error(request, str(error))
        return redirect(return_url)
    # base.html makes a button to undo it of these tags: the address of the form.
    undo_url = request.path if requested_change.archived else ""
    messages.success(request, message, extra_tags=undo_url)
    await publisher.publish_conversation_changed(changed_row.pk)
    return redirect(return_url)


def _is_filled_in(form: MetadataForm, return_url: str, conversation: Conversation) -> bool:
    """Tell whether a form has a field and a page of the conversation: the list has buttons only."""
    page_urls = [
        reverse(name, args=[conversation.pk]) for name in ("conversation", "conversation-edit")
    ]
    return form.data.get("do") in _FIELDS_BY_ACTION and urlsplit(return_url).path in page_urls


def _render_refusal(
    request: Request, conversation: Conversation, form: MetadataForm, problem: str, return_url: str
) -> HttpResponse:
    """Render the forms with the text that was refused, and why; they lead back to their page."""
    action = form.data["do"]
    context = {
        "problem": problem,
        "refused_action": action,
        "refused_text": form.data.get(_FIELDS_BY_ACTION[action], ""),
        "page_url": urldefrag(return_url).url,
    }
    return _render_forms(request, conversation, context, status=422)


def _render_forms(
    request: Request,
    conversation: Conversation,
    extra_context: dict[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "conversation": conversation,
        "may_change": True,
        "page_url": request.get_full_path(),
        **(extra_context or {}),
    }
    return render(request, "conversations/edit.html", context, status=status)


def _parse_change(form: MetadataForm, conversation: Conversation) -> tuple[MetadataChange, str]:
    """Return the change that a form asks for, and its confirmation.

    Raises StoreError for a form that is not valid.
    """
    if not form.is_valid():
        raise StoreError(find_problem(form))
    title = conversation.title or display_text.UNTITLED
    action, label = form.cleaned_data["do"], form.cleaned_data["label"]
    if action in _BUTTON_CHANGES:
        requested_change, message = _BUTTON_CHANGES[action]
        return requested_change, message.format(title=title)
    if action == "rename":
        requested_change = metadata_file.make_title_change(form.cleaned_data["title"])
        new_title = requested_change.title or display_text.UNTITLED
        return requested_change, notice_text.CONVERSATION_RENAMED.format(title=new_title)
    if action == "label":
        requested_change = metadata_file.make_label_change(label)
        return requested_change, notice_text.LABEL_ADDED.format(label=label.strip(), title=title)
    requested_change = MetadataChange(removed_labels=frozenset([label]))
    return requested_change, notice_text.LABEL_REMOVED.format(label=label, title=title)


def _find_return_url(request: Request, conversation: Conversation) -> str:
    """Return the form's local URL with the anchor of the conversation's row; else its page."""
    return_url = converters.parse_local_url(request.POST.get("next", ""))
    page_url = reverse("conversation", args=[conversation.pk])
    return f"{return_url}#c{conversation.pk}" if return_url else page_url


def _build_params(filters: ListFilters) -> dict[str, str]:
    """Return the query parameters of filters, without the cursor."""
    params = {
        "q": filters.words,
        "workspace": str(filters.workspace or ""),
        "label": filters.label,
        "origin": filters.origin or "",
        "has": "problem" if filters.problem else "",
        "archived": "1" if filters.archived else "",
        "sort": "" if filters.sort == Sort.ACTIVITY else filters.sort,
    }
    return {name: str(value) for name, value in params.items() if value}
