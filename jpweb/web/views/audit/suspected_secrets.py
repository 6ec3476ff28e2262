"""Suspected secrets: their list, one of them, its reveal and its dismissal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_variables

from jpweb.evidence import ledger_verifier
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import audit
from jpweb.store.choices import Role, SuspectedSecretState
from jpweb.store.evidence import csv_rows
from jpweb.store.exports import ExportChunk
from jpweb.store.suspected_secrets import suggestions
from jpweb.store.suspected_secrets.suggestions import NoteRepeatsText, NotSuspected
from jpweb.web import access, converters, notice_text, transcript
from jpweb.web.forms.suspected_secret_forms import DismissalForm, SuspectedSecretFilterForm
from jpweb.web.http import require_POST
from jpweb.web.labels import suspected_secret_labels
from jpweb.web.security import file_names, read_recording
from jpweb.web.security.download_responses import send_file
from jpweb.web.views.audit import csv_export, inquiry_table

if TYPE_CHECKING:
    from jpweb.store.models import SuspectedSecret
    from jpweb.store.suspected_secrets.suggestions import SecretContext
    from jpweb.web.http import Request

#: The columns of the list's file.
CSV_COLUMNS = (
    "kind", "found_at", "workspace", "conversation", "conversation_title", "event", "place",
    "state", "decided_at", "decider", "comment", "link",
)  # fmt: skip


@access.any_workspace(Role.AUDITOR)
def list_suggestions(request: Request) -> HttpResponse:
    form = SuspectedSecretFilterForm(request.GET)
    status = 200 if form.is_valid() else 422
    state = form.cleaned_data.get("state") or SuspectedSecretState.OPEN
    before_key = converters.parse_key(request.GET.get("before", ""))
    rows, next_key = suggestions.list_page(
        request.user.pk, state, form.cleaned_data.get("workspace"), before_key
    )
    query = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    context = {
        "form": form,
        "rows": rows,
        "state": state,
        "states": tuple(suspected_secret_labels.STATE_LABELS.items()),
        "workspaces": access.list_workspaces(request, Role.AUDITOR),
        "export_query": urlencode(query),
        "next_query": urlencode(query | {"before": next_key}) if next_key else "",
        "is_enabled": settings.DETECT_SECRETS,
    }
    return render(request, "suspected_secrets/index.html", context, status=status)


@access.any_workspace(Role.AUDITOR)
async def export_csv(request: Request) -> HttpResponseBase:
    """Download all rows of the list as CSV; none has the secret."""
    return await _send_suggestions(request, ".csv", "text/csv; charset=utf-8")


@access.any_workspace(Role.AUDITOR)
async def export_lines(request: Request) -> HttpResponseBase:
    """Download all rows of the list, one JSON object a line; none has the secret."""
    return await _send_suggestions(request, ".jsonl", "application/jsonl; charset=utf-8")


@access.suspected_secret(Role.AUDITOR)
def show_suspected_secret(request: Request, suggestion: SuspectedSecret) -> HttpResponse:
    return _render_suspected_secret(request, suggestion, suggestions.load_context(suggestion))


@require_POST
@access.suspected_secret(Role.AUDITOR)
@sensitive_variables("context")
def reveal_secret(request: Request, suggestion: SuspectedSecret) -> HttpResponse:
    """Show the secret in this response alone."""
    try:
        context = suggestions.reveal(suggestion, request.user)
    except NotSuspected as problem:
        messages.error(request, str(problem))
        return redirect("secret", suggestion.pk)
    return _render_suspected_secret(request, suggestion, context, is_revealed=True)


@require_POST
@access.suspected_secret(Role.AUDITOR)
async def dismiss_suspected_secret(request: Request, suggestion: SuspectedSecret) -> HttpResponse:
    """Show the text again, and tell the open pages of the conversation."""
    response = await run_in_db_thread(_dismiss, request, suggestion)
    await publisher.publish_conversation_changed(suggestion.conversation_id)
    return response


async def _send_suggestions(request: Request, suffix: str, content_type: str) -> HttpResponseBase:
    form = SuspectedSecretFilterForm(request.GET)
    if not form.is_valid():
        return inquiry_table.refuse_filters(form)
    state = form.cleaned_data.get("state") or SuspectedSecretState.OPEN
    workspace_id = form.cleaned_data.get("workspace")
    names = await run_in_db_thread(audit.load_filter_names, request.user.pk, workspace_id, None)
    query = request.GET.dict() | {"state": state}
    file_name = file_names.name_filtered_file("suspected-secrets", query, names, suffix)
    rows = (request.user.pk, state, workspace_id)
    record = partial(
        read_recording.record_workspace_exports,
        request,
        partial(suggestions.list_workspace_ids, *rows),
        file=file_name,
        query=read_recording.get_query(request),
    )
    make_pieces = _make_csv if suffix == ".csv" else _make_lines
    pieces = make_pieces(suggestions.read_pages(*rows), csv_export.make_address_pattern(request))
    return await send_file(request, pieces, file_name, content_type, record=record)


def _make_csv(
    pages: Iterator[tuple[list[SuspectedSecret], int, bool]], address: str
) -> Iterator[ExportChunk]:
    for number, (rows, done_count, is_last) in enumerate(pages):
        lines: list[Iterable[object]] = [CSV_COLUMNS] if number == 0 else []
        lines += [_list_cells(row, address) for row in rows]
        yield ExportChunk(csv_rows.write_rows(lines), done_count, done_count + (not is_last))


def _make_lines(
    pages: Iterator[tuple[list[SuspectedSecret], int, bool]], address: str
) -> Iterator[ExportChunk]:
    """Yield the rows of the CSV as JSON; ``address`` is that of a conversation."""
    for rows, done_count, is_last in pages:
        lines = (dict(zip(CSV_COLUMNS, _list_cells(row, address), strict=True)) for row in rows)
        text = "".join(f"{ledger_verifier.encode_canonical(line)}\n" for line in lines)
        yield ExportChunk(text.encode(), done_count, done_count + (not is_last))


def _list_cells(row: SuspectedSecret, address: str) -> list[object]:
    return [
        row.kind,
        row.at.isoformat(),
        row.conversation.workspace.name,
        f"jp-c{row.conversation.jp_id}",
        row.conversation.title,
        row.position,
        row.place,
        row.state,
        row.decided_at.isoformat() if row.decided_at else "",
        row.decided_by.display_name if row.decided_by else "",
        row.note,
        address.format(row.conversation_id) + transcript.format_event_query(row.anchor),
    ]


def _dismiss(request: Request, suggestion: SuspectedSecret) -> HttpResponse:
    form = DismissalForm(request.POST)
    if not form.is_valid():
        context = suggestions.load_context(suggestion)
        return _render_suspected_secret(request, suggestion, context, form=form)
    try:
        count = suggestions.dismiss(suggestion, request.user, form.cleaned_data["note"])
    except NoteRepeatsText as problem:
        form = DismissalForm({"note": problem.note})
        form.add_error("note", str(problem))
        context = suggestions.load_context(suggestion)
        return _render_suspected_secret(request, suggestion, context, form=form)
    except NotSuspected as problem:
        messages.error(request, str(problem))
        return redirect("secret", suggestion.pk)
    text = notice_text.SUSPICION_DISMISSED if count == 1 else notice_text.SUSPICIONS_DISMISSED
    messages.success(request, text.format(count=count))
    return redirect("secrets")


@sensitive_variables("context")
def _render_suspected_secret(
    request: Request,
    suggestion: SuspectedSecret,
    context: SecretContext | None,
    *,
    form: DismissalForm | None = None,
    is_revealed: bool = False,
) -> HttpResponse:
    values = {
        "suggestion": suggestion,
        "state_label": suspected_secret_labels.STATE_LABELS[suggestion.state],
        "is_open": suggestion.state == SuspectedSecretState.OPEN,
        "context": context,
        "is_revealed": is_revealed,
        "same_count": suggestions.count_same(suggestion),
        "form": form or DismissalForm(),
    }
    return render(request, "suspected_secrets/secret.html", values, status=422 if form else 200)
