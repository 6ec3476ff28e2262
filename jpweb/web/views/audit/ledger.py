"""The ledger: its entries, its signed head, its file, and who read a person's conversations."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from jpweb.evidence import scripts
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import accounts
from jpweb.store.choices import Role
from jpweb.store.ledger import entry_macs, listing, sealing, verification
from jpweb.store.ledger.listing import LedgerFilters
from jpweb.web import access, converters, notice_text
from jpweb.web.forms.filters.ledger_filters import LedgerFilterForm
from jpweb.web.labels import entry_labels, ledger_labels
from jpweb.web.security import file_names, read_recording
from jpweb.web.security.download_responses import cut_into_pieces, send_file

if TYPE_CHECKING:
    from jpweb.store.models import LedgerEntry, LedgerHead
    from jpweb.web.http import Request


@access.any_workspace(Role.AUDITOR)
def show_ledger(request: Request) -> HttpResponse:
    form = LedgerFilterForm(request.GET)
    status = 200 if form.is_valid() else 422
    before = converters.parse_key(request.GET.get("before", ""))
    entries = listing.list_entries(request.user.pk, LedgerFilters(**form.cleaned_data))
    rows, next_key = listing.get_page(entries, before)
    query = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    workspaces = accounts.list_workspaces(request.user.pk, Role.AUDITOR)
    workspace_names = {workspace.pk: workspace.name for workspace in workspaces}
    context = {
        "form": form,
        "rows": [
            row | _make_object_values(row["entry"], access.get_roles(request))
            for row in entry_labels.make_rows(rows, workspace_names)
        ],
        "head": sealing.get_head(),
        "forged_count": entry_macs.count_forged(),
        "key_changes": verification.list_key_changes(),
        "acts": tuple(ledger_labels.ACT_LABELS.items()),
        "workspaces": workspaces,
        "people": listing.list_actors(request.user.pk),
        "query": urlencode(query),
        "next_query": urlencode(query | {"before": next_key}) if next_key else "",
        "verifier_name": scripts.LEDGER_SCRIPT_NAME,
        "file_name": file_names.name_filtered_file("ledger-whole", {}, {}, ".jsonl"),
    }
    return render(request, "ledger/index.html", context, status=status)


@access.any_workspace(Role.AUDITOR)
async def download_ledger(request: Request) -> HttpResponseBase:
    """Download all entries that the person may see, and the hashes of the others."""
    head = await run_in_db_thread(_seal_and_get_head)
    if head.signed_at is None:
        raise Http404(notice_text.LEDGER_EMPTY)
    file_name = file_names.name_filtered_file("ledger-whole", {}, {}, ".jsonl")
    list_workspace_ids = partial(listing.list_audited_workspaces, request.user.pk)
    record = partial(
        read_recording.record_workspace_exports, request, list_workspace_ids, file=file_name
    )
    pieces = listing.make_ledger_file(request.user.pk)
    content_type = "application/jsonl; charset=utf-8"
    return await send_file(request, pieces, file_name, content_type, record=record)


@access.any_workspace(Role.AUDITOR)
async def download_verifier(request: Request) -> HttpResponseBase:
    """Download the script that verifies a ledger file."""
    pieces = cut_into_pieces(scripts.build_ledger_script().encode())
    return await send_file(
        request, pieces, scripts.LEDGER_SCRIPT_NAME, "text/x-python; charset=utf-8"
    )


@access.signed_in
def show_readers(request: Request) -> HttpResponse:
    """Show who else opened the conversations that the person started, or exported lists of them."""
    before = converters.parse_key(request.GET.get("before", ""))
    readers, next_key = listing.list_conversation_readers(request.user.pk, before)
    context = {
        "readers": readers,
        "next_key": next_key,
        "is_later_page": before > 0,
        "exporters": [] if before else listing.list_workspace_exporters(request.user.pk),
    }
    return render(request, "ledger/readers.html", context)


def _seal_and_get_head() -> LedgerHead:
    sealing.seal_entries()
    return sealing.get_head()


def _make_object_values(entry: LedgerEntry, roles: dict[int, Role]) -> dict[str, Any]:
    """Return the template values of the object of an entry.

    ``roles`` are those of the person in their workspaces, by key: the others open nothing.
    """
    kind, _, key = ("" if entry_macs.is_forged(entry) else entry.subject).partition(":")
    return {
        "may_open": (entry.workspace_id or 0) in roles,
        "inquiry_id": int(key) if kind == "inquiry" else None,
    }
