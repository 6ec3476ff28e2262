"""Audit: charts of the inquiries that the table's filters let through."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render

from jpweb.store import audit, inquiries
from jpweb.store.audit import AuditFilters
from jpweb.store.choices import Role
from jpweb.store.database import clock
from jpweb.store.reviews import inquiry_counts, waiting_percentiles
from jpweb.store.reviews.inquiry_counts import OpenAges, Period, Sample
from jpweb.web import access
from jpweb.web.forms.filters.inquiry_filters import InquiryFilterForm, format_decision_query
from jpweb.web.labels import audit_labels, chart_labels
from jpweb.web.views.audit import chart_figures, inquiry_table
from jpweb.web.views.audit.chart_figures import Figure, Links
from jpweb.web.views.audit.quick_ranges import list_ranges

if TYPE_CHECKING:
    from jpweb.web.http import Request


@access.any_workspace(Role.AUDITOR)
@inquiry_table.limit_audit_words
def show_charts(request: Request) -> HttpResponse:
    form = InquiryFilterForm(request.GET)
    status = 200 if form.is_valid() else 422
    filters = AuditFilters(**form.cleaned_data)
    query = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    valid_query = {name: value for name, value in query.items() if name in form.cleaned_data}
    sample = inquiry_counts.take_sample(request.user.pk, filters)
    ages = _count_ages(request.user.pk, filters)
    workspaces = audit.sort_workspaces(access.list_workspaces(request, Role.AUDITOR))
    accounts = audit.list_namesakes(workspaces, filters.person)
    period_counts = inquiry_counts.count_by_period(sample)
    links = Links(valid_query)
    context = {
        "figures": _build_figures(sample, period_counts.periods, filters, links),
        "undrawn_counts": chart_figures.list_undrawn(period_counts, links),
        "ages": ages and chart_figures.build_ages(ages),
        "open_query": (
            urlencode(valid_query | {"outcome": "open"}) if ages and any(ages.inquiries) else ""
        ),
        "sample": sample,
        "max_count": inquiry_counts.MAX_COUNTED_ROWS,
        "form": form,
        "page_name": "audit-charts",
        "filter_values": audit.list_filter_values(workspaces),
        "accounts": accounts,
        "workspaces": workspaces,
        "conversation_title": audit.find_title(workspaces, filters.conversation),
        "has_demo": len(workspaces) > 1 and audit.is_demo(workspaces[-1]),
        "demo_query": (
            urlencode(query | {"demo": 1}) if audit.is_demo_left_out(workspaces, filters) else ""
        ),
        "ranges": list_ranges(clock.now().date(), query),
        "states": inquiries.INQUIRY_STATES,
        "decider_kinds": audit_labels.DECIDER_KIND_LABELS,
        "query": urlencode(query),
        "export_query": urlencode(query),
        "question_query": urlencode(query),
        "decision_query": format_decision_query(query),
    }
    return render(request, "audit/charts.html", context, status=status)


def _build_figures(
    sample: Sample, periods: list[Period], filters: AuditFilters, links: Links
) -> dict[str, Figure]:
    """Return the figures by name; those without any data are left out."""
    reasons = inquiry_counts.count_reasons_by_tool(sample)
    hours = waiting_percentiles.measure_by_hour(sample)
    people = inquiry_counts.count_tools_by_person(sample)
    deciders = inquiry_counts.count_states_by_decider(sample)
    figures = {
        "outcomes": periods and chart_figures.build_outcomes(periods, filters, links),
        "reasons": reasons.rows and chart_figures.build_reasons(reasons, links),
        **_build_waits(sample),
        "hours": hours and chart_figures.build_hours(hours),
        "people": people.rows and chart_figures.build_people(people, links),
        "deciders": deciders.rows and chart_figures.build_deciders(deciders, links),
    }
    return {name: figure for name, figure in figures.items() if isinstance(figure, Figure)}


def _build_waits(sample: Sample) -> dict[str, Figure]:
    times_by_figure = {
        "workspaces": (
            waiting_percentiles.measure_by_workspace(sample), chart_labels.WORKSPACE_HEADING
        ),
        "tools": (waiting_percentiles.measure_by_tool(sample), chart_labels.TOOL_HEADING),
        "readers": (waiting_percentiles.measure_by_person(sample), chart_labels.PERSON_HEADING),
    }  # fmt: skip
    return {
        name: chart_figures.build_waits(times, heading)
        for name, (times, heading) in times_by_figure.items()
        if times
    }


def _count_ages(person_id: int, filters: AuditFilters) -> OpenAges | None:
    """Return the open questions and approvals by age; None where there are none."""
    ages = inquiry_counts.count_open_by_age(person_id, filters)
    return ages if any((*ages.inquiries, *ages.approvals)) else None
