"""Audit: a table of all inquiries, filtered by query parameters, also as CSV."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.forms import Form
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import audit, inquiries
from jpweb.store.audit import AuditFilters
from jpweb.store.choices import Role, SavedPage
from jpweb.store.database import clock
from jpweb.store.reviews import exported_reviews, inquiry_pages, inquiry_ranges, state_counts
from jpweb.store.reviews.inquiry_pages import InquiryPage
from jpweb.store.reviews.inquiry_ranges import Order
from jpweb.store.reviews.state_counts import StateCount
from jpweb.store.search import saved_searches
from jpweb.web import access, converters, display_text
from jpweb.web.forms.filters.inquiry_filters import (
    InquiryFilterForm,
    format_decision_query,
)
from jpweb.web.labels import audit_labels
from jpweb.web.security import file_names, rate_limits, read_recording
from jpweb.web.security.download_responses import send_file
from jpweb.web.views.audit import csv_export
from jpweb.web.views.audit.inquiry_rows import (
    format_order,
    list_columns,
    make_rows,
    parse_order,
)
from jpweb.web.views.audit.quick_ranges import list_ranges

if TYPE_CHECKING:
    from jpweb.store.models import Workspace
    from jpweb.web.http import Request


limit_audit_words = rate_limits.limit_words(lambda request: request.GET.get("words", ""))


@access.any_workspace(Role.AUDITOR)
@limit_audit_words
def list_inquiries(request: Request) -> HttpResponse:
    form = InquiryFilterForm(request.GET)
    status = 200 if form.is_valid() else 422
    filters = AuditFilters(**form.cleaned_data)
    before_key = converters.parse_key(request.GET.get("before", ""))
    first_key = converters.parse_key(request.GET.get("at", ""))
    order = parse_order(request.GET.get("sort", ""))
    workspaces = audit.sort_workspaces(access.list_workspaces(request, Role.AUDITOR))
    shown_workspaces = audit.choose_workspaces(workspaces, filters)
    page, counts = _load_table(
        shown_workspaces, filters, order, first_key or before_key, has_first=bool(first_key)
    )
    query = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    sorting = {"sort": format_order(order)} if order != Order() else {}
    total = sum(count.number for count in counts.values())
    accounts = audit.list_namesakes(workspaces, filters.person)
    context = {
        "rows": make_rows(page.rows),
        "has_workspace": len(workspaces) > 1,
        "has_filter_link": not form["conversation"].value(),
        "columns": list_columns(order, query),
        "sort": sorting.get("sort", ""),
        "form": form,
        "bars": _build_bars(counts, query | sorting),
        "page_name": "audit",
        "filter_values": audit.list_filter_values(workspaces),
        "accounts": accounts,
        "workspaces": workspaces,
        "conversation_title": audit.find_title(workspaces, filters.conversation),
        "saved_views": saved_searches.list_saved(request.user.pk, SavedPage.AUDIT),
        "has_demo": len(workspaces) > 1 and audit.is_demo(workspaces[-1]),
        "ranges": list_ranges(clock.now().date(), query | sorting),
        "total": total,
        "is_least_total": any(count.is_least for count in counts.values()),
        "states": inquiries.INQUIRY_STATES,
        "decider_kinds": audit_labels.DECIDER_KIND_LABELS,
        "is_from_row": bool(first_key),
        "scan_limit": inquiry_ranges.MAX_SCANNED_ROWS if page.is_truncated else 0,
    }
    is_demo_left_out = audit.is_demo_left_out(workspaces, filters)
    context |= _format_queries(query, sorting, page.next_key, has_demo_query=is_demo_left_out)
    return render(request, "audit/index.html", context, status=status)


def _load_table(
    workspaces: list[Workspace], filters: AuditFilters, order: Order, key: int, *, has_first: bool
) -> tuple[InquiryPage, dict[str, StateCount]]:
    """Return a page of the table and the counts above it, which read the same range."""
    workspace_ids = [workspace.pk for workspace in workspaces]
    time_range = inquiry_ranges.narrow_by_time(workspace_ids, filters)
    page = inquiry_pages.load_page(workspaces, filters, time_range, order, key, has_first=has_first)
    return page, state_counts.count_by_state(workspace_ids, filters, time_range)


def _format_queries(
    query: dict[str, str], sorting: dict[str, str], next_key: int, *, has_demo_query: bool
) -> dict[str, str]:
    """Return the query strings of the page's links; those of links that it lacks are empty."""
    table_query = query | sorting
    return {
        "query": urlencode(table_query),
        "export_query": urlencode(query),
        "decision_query": format_decision_query(query),
        "next_query": urlencode(table_query | {"before": next_key}) if next_key else "",
        "demo_query": urlencode(table_query | {"demo": 1}) if has_demo_query else "",
    }


@access.any_workspace(Role.AUDITOR)
@limit_audit_words
async def export_csv(request: Request) -> HttpResponseBase:
    """Download all inquiries that match the filters, as CSV."""
    form = InquiryFilterForm(request.GET)
    if not form.is_valid():
        return refuse_filters(form)
    filters = AuditFilters(**form.cleaned_data)
    file_name = await run_in_db_thread(name_file, request, filters, "questions", ".csv")
    batches = audit.read_batches(request.user.pk, filters)
    pieces = csv_export.make_csv(
        batches,
        csv_export.make_address_pattern(request),
        exported_reviews.ExportedReviews(request.user.pk, filters),
    )
    record = make_export_recorder(request, filters, file_name)
    content_type = "text/csv; charset=utf-8"
    return await send_file(request, pieces, file_name, content_type, record=record)


def name_file(request: Request, filters: AuditFilters, prefix: str, suffix: str) -> str:
    """Return the name of a file of the inquiries that match filters."""
    names = audit.load_filter_names(request.user.pk, filters.workspace, filters.conversation)
    if filters.account is not None:
        workspaces = audit.list_workspaces(request.user.pk)
        user_names = audit.list_namesakes(workspaces, filters.person)
        names["account"] = user_names.get(filters.account, "")
    return file_names.name_filtered_file(prefix, request.GET, names, suffix)


def make_export_recorder(
    request: Request, filters: AuditFilters, file_name: str
) -> Callable[[], None]:
    """Return the function that records an export of the inquiries that match filters."""
    return partial(
        read_recording.record_workspace_exports,
        request,
        partial(audit.list_matching_workspaces, request.user.pk, filters),
        filters.conversation,
        file=file_name,
        query=read_recording.get_query(request),
    )


def refuse_filters(form: Form) -> HttpResponse:
    """Return the problems of a download's filters."""
    text = "\n".join(str(problem) for problems in form.errors.values() for problem in problems)
    return HttpResponse(text, status=422, content_type="text/plain; charset=utf-8")


def _build_bars(counts: dict[str, StateCount], query: dict[str, str]) -> list[dict[str, object]]:
    """Return one bar per outcome: its share of the most frequent one, and the link that filters."""
    max_count = max((count.number for count in counts.values()), default=0) or 1
    other_params = {key: value for key, value in query.items() if key != "outcome"}
    return [
        {
            "tag": tag,
            "label": display_text.STATE_LABELS[tag][0],
            "number": count.number,
            "is_least": count.is_least,
            "is_unknown": count.is_least and not count.number,
            "width": round(100 * count.number / max_count),
            "query": urlencode(other_params | {"outcome": tag}),
        }
        for tag, count in counts.items()
    ]
