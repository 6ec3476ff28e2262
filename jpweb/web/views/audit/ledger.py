"""The ledger: its entries, its signed head, its file, and readers of a person's conversations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from jpweb.evidence import ledger_verifier, scripts
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import audit
from jpweb.store.choices import Role
from jpweb.store.database.scan_limits import limit_scans
from jpweb.store.evidence import csv_rows
from jpweb.store.exports import ExportChunk
from jpweb.store.ledger import entry_macs, listing, retention, sealing, verification
from jpweb.store.ledger.listing import EntryBatch, LedgerFilters
from jpweb.web import access, converters, notice_text, transcript
from jpweb.web.forms.filters.ledger_filters import LedgerFilterForm
from jpweb.web.labels import entry_labels, ledger_cells, ledger_labels
from jpweb.web.security import file_names, read_recording
from jpweb.web.security.download_responses import cut_into_pieces, send_file
from jpweb.web.views.audit import inquiry_table

if TYPE_CHECKING:
    from jpweb.store.models import LedgerEntry, LedgerHead
    from jpweb.web.http import Request


@access.any_workspace(Role.AUDITOR)
@limit_scans()
def show_ledger(request: Request) -> HttpResponse:
    form = LedgerFilterForm(request.GET)
    status = 200 if form.is_valid() else 422
    before_key = converters.parse_key(request.GET.get("before", ""))
    entries = listing.list_entries(request.user.pk, LedgerFilters(**form.cleaned_data))
    rows, next_key = listing.get_page(entries, before_key)
    query = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    workspaces = access.list_workspaces(request, Role.AUDITOR)
    workspace_names = _name_workspaces(request)
    context = {
        "form": form,
        "rows": [
            row | _make_object_values(row["entry"], workspace_names)
            for row in entry_labels.make_rows(rows, workspace_names)
        ],
        "purged_before": retention.find_read_purge_time(),
        "head": sealing.get_head(),
        "forged_count": entry_macs.count_forged(),
        "key_changes": verification.list_key_changes(),
        "acts": tuple(ledger_labels.ACT_LABELS.items()),
        "workspaces": workspaces,
        "conversation_title": audit.find_title(workspaces, form.cleaned_data.get("conversation")),
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
async def export_entries_csv(request: Request) -> HttpResponseBase:
    """Download all entries that match the filters, as CSV."""
    return await _send_entries(request, ".csv", "text/csv; charset=utf-8")


@access.any_workspace(Role.AUDITOR)
async def export_entry_lines(request: Request) -> HttpResponseBase:
    """Download all entries that match the filters, one JSON object a line."""
    return await _send_entries(request, ".jsonl", "application/jsonl; charset=utf-8")


@access.any_workspace(Role.AUDITOR)
async def download_verifier(request: Request) -> HttpResponseBase:
    """Download the script that verifies a ledger file."""
    pieces = cut_into_pieces(scripts.build_ledger_script().encode())
    return await send_file(
        request, pieces, scripts.LEDGER_SCRIPT_NAME, "text/x-python; charset=utf-8"
    )


@access.signed_in
def show_readers(request: Request) -> HttpResponse:
    """Show other readers of a person's conversations, and exporters of lists of them.

    Those are the ones that the person started, and those in which they started a turn.
    """
    roles = access.get_roles(request).items()
    before_key = converters.parse_key(request.GET.get("before", ""))
    readers, next_key = listing.list_conversation_readers(request.user.pk, before_key)
    context = {
        "readers": readers,
        "next_key": next_key,
        "is_later_page": before_key > 0,
        "has_started_any": bool(readers) or listing.has_started_any(request.user.pk),
        "audited_ids": {key for key, role in roles if role.has_rights_of(Role.AUDITOR)},
        "purged_before": retention.find_read_purge_time(),
        "exporters": [] if before_key else listing.list_workspace_exporters(request.user.pk),
    }
    return render(request, "ledger/readers.html", context)


async def _send_entries(request: Request, suffix: str, content_type: str) -> HttpResponseBase:
    form = LedgerFilterForm(request.GET)
    if not form.is_valid():
        return inquiry_table.refuse_filters(form)
    filters = LedgerFilters(**form.cleaned_data)
    file_name = await run_in_db_thread(_name_entries, request, filters, suffix)
    host = request.build_absolute_uri("/").removesuffix("/")
    batches = _read_entries(request, filters, host)
    pieces = _make_csv(batches) if suffix == ".csv" else _make_lines(batches)
    record = partial(
        read_recording.record_workspace_exports,
        request,
        partial(listing.list_matching_workspaces, request.user.pk, filters),
        filters.conversation,
        file=file_name,
        query=read_recording.get_query(request),
    )
    return await send_file(request, pieces, file_name, content_type, record=record)


def _name_entries(request: Request, filters: LedgerFilters, suffix: str) -> str:
    names = audit.load_filter_names(request.user.pk, filters.workspace, filters.conversation)
    if filters.person is not None:
        names["person"] = listing.list_actors(request.user.pk).get(filters.person, "")
    return file_names.name_filtered_file("ledger", request.GET, names, suffix)


def _read_entries(
    request: Request, filters: LedgerFilters, host: str
) -> Iterator[tuple[list[dict[str, Any]], EntryBatch]]:
    """Yield the values of entries a batch at a time; the last one ends with the omissions."""
    names = _name_workspaces(request)
    for batch in listing.read_batches(request.user.pk, filters):
        values = [
            ledger_cells.make_values(row, _make_link(row["entry"], names, host))
            for row in entry_labels.make_rows(batch.entries, names)
        ]
        if batch.is_last:
            values.append(ledger_cells.make_last_line(batch))
        yield values, batch


def _name_workspaces(request: Request) -> dict[int, str]:
    """Return the names of all workspaces of the person by key.

    Their own entries may be of workspaces that they do not audit.
    """
    workspaces = access.list_workspaces(request, Role.READER)
    return {workspace.pk: workspace.name for workspace in workspaces}


def _make_link(entry: LedgerEntry, workspace_names: Mapping[int, str], host: str) -> str:
    """Return the address of the object of an entry; "" where the person may not open it."""
    values = _make_object_values(entry, workspace_names)
    return host + values["object_path"] if values["may_open"] and values["object_path"] else ""


def _make_csv(
    batches: Iterator[tuple[list[dict[str, Any]], EntryBatch]],
) -> Iterator[ExportChunk]:
    for number, (values, batch) in enumerate(batches):
        lines: list[Iterable[object]] = [ledger_cells.COLUMNS] if number == 0 else []
        lines += [ledger_cells.list_cells(row) for row in values]
        yield _make_chunk(csv_rows.write_rows(lines), batch)


def _make_lines(
    batches: Iterator[tuple[list[dict[str, Any]], EntryBatch]],
) -> Iterator[ExportChunk]:
    for values, batch in batches:
        lines = "".join(f"{ledger_verifier.encode_canonical(row)}\n" for row in values)
        yield _make_chunk(lines.encode("utf-8", "surrogatepass"), batch)


def _make_chunk(data: bytes, batch: EntryBatch) -> ExportChunk:
    return ExportChunk(data, batch.done, batch.done + (not batch.is_last))


def _seal_and_get_head() -> LedgerHead:
    sealing.seal_entries()
    return sealing.get_head()


def _make_object_values(entry: LedgerEntry, workspace_names: Mapping[int, str]) -> dict[str, Any]:
    """Return the template values of the object of an entry.

    ``workspace_names`` are those of the person's workspaces, by key: the others open nothing.
    """
    kind, path = _find_object(entry)
    return {
        "may_open": entry.workspace_id in workspace_names,
        "object_label": ledger_labels.OBJECT_LABELS.get(kind, ""),
        "object_path": path,
    }


def _find_object(entry: LedgerEntry) -> tuple[str, str]:
    """Return the kind of the object of an entry, and its path; both "" where it has no page."""
    kind, _, key = ("" if entry_macs.is_forged(entry) else entry.subject).partition(":")
    if kind == "inquiry" and key.isdecimal():
        return kind, reverse("question", args=[int(key)])
    if kind == "approval" and key.isdecimal():
        return kind, reverse("approval-call", args=[int(key)])
    if entry.conversation_id is None:
        return "", ""
    if kind == "event":
        return kind, transcript.make_event_url(entry.conversation_id, key)
    return "conversation", reverse("conversation", args=[entry.conversation_id])
