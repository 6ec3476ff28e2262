"""Many inquiries at once, as charts count them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Any

from jpweb.store import audit
from jpweb.store.audit import AuditFilters
from jpweb.store.models import Conversation, Inquiry, Person, Workspace
from jpweb.store.reviews import inquiry_counts, inquiry_pages, inquiry_ranges, state_counts
from jpweb.store.reviews.inquiry_counts import Sample
from jpweb.store.reviews.inquiry_pages import InquiryPage
from jpweb.store.reviews.inquiry_ranges import Order
from jpweb.store.reviews.state_counts import StateCount

BEGIN = datetime(2026, 3, 2, 5, 30, tzinfo=UTC)
_numbers = count(1)
_SETTLED = [
    ("answered", "", "person"), ("redacted", "", "person"), ("cancelled", "user", "person"),
    ("answered", "", "memory"), ("answered", "", "configuration"), ("unanswered", "", ""),
    ("cancelled", "expired", "system"), ("cancelled", "odd reason", ""), ("open", "", ""),
]  # fmt: skip


def make_inquiry(conversation: Conversation, **fields: Any) -> Inquiry:
    """Return an unsaved row; it is answered by Ada after a second unless ``fields`` say else."""
    number = next(_numbers)
    asked_at = fields.setdefault("asked_at", BEGIN)
    usual = {
        "anchor": f"e-{number}",
        "position": number,
        "inquiry_id": f"call.q{number}.1",
        "source": "tool",
        "asker": "vault",
        "question": {"text": "Go on?", "answer_type": {"type": "boolean"}},
        "answer_type": "boolean",
        "state": "answered",
        "decided_by": "person",
        "decider_name": "Ada",
        "settled_at": asked_at + timedelta(seconds=1),
    }
    return Inquiry(conversation=conversation, workspace=conversation.workspace, **(usual | fields))


def save_inquiry(conversation: Conversation, **fields: Any) -> Inquiry:
    row = make_inquiry(conversation, **fields)
    row.save()
    return row


def save_many(conversations: Sequence[Conversation], number: int, days: int, seed: int = 1) -> None:
    """Save rows of all states, reasons and deciders, within so many days."""
    random = Random(seed)  # noqa: S311  reproducible rows
    rows = []
    for _ in range(number):
        state, reason, kind = random.choice(_SETTLED)
        asked_at = BEGIN + timedelta(seconds=random.randrange(days * 86400))
        waited = timedelta(milliseconds=random.randrange(7_200_000))
        rows.append(
            make_inquiry(
                random.choice(conversations),
                asker=f"tool {min(random.randrange(20), random.randrange(20))}",
                state=state,
                reason=reason,
                decided_by=kind,
                decider_name=random.choice(["Ada", "Ben"]) if kind in ("person", "memory") else "",
                asked_at=asked_at,
                settled_at=None if state == "open" else asked_at + waited,
            )
        )
    Inquiry.objects.bulk_create(rows, batch_size=200)


def load_page(
    person: Person, filters: AuditFilters, order: Order, after: int, *, has_first: bool = False
) -> InquiryPage:
    """Return a page of what a person may review."""
    workspaces = list_reviewed(person, filters)
    time_range = inquiry_ranges.narrow_by_time([each.pk for each in workspaces], filters)
    return inquiry_pages.load_page(
        workspaces, filters, time_range, order, after, has_first=has_first
    )


def count_by_state(person: Person, filters: AuditFilters) -> dict[str, StateCount]:
    """Return the numbers of what a person may review."""
    workspace_ids = [workspace.pk for workspace in list_reviewed(person, filters)]
    time_range = inquiry_ranges.narrow_by_time(workspace_ids, filters)
    return state_counts.count_by_state(workspace_ids, filters, time_range)


def list_reviewed(person: Person, filters: AuditFilters) -> list[Workspace]:
    return audit.choose_workspaces(audit.list_workspaces(person.pk), filters)


def take_sample(person: Person, **filters: object) -> Sample:
    """Return what charts count for a person."""
    return inquiry_counts.take_sample(person.pk, AuditFilters(**filters))  # type: ignore[arg-type]  # names of fields
