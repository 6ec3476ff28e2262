"""Audit: a table of the decisions of all kinds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from jpweb.store import audit
from jpweb.store.choices import Act, DecisionKind, Role, SavedPage
from jpweb.store.database import clock
from jpweb.store.database.scan_limits import limit_scans
from jpweb.store.decision_filters.decision_places import DecisionCursor
from jpweb.store.inquiries import get_question_text
from jpweb.store.ledger import entry_subjects
from jpweb.store.ledger.entry_subjects import EntrySubjects
from jpweb.store.reviews import decisions, recorded_reviews
from jpweb.store.reviews.decisions import (
    POLICY_KINDS,
    Decision,
    DecisionFilters,
)
from jpweb.store.reviews.state_counts import StateCount
from jpweb.store.search import saved_searches
from jpweb.store.transcript import call_anchors
from jpweb.stream.markdown import outcome_texts
from jpweb.web import access, converters, display_text, transcript
from jpweb.web.forms.filters.decision_filters import DecisionFilterForm
from jpweb.web.forms.filters.inquiry_filters import format_question_query
from jpweb.web.labels import audit_labels, entry_labels
from jpweb.web.views.audit import decision_timeline, inquiry_table
from jpweb.web.views.audit.quick_ranges import list_ranges

if TYPE_CHECKING:
    from jpweb.store.models import Approval, Inquiry, LedgerEntry
    from jpweb.web.http import Request

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: The acts on an event, a question or a conversation, which their details do not name.
_ACTS_ON_CONTENT = frozenset({Act.REDACTED, Act.REVIEWED, Act.SUSPICION_DISMISSED})
#: The instant, the rank and the key of a row, in an address.
_CURSOR_PARTS = 3


@access.any_workspace(Role.AUDITOR)
@inquiry_table.limit_audit_words
@limit_scans()
def list_decisions(request: Request) -> HttpResponse:
    form = DecisionFilterForm(request.GET)
    status = 200 if form.is_valid() else 422
    filters = form.build_filters()
    row_place = _find_row(request, filters)
    after = _parse_cursor(request.GET.get("after", "")) or row_place
    page, next_cursor = decisions.list_page(request.user.pk, filters, after)
    workspaces = audit.sort_workspaces(access.list_workspaces(request, Role.AUDITOR))
    names = {workspace.pk: workspace.name for workspace in workspaces}
    query = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    omitted_count = decisions.count_omitted_calls(request.user.pk, filters)
    next_params = {"after": _format_cursor(next_cursor)} if next_cursor else {}
    rows = make_rows(request.user.pk, page, names)
    people = decisions.list_people(request.user.pk)
    context = {
        "form": form,
        "rows": rows,
        "days": decision_timeline.build_days(page, rows) if form.is_timeline else [],
        "view_links": _list_views(query),
        "ranges": list_ranges(clock.now().date(), query),
        "total": (
            decisions.count_decisions(request.user.pk, filters)
            if after or next_cursor
            else StateCount(len(page), is_least=False)
        ),
        "decider_kinds": audit_labels.DECIDER_KIND_LABELS,
        "kinds": DecisionKind.choices,
        "workspaces": workspaces,
        "conversation_title": audit.find_title(workspaces, filters.conversation),
        "has_demo": len(workspaces) > 1 and audit.is_demo(workspaces[-1]),
        "demo_query": (
            urlencode(query | {"demo": 1}) if audit.is_demo_left_out(workspaces, filters) else ""
        ),
        "saved_views": saved_searches.list_saved(request.user.pk, SavedPage.DECISIONS),
        "omitted_count": omitted_count,
        "max_counted": decisions.MAX_COUNTED_CALLS,
        "unattended_query": urlencode(query | {"unattended": 1}),
        "ends_scan": next_cursor is not None and next_cursor.ends_scan,
        "is_from_row": row_place is not None,
        "people": people,
        "deciders": sorted({*people.values(), *audit.list_decider_names(workspaces)}),
        "query": urlencode(query),
        "question_query": format_question_query(query, people),
        "export_query": urlencode({key: query[key] for key in query if key != "view"}),
        "next_query": urlencode(query | next_params) if next_params else "",
    }
    return render(request, "audit/decisions.html", context, status=status)


@access.approval(Role.READER)
def open_call(request: Request, approval: Approval) -> HttpResponse:  # noqa: ARG001  a view
    """Open the tool call of an approval in its transcript."""
    anchor = call_anchors.find_call_anchor(approval)
    return redirect(transcript.make_event_url(approval.conversation_id, anchor))


def _list_views(query: dict[str, str]) -> list[dict[str, Any]]:
    """Return the links of table and timeline, which keep the filters."""
    filters = {name: value for name, value in query.items() if name != "view"}
    return [
        {
            "label": label,
            "query": urlencode(filters | ({"view": name} if name else {})),
            "is_current": query.get("view", "") == name,
        }
        for name, label in audit_labels.DECISION_VIEW_LABELS
    ]


def _find_row(request: Request, filters: DecisionFilters) -> DecisionCursor | None:
    """Return the place before the row that an address names, as ``at=question-7``."""
    name, _, key = request.GET.get("at", "").partition("-")
    if name in POLICY_KINDS:
        anchor = converters.parse_anchor(key)
        return decisions.find_policy_place(request.user.pk, filters, name, anchor)
    return decisions.find_place(request.user.pk, filters, name, converters.parse_key(key))


def make_rows(
    person_id: int, page: list[Decision], workspace_names: dict[int, str]
) -> list[dict[str, Any]]:
    """Return the template values of the decisions of a page, as a person may see them."""
    entries = [cast("LedgerEntry", decision.row) for decision in page if decision.is_entry]
    reviews = recorded_reviews.load_shown_reviews(entries, person_id)
    subjects = entry_subjects.load_subjects(entries)
    values_by_entry = {
        row["entry"].pk: row | _describe_entry(row["entry"], row["event"], subjects)
        for row in entry_labels.make_rows(entries, workspace_names, reviews)
    }
    return [
        {"at": decision.cursor.at, "kind": decision.kind, "label": decision.kind.label}
        | _make_values(decision, values_by_entry)
        for decision in page
    ]


def _make_values(decision: Decision, values_by_entry: dict[int, dict[str, Any]]) -> dict[str, Any]:
    if decision.is_entry:
        values = values_by_entry[decision.row.pk]
        return values | {"anchor": values["event"] if decision.kind in POLICY_KINDS else ""}
    if decision.kind == DecisionKind.QUESTION:
        inquiry = cast("Inquiry", decision.row)
        url = transcript.make_event_url(inquiry.conversation_id, inquiry.anchor)
        channel = outcome_texts.ANSWER_CHANNELS.get(inquiry.channel, "")
        return {"inquiry": inquiry, "url": url, "channel": channel}
    return {"approval": decision.row, "url": reverse("approval-call", args=[decision.row.pk])}


def _describe_entry(entry: LedgerEntry, event: str, subjects: EntrySubjects) -> dict[str, Any]:
    question = entry_subjects.get_question(entry, subjects)
    return {
        "url": _find_url(entry, event),
        "subject": _describe_subject(entry, subjects, question),
        "inquiry_id": question.inquiry_id if question else "",
        "conversation": subjects.conversations.get(entry.conversation_id or 0),
    }


def _describe_subject(entry: LedgerEntry, subjects: EntrySubjects, question: Inquiry | None) -> str:
    """Return the question's text, else the event's kind; "" where the row names its subject."""
    if entry.act not in _ACTS_ON_CONTENT:
        return ""
    if question is not None:
        return get_question_text(question)
    if entry.subject.startswith("conversation:"):
        return audit_labels.CONVERSATION_SUBJECT
    kind = entry_subjects.get_event_kind(entry, subjects)
    return display_text.EVENT_KIND_LABELS.get(kind, kind)


def _find_url(entry: LedgerEntry, event: str) -> str:
    """Return the address of the subject of an entry's decision, else of the ledger's entries."""
    kind, _, key = entry.subject.partition(":")
    if event and entry.conversation_id:
        return transcript.make_event_url(entry.conversation_id, event)
    if kind == "inquiry":
        return reverse("question", args=[int(key)])
    if entry.act == Act.REVIEWED and entry.conversation_id:
        return reverse("conversation-reviews", args=[entry.conversation_id])
    query = urlencode({"act": entry.act, "workspace": entry.workspace_id})
    return f"{reverse('ledger')}?{query}"


def _format_cursor(cursor: DecisionCursor) -> str:
    return f"{(cursor.at - _EPOCH) // _MICROSECOND}.{cursor.rank}.{cursor.key}"


def _parse_cursor(text: str) -> DecisionCursor | None:
    """Return a place from an address; None, the newest, for an invalid one."""
    sign = -1 if text.startswith("-") else 1  # before 1970, as streams may say
    parts = text.removeprefix("-").split(".")
    numbers = [converters.parse_number(part, converters.MAX_KEY) for part in parts]
    if len(numbers) != _CURSOR_PARTS:
        return None
    microseconds, rank, key = numbers
    if microseconds is None or rank is None or key is None:
        return None
    try:
        return DecisionCursor(_EPOCH + sign * microseconds * _MICROSECOND, rank, key)
    except OverflowError:
        return None
