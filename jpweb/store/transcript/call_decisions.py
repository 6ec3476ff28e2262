"""Finds the approvals of tool calls: one query for all calls of a page or a batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from django.db.models import QuerySet, Value

from jpweb.store import db_text
from jpweb.store.choices import SETTLED_STATES, ApprovalState
from jpweb.store.models import Approval
from jpweb.store.sql import bulk
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.stream.transcript.items import ToolCall

#: Approvals that are read for a page; a hostile run may have asked for thousands.
MAX_PAGE_APPROVALS = 500
#: Events may have a timestamp of whole seconds, approvals have microseconds.
_EVENT_PRECISION = timedelta(seconds=1)
#: The last time, also of calls that have no result yet.
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)


class CallDecision(NamedTuple):
    """The columns of an approval that the row and the fold of its call show."""

    pk: int
    kind: str
    tool_call_id: str
    state: str
    decision: dict[str, Any] | None
    decider_name: str
    asked_at: datetime
    settled_at: datetime | None


class _Span(NamedTuple):
    """The times of a call's first and last possible approval; its anchor."""

    start: datetime
    end: datetime
    anchor: str

    def can_have(self, asked_at: datetime) -> bool:
        return self.start <= asked_at <= self.end


def load_decisions(
    conversation_id: int, calls: Iterable[ToolCall], limit: int | None = MAX_PAGE_APPROVALS
) -> dict[str, list[CallDecision]]:
    """Return the approvals of calls by the anchor of the call, in the order of asking.

    ``limit`` bounds how many are read, also open ones; None reads all that are settled. An
    id may repeat in a conversation: an approval belongs to the latest call before it.
    """
    spans: dict[str, list[_Span]] = defaultdict(list)
    for call in calls:
        start = call.request.time
        if start is not None:
            span = _Span(start, _find_end(call), call.request.anchor)
            spans[db_text.clean_text(call.call.id)].append(span)
    if not spans:
        return {}
    decisions: dict[str, list[CallDecision]] = defaultdict(list)
    all_spans = [span for group in spans.values() for span in group]
    for row in _read_rows(conversation_id, all_spans, limit):
        candidates = [span for span in spans[row.tool_call_id] if span.can_have(row.asked_at)]
        if candidates:
            latest_span = max(reversed(candidates), key=lambda span: span.start)
            decisions[latest_span.anchor].append(row)
    return dict(decisions)


def _find_end(call: ToolCall) -> datetime:
    """Return the time until which a call may ask for approval; streams name years up to 9999."""
    response_time = call.response.time if call.response else None
    if response_time is None or response_time > _END_OF_TIME - _EVENT_PRECISION:
        return _END_OF_TIME
    return response_time + _EVENT_PRECISION


def _read_rows(conversation_id: int, spans: list[_Span], limit: int | None) -> list[CallDecision]:
    """Return the approvals from the first of these calls to the last result."""
    adapt_time = bulk.get_time_adapter()
    query = _decisions_query if limit is None else _page_decisions_query
    rows = query(
        [conversation_id],
        [adapt_time(min(span.start for span in spans))],
        [adapt_time(max(span.end for span in spans))],
    )
    return [CallDecision(*row) for row in rows[:limit]]


def _list_approvals(
    states: Sequence[str],
    conversation_ids: Sequence[int],
    starts: Sequence[int],
    ends: Sequence[int],
) -> QuerySet[Approval, tuple[Any, ...]]:
    rows = Approval.objects.filter(
        conversation_id__in=conversation_ids,
        asked_at__gte=Value(starts[0]),
        asked_at__lte=Value(ends[0]),
        state__in=states,
    )
    return rows.order_by("asked_at", "id").values_list(*CallDecision._fields)


#: The ORM takes 0.6 ms longer for each of these, for each part of a transcript.
_decisions_query = CompiledQuery(partial(_list_approvals, SETTLED_STATES))
_page_decisions_query = CompiledQuery(
    lambda *keys: _list_approvals([*ApprovalState], *keys)[:MAX_PAGE_APPROVALS]
)
