"""Audit: every inquiry in one table, filtered by the URL, and the same as CSV."""

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
from jpweb.store.exports import Piece
from jpweb.store.terms import Role
from jpweb.web import access, numbers, words
from jpweb.web.security.downloads import send_file

if TYPE_CHECKING:
    from django.http import QueryDict

    from jpweb.web.http import Request

COLUMNS = (
    "asked_at", "workspace", "conversation", "conversation_title", "asker", "source", "question",
    "answer_type", "outcome", "reason", "answer", "decided_by", "decider", "settled_at",
    "waited_seconds", "link",
)  # fmt: skip
FILE_NAME = "inquiries.csv"
#: Stands for a conversation's key where a pattern is made.
_ANY_ID = 987_654_321
PLAIN = ("outcome", "reason", "source", "person")
#: A spreadsheet runs a cell that begins like this, in any width.
RISKY_SIGNS = frozenset("=+-@")
#: A cell that begins like this may be split, and its rest run.
RISKY_CONTROLS = ("\t", "\r", "\n")


@access.somewhere(Role.AUDITOR)
def index(request: Request) -> HttpResponse:
    filters, problems = _filters(request.GET)
    found = audit.find(request.user.pk, filters)
    before = request.GET.get("before", "")
    rows, following = audit.page(found, numbers.read(before, numbers.KEY) or 0)
    query = {key: request.GET[key] for key in (*PLAIN, "since", "until") if request.GET.get(key)}
    context = {
        "rows": rows,
        "problems": problems,
        "bars": _bars(audit.by_outcome(found), query),
        "choices": audit.choices(request.user.pk),
        "states": inquiries.STATES,
        "given": {key: request.GET.get(key, "") for key in (*PLAIN, "since", "until")},
        "query": urlencode(query),
        "following": urlencode(query | {"before": following}) if following else "",
        "continued": bool(before),
    }
    return render(request, "audit/index.html", context, status=422 if problems else 200)


@access.somewhere(Role.AUDITOR)
async def csv_file(request: Request) -> HttpResponseBase:
    """Download every inquiry that the filters of the address leave."""
    filters, problems = _filters(request.GET)
    if problems:
        return HttpResponse(
            "\n".join(problems), status=422, content_type="text/plain; charset=utf-8"
        )
    batches = audit.read_batches(request.user.pk, filters)
    pieces = _make_csv(batches, _make_address_pattern(request))
    return await send_file(request, pieces, FILE_NAME, "text/csv; charset=utf-8")


def _make_csv(batches: Iterator[ReviewedBatch], address: str) -> Iterator[Piece]:
    """Yield the file; ``address`` is the pattern of a permalink."""
    for number, (rows, done, total) in enumerate(batches):
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        if number == 0:
            writer.writerow(COLUMNS)
        writer.writerows([_cell(value) for value in _line(row, address)] for row in rows)
        yield Piece(text.getvalue().encode(), done, total)


def _make_address_pattern(request: Request) -> str:
    """Return the permalink of an inquiry as a pattern, so that no row resolves a route."""
    path = reverse("conversation", kwargs={"conversation_id": _ANY_ID})
    address = request.build_absolute_uri(path).replace("{", "{{").replace("}", "}}")
    head, _, tail = address.rpartition(str(_ANY_ID))
    return f"{head}{{0}}{tail}#{{1}}"


def _line(row: ReviewedInquiry, address: str) -> list[object]:
    waited = inquiries.waiting_time(row)
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
        "" if waited is None else f"{waited:.3f}",
        address.format(row.conversation_id, row.anchor),
    ]


def _cell(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text[:1].isascii() and text[:1].isalnum():
        return text
    return f"'{text}" if text.startswith(RISKY_CONTROLS) or _begins_formula(text) else text


def _begins_formula(text: str) -> bool:
    """Tell whether a formula's sign is the first character that a spreadsheet does not drop.

    Spaces, controls, a byte order mark and other characters without width may be dropped.
    """
    visible = (char for char in text if unicodedata.category(char)[0] not in "ZC")
    return unicodedata.normalize("NFKC", next(visible, ""))[:1] in RISKY_SIGNS


def _filters(given: QueryDict) -> tuple[audit.Filters, list[str]]:
    problems: list[str] = []
    outcome = given.get("outcome", "")
    if outcome and outcome not in inquiries.STATES:
        problems.append(f"Unknown outcome “{outcome}”. Use one of: {', '.join(inquiries.STATES)}.")
    since = _day(given.get("since", ""), "since", problems)
    until = _day(given.get("until", ""), "until", problems)
    filters = audit.Filters(
        outcome="" if problems else outcome,
        reason=given.get("reason", ""),
        source=given.get("source", ""),
        person=given.get("person", ""),
        since=since,
        until=until + timedelta(days=1) if until and until.date() < date.max else None,
    )
    return filters, problems


def _day(text: str, name: str, problems: list[str]) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        problems.append(f"“{name}” must be a date such as 2026-05-31, not “{text}”.")
        return None


def _bars(counts: dict[str, int], query: dict[str, str]) -> list[dict[str, object]]:
    """Return a bar an outcome: its share of the most frequent one, and the link that filters."""
    most = max(counts.values(), default=0) or 1
    rest = {key: value for key, value in query.items() if key != "outcome"}
    return [
        {
            "tag": tag,
            "word": words.STATES[tag][0],
            "count": count,
            "width": round(100 * count / most),
            "query": urlencode(rest | {"outcome": tag}),
        }
        for tag, count in counts.items()
    ]
