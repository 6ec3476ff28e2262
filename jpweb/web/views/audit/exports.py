"""Exports of the audit: filtered inquiries as JSON lines, evidence bundles, and their verifier."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from jpweb.evidence import ledger_verifier, scripts
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.evidence.bundle import BundleOrder, build_bundle
from jpweb.store import audit
from jpweb.store.audit import AuditFilters, ReviewedBatch
from jpweb.store.choices import Role
from jpweb.store.database import clock
from jpweb.store.errors import StoreError
from jpweb.store.evidence import contents, csv_rows
from jpweb.store.exports import ExportChunk
from jpweb.store.inquiries import get_waiting_seconds
from jpweb.store.reviews import decisions, inquiry_pages
from jpweb.store.reviews.decisions import DecisionFilters
from jpweb.store.reviews.exported_reviews import ExportedReviews
from jpweb.web import access
from jpweb.web.forms.filters.decision_filters import DecisionFilterForm
from jpweb.web.forms.filters.inquiry_filters import InquiryFilterForm
from jpweb.web.labels import decision_cells
from jpweb.web.security import file_names, read_recording
from jpweb.web.security.download_responses import cut_into_pieces, send_file
from jpweb.web.views.audit import csv_export, decision_table, inquiry_table

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request

_ZIP_TYPE = "application/zip"


@access.any_workspace(Role.AUDITOR)
@inquiry_table.limit_audit_words
async def export_json_lines(request: Request) -> HttpResponseBase:
    """Download all inquiries that match the filters, one JSON object a line."""
    form = InquiryFilterForm(request.GET)
    if not form.is_valid():
        return inquiry_table.refuse_filters(form)
    filters = AuditFilters(**form.cleaned_data)
    file_name = await run_in_db_thread(
        inquiry_table.name_file, request, filters, "questions", ".jsonl"
    )
    batches = audit.read_batches(request.user.pk, filters)
    reviews = ExportedReviews(request.user.pk, filters)
    pieces = _make_json_lines(batches, csv_export.make_address_pattern(request), reviews)
    record = inquiry_table.make_export_recorder(request, filters, file_name)
    content_type = "application/jsonl; charset=utf-8"
    return await send_file(request, pieces, file_name, content_type, record=record)


@access.any_workspace(Role.AUDITOR)
@inquiry_table.limit_audit_words
async def export_decisions_csv(request: Request) -> HttpResponseBase:
    """Download all decisions that match the filters, as CSV."""
    return await _send_decisions(request, ".csv", "text/csv; charset=utf-8")


@access.any_workspace(Role.AUDITOR)
@inquiry_table.limit_audit_words
async def export_decision_lines(request: Request) -> HttpResponseBase:
    """Download all decisions that match the filters, one JSON object a line."""
    return await _send_decisions(request, ".jsonl", "application/jsonl; charset=utf-8")


@access.conversation(Role.AUDITOR)
async def export_conversation_evidence(
    request: Request, conversation: Conversation
) -> HttpResponseBase:
    """Download the evidence bundle of one conversation."""
    file_name = file_names.name_conversation_file(conversation, ".evidence.zip")
    filter_text = f"conversation jp-c{conversation.jp_id}"
    return await _send_bundle(request, [conversation.pk], filter_text, file_name)


@access.any_workspace(Role.AUDITOR)
@inquiry_table.limit_audit_words
async def export_audit_evidence(request: Request) -> HttpResponseBase:
    """Download one evidence bundle of all conversations with an inquiry that matches."""
    form = InquiryFilterForm(request.GET)
    if not form.is_valid():
        return inquiry_table.refuse_filters(form)
    filters = AuditFilters(**form.cleaned_data)
    list_keys = partial(contents.list_conversation_ids, request.user.pk, filters)
    query = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    file_name = await run_in_db_thread(
        inquiry_table.name_file, request, filters, "evidence", ".zip"
    )
    filter_text = urlencode(query) or "none"
    return await send_filtered_bundle(request, list_keys, filter_text, file_name)


@access.any_workspace(Role.AUDITOR)
@inquiry_table.limit_audit_words
async def export_decisions_evidence(request: Request) -> HttpResponseBase:
    """Download one evidence bundle of all conversations with a decision that matches."""
    form = DecisionFilterForm(request.GET)
    if not form.is_valid():
        return inquiry_table.refuse_filters(form)
    filters = form.build_filters()
    list_keys = partial(contents.list_decided_conversation_ids, request.user.pk, filters)
    query = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    filter_text = f"decisions, {urlencode(query) or 'no filter'}"
    file_name = await run_in_db_thread(_name_decisions, request, filters, ".evidence.zip")
    return await send_filtered_bundle(request, list_keys, filter_text, file_name)


@access.any_workspace(Role.AUDITOR)
async def download_bundle_verifier(request: Request) -> HttpResponseBase:
    """Download the script that verifies an evidence bundle."""
    pieces = cut_into_pieces(scripts.build_bundle_script().encode())
    return await send_file(
        request, pieces, scripts.BUNDLE_SCRIPT_NAME, "text/x-python; charset=utf-8"
    )


async def send_filtered_bundle(
    request: Request, list_keys: Callable[[], list[int]], filter_text: str, file_name: str
) -> HttpResponseBase:
    """Send the bundle of several conversations; ``list_keys`` may raise StoreError."""
    try:
        keys = await run_in_db_thread(list_keys)
    except StoreError as error:
        return HttpResponse(f"{error}\n", status=422, content_type="text/plain; charset=utf-8")
    return await _send_bundle(request, keys, filter_text, file_name)


async def _send_bundle(
    request: Request, keys: list[int], filter_text: str, file_name: str
) -> HttpResponseBase:
    record = partial(read_recording.record_bundle, request, keys, file_name)
    order = BundleOrder(
        conversation_ids=keys,
        filter_text=filter_text,
        made_by=request.user.display_name,
        made_at=clock.now(),
        address=csv_export.make_address_pattern(request),
    )
    may_read = partial(contents.can_audit_all, request.user.pk, keys)
    return await send_file(request, build_bundle(order), file_name, _ZIP_TYPE, may_read, record)


async def _send_decisions(request: Request, suffix: str, content_type: str) -> HttpResponseBase:
    form = DecisionFilterForm(request.GET)
    if not form.is_valid():
        return inquiry_table.refuse_filters(form)
    host = request.build_absolute_uri("/").removesuffix("/")
    filters = form.build_filters()
    file_name = await run_in_db_thread(_name_decisions, request, filters, suffix)
    values = _read_decisions(request.user.pk, filters, host)
    pieces = _make_decisions_csv(values) if suffix == ".csv" else _make_decision_lines(values)
    record = partial(
        read_recording.record_workspace_exports,
        request,
        partial(decisions.list_matching_workspaces, request.user.pk, filters),
        filters.conversation,
        file=file_name,
        query=read_recording.get_query(request),
    )
    return await send_file(request, pieces, file_name, content_type, record=record)


def _name_decisions(request: Request, filters: DecisionFilters, suffix: str) -> str:
    names = audit.load_filter_names(request.user.pk, filters.workspace, filters.conversation)
    if filters.person is not None:
        names["person"] = decisions.list_people(request.user.pk).get(filters.person, "")
    return file_names.name_filtered_file("decisions", request.GET, names, suffix)


def _read_decisions(
    person_id: int, filters: DecisionFilters, host: str
) -> Iterator[tuple[list[dict[str, Any]], int, int]]:
    """Yield the values of decisions a page at a time, with the rows done, and at least so many."""
    names = {workspace.pk: workspace.name for workspace in audit.list_workspaces(person_id)}
    done_count = 0
    for page, is_last in decisions.read_pages(person_id, filters):
        rows = [
            decision_cells.make_values(row)
            for row in decision_table.make_rows(person_id, page, names)
        ]
        done_count += len(rows)
        yield (
            [row | {"link": f"{host}{row['link']}"} for row in rows],
            done_count,
            done_count + (not is_last),
        )


def _make_decisions_csv(
    pages: Iterator[tuple[list[dict[str, Any]], int, int]],
) -> Iterator[ExportChunk]:
    for number, (rows, done_count, total) in enumerate(pages):
        lines: list[Iterable[object]] = [decision_cells.COLUMNS] if number == 0 else []
        lines += [[row[name] for name in decision_cells.COLUMNS] for row in rows]
        yield ExportChunk(csv_rows.write_rows(lines), done_count, total)


def _make_decision_lines(
    pages: Iterator[tuple[list[dict[str, Any]], int, int]],
) -> Iterator[ExportChunk]:
    for rows, done_count, total in pages:
        lines = "".join(f"{ledger_verifier.encode_canonical(row)}\n" for row in rows)
        yield ExportChunk(lines.encode(), done_count, total)


def _make_json_lines(
    batches: Iterator[ReviewedBatch], address: str, reviews: ExportedReviews
) -> Iterator[ExportChunk]:
    """Yield the rows of the CSV with their types; ``address`` is that of a conversation."""
    for rows, done_count, total in batches:
        lines = []
        reviews_by_row = reviews.load_reviews(rows)
        for row, values in csv_export.make_csv_rows(rows, address):
            seconds = get_waiting_seconds(row)
            json_values: dict[str, Any] = {
                "answer": row.answer,
                "settled_at": row.settled_at.isoformat() if row.settled_at else None,
                "waited_seconds": None if seconds is None else round(seconds, 3),
                "reviews": csv_export.describe_reviews(reviews_by_row.get(row.pk, {})),
            }
            attempt = inquiry_pages.parse_attempt(row.inquiry_id)
            json_values["decider_id"] = row.decider_id
            json_values["attempt"] = int(attempt) if attempt else None
            lines.append(ledger_verifier.encode_canonical(values | json_values) + "\n")
        yield ExportChunk("".join(lines).encode(), done_count, total)
