"""Audit: a table of all inquiries, filtered by query parameters, also as CSV."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from jpweb.store import audit, inquiries
from jpweb.store.audit import ReviewedBatch, ReviewedInquiry
from jpweb.store.choices import Role
from jpweb.store.exports import ExportChunk
from jpweb.web import access, converters, display_text
from jpweb.web.security.download_responses import send_file

if TYPE_CHECKING:
    from django.http import QueryDict

    from jpweb.web.http import Request

CSV_COLUMNS = (
    "asked_at", "workspace", "conversation", "conversation_title", "asker", "source", "question",
    "answer_type", "outcome", "reason", "answer", "decided_by", "decider", "settled_at",
    "waited_seconds", "link",
)  # fmt: skip
CSV_FILE_NAME = "inquiries.csv"
#: Placeholder of a conversation's key while the pattern of the permalink is built.
_PLACEHOLDER_ID = 987_654_321
FILTER_NAMES = ("outcome", "reason", "source", "person")
#: CSV injection: spreadsheets evaluate a cell that begins with one of these, full-width forms too.
RISKY_SIGNS = frozenset("=+-@")
#: Spreadsheets may split a cell at one of these, and evaluate the rest.
RISKY_CONTROLS = ("\t", "\r", "\n")


@access.any_workspace(Role.AUDITOR)
def list_inquiries(request: Request) -> HttpResponse:
    filters, problems = _parse_filters(request.GET)
    matches = audit.list_inquiries(request.user.pk, filters)
    before = request.GET.get("before", "")
    rows, next_cursor = audit.get_page(
        matches, converters.parse_number(before, converters.MAX_KEY) or 0
    )
    query = {
        key: request.GET[key] for key in (*FILTER_NAMES, "since", "until") if request.GET.get(key)
    }
    context = {
        "rows": rows,
        "problems": problems,
        "bars": _build_bars(audit.count_by_state(matches), query),
        "choices": audit.list_filter_values(request.user.pk),
        "states": inquiries.INQUIRY_STATES,
        "given": {key: request.GET.get(key, "") for key in (*FILTER_NAMES, "since", "until")},
        "query": urlencode(query),
        "following": urlencode(query | {"before": next_cursor}) if next_cursor else "",
        "continued": bool(before),
    }
    return render(request, "audit/index.html", context, status=422 if problems else 200)


@access.any_workspace(Role.AUDITOR)
async def export_csv(request: Request) -> HttpResponseBase:
    """Download all inquiries that match the filters, as CSV."""
    filters, problems = _parse_filters(request.GET)
    if problems:
        return HttpResponse(
            "\n".join(problems), status=422, content_type="text/plain; charset=utf-8"
        )
    batches = audit.read_batches(request.user.pk, filters)
    pieces = _make_csv(batches, _make_address_pattern(request))
    return await send_file(request, pieces, CSV_FILE_NAME, "text/csv; charset=utf-8")


def _make_csv(batches: Iterator[ReviewedBatch], address: str) -> Iterator[ExportChunk]:
    """Yield the file; ``address`` is the pattern of a permalink."""
    for number, (rows, done, total) in enumerate(batches):
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        if number == 0:
            writer.writerow(CSV_COLUMNS)
        writer.writerows(
            [_escape_cell(value) for value in _make_csv_row(row, address)] for row in rows
        )
        yield ExportChunk(text.getvalue().encode(), done, total)


def _make_address_pattern(request: Request) -> str:
    """Return a format string of permalinks, so that rows need no URL resolution."""
    path = reverse("conversation", kwargs={"conversation_id": _PLACEHOLDER_ID})
    address = request.build_absolute_uri(path).replace("{", "{{").replace("}", "}}")
    head, _, tail = address.rpartition(str(_PLACEHOLDER_ID))
    return f"{head}{{0}}{tail}#{{1}}"


def _make_csv_row(row: ReviewedInquiry, address: str) -> list[object]:
    waited_seconds = inquiries.waiting_seconds(row)
    return [
        row.asked_at.isoformat(),
        row.workspace_name,
        f"jp-c{row.jp_id}",
        row.conversation_title,
        row.asker,
        row.source,
        row.question["text"],
        row.answer_type,
        row.state,
        row.reason,
        "" if row.answer is None else row.answer,
        row.decided_by,
        row.decider_name,
        row.settled_at.isoformat() if row.settled_at else "",
        "" if waited_seconds is None else f"{waited_seconds:.3f}",
        address.format(row.conversation_id, row.anchor),
    ]


def _escape_cell(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text[:1].isascii() and text[:1].isalnum():
        return text
    return f"'{text}" if text.startswith(RISKY_CONTROLS) or _begins_formula(text) else text


def _begins_formula(text: str) -> bool:
    """Tell whether the first character that a spreadsheet keeps is one of ``RISKY_SIGNS``.

    It may drop spaces, controls, a byte order mark and other zero-width characters.
    """
    visible = (char for char in text if unicodedata.category(char)[0] not in "ZC")
    return unicodedata.normalize("NFKC", next(visible, ""))[:1] in RISKY_SIGNS


def _parse_filters(params: QueryDict) -> tuple[audit.AuditFilters, list[str]]:
    problems: list[str] = []
    outcome = params.get("outcome", "")
    if outcome and outcome not in inquiries.INQUIRY_STATES:
        problems.append(
            f"Unknown outcome “{outcome}”. Use one of: {', '.join(inquiries.INQUIRY_STATES)}."
        )
    since = _parse_day(params.get("since", ""), "since", problems)
    until = _parse_day(params.get("until", ""), "until", problems)
    filters = audit.AuditFilters(
        outcome="" if problems else outcome,
        reason=params.get("reason", ""),
        source=params.get("source", ""),
        person=params.get("person", ""),
        since=since,
        until=until + timedelta(days=1) if until and until.date() < date.max else None,
    )
    return filters, problems


def _parse_day(text: str, name: str, problems: list[str]) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        problems.append(f"“{name}” must be a date such as 2026-05-31, not “{text}”.")
        return None


def _build_bars(counts: dict[str, int], query: dict[str, str]) -> list[dict[str, object]]:
    """Return one bar per outcome: its share of the most frequent one, and the link that filters."""
    max_count = max(counts.values(), default=0) or 1
    other_params = {key: value for key, value in query.items() if key != "outcome"}
    return [
        {
            "tag": tag,
            "word": display_text.STATE_LABELS[tag][0],
            "count": count,
            "width": round(100 * count / max_count),
            "query": urlencode(other_params | {"outcome": tag}),
        }
        for tag, count in counts.items()
    ]
