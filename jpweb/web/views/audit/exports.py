"""Exports of the audit: filtered inquiries as JSON lines, evidence bundles, and their verifier."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from jpweb.evidence import bundle_script, ledger_verifier
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.evidence.bundle import BundleOrder, build_bundle
from jpweb.store import audit
from jpweb.store.audit import AuditFilters, ReviewedBatch
from jpweb.store.choices import Role
from jpweb.store.database import clock
from jpweb.store.errors import StoreError
from jpweb.store.evidence import contents
from jpweb.store.exports import ExportChunk
from jpweb.store.inquiries import waiting_seconds
from jpweb.store.ledger.entries import Place
from jpweb.store.reviews.exported_reviews import ExportedReview, ExportedReviews
from jpweb.web import access
from jpweb.web.forms.inquiry_filters import InquiryFilterForm
from jpweb.web.security import file_names, read_recording
from jpweb.web.security.download_responses import cut_into_pieces, send_file
from jpweb.web.views.audit import csv_export, inquiry_table

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request

_ZIP_TYPE = "application/zip"


@access.any_workspace(Role.AUDITOR)
async def export_json_lines(request: Request) -> HttpResponseBase:
    """Download all inquiries that match the filters, one JSON object a line."""
    form = InquiryFilterForm(request.GET)
    if not form.is_valid():
        return inquiry_table.refuse_filters(form)
    file_name = file_names.name_audit_file(request.GET, ".jsonl")
    filters = AuditFilters(**form.cleaned_data)
    batches = audit.read_batches(request.user.pk, filters)
    reviews = ExportedReviews(request.user.pk, filters)
    pieces = _make_json_lines(batches, csv_export.make_address_pattern(request), reviews)
    query = request.META["QUERY_STRING"]
    record = partial(read_recording.record_export, request, Place(), file=file_name, query=query)
    content_type = "application/jsonl; charset=utf-8"
    return await send_file(request, pieces, file_name, content_type, record=record)


@access.conversation(Role.AUDITOR)
async def export_conversation_evidence(
    request: Request, conversation: Conversation
) -> HttpResponseBase:
    """Download the evidence bundle of one conversation."""
    file_name = file_names.name_conversation_file(conversation, ".evidence.zip")
    place = Place(conversation.workspace_id, conversation.pk)
    filter_text = f"conversation jp-c{conversation.jp_id}"
    return await _send_bundle(request, [conversation.pk], filter_text, file_name, place)


@access.any_workspace(Role.AUDITOR)
async def export_audit_evidence(request: Request) -> HttpResponseBase:
    """Download one evidence bundle of all conversations with an inquiry that matches."""
    form = InquiryFilterForm(request.GET)
    if not form.is_valid():
        return inquiry_table.refuse_filters(form)
    filters = AuditFilters(**form.cleaned_data)
    try:
        keys = await run_in_db_thread(contents.list_conversation_ids, request.user.pk, filters)
    except StoreError as error:
        return HttpResponse(f"{error}\n", status=422, content_type="text/plain; charset=utf-8")
    query = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    file_name = file_names.name_audit_file(request.GET, ".zip", prefix="evidence")
    filter_text = urlencode(query) or "none"
    return await _send_bundle(request, keys, filter_text, file_name, Place())


@access.any_workspace(Role.AUDITOR)
async def download_bundle_verifier(request: Request) -> HttpResponseBase:
    """Download the script that verifies an evidence bundle."""
    pieces = cut_into_pieces(bundle_script.build_script().encode())
    return await send_file(
        request, pieces, bundle_script.SCRIPT_NAME, "text/x-python; charset=utf-8"
    )


async def _send_bundle(
    request: Request, keys: list[int], filter_text: str, file_name: str, place: Place
) -> HttpResponseBase:
    record = partial(
        read_recording.record_export,
        request,
        place,
        format="evidence",
        file=file_name,
        query=request.META["QUERY_STRING"],
    )
    order = BundleOrder(
        conversation_ids=keys,
        filter_text=filter_text,
        made_by=request.user.display_name,
        made_at=clock.now(),
        address=csv_export.make_address_pattern(request),
    )
    may_read = partial(contents.can_audit_all, request.user.pk, keys)
    return await send_file(request, build_bundle(order), file_name, _ZIP_TYPE, may_read, record)


def _make_json_lines(
    batches: Iterator[ReviewedBatch], address: str, reviews: ExportedReviews
) -> Iterator[ExportChunk]:
    """Yield the rows of the CSV with their types; ``address`` is that of a conversation."""
    for rows, done, total in batches:
        lines = []
        reviews_by_row = reviews.load_reviews(rows)
        for row in rows:
            cells = csv_export.make_csv_row(row, address)
            seconds = waiting_seconds(row)
            typed: dict[str, Any] = {
                "answer": row.answer,
                "settled_at": row.settled_at.isoformat() if row.settled_at else None,
                "waited_seconds": None if seconds is None else round(seconds, 3),
                "reviews": [
                    _describe_review(review) for review in reviews_by_row.get(row.pk, {}).values()
                ],
            }
            values = dict(zip(csv_export.CSV_COLUMNS, cells, strict=True)) | typed
            lines.append(ledger_verifier.encode_canonical(values) + "\n")
        yield ExportChunk("".join(lines).encode(), done, total)


def _describe_review(review: ExportedReview) -> dict[str, Any]:
    verdict_fields = {} if review.is_hidden else {"verdict": review.verdict, "note": review.note}
    return {
        "reviewer": review.reviewer.name,
        "round": review.round,
        "reviewed_at": review.reviewed_at.isoformat(),
        "is_hidden": review.is_hidden,
    } | verdict_fields
