"""Closed questions: those that nobody decided, and those that one person decided."""

from __future__ import annotations

from jpweb.store.inquiries import MEMORY_DECIDER, list_answerable
from jpweb.store.models import Inquiry
from jpweb.stream.inquiry import UNDECIDED_REASONS


def list_undecided(person_id: int, limit: int = 20) -> list[Inquiry]:
    """Return the newest questions that this person could have answered and nobody decided."""
    undecided_rows = list_answerable(person_id).filter(
        run__isnull=False, reason__in=UNDECIDED_REASONS
    )
    return list(undecided_rows.order_by("-settled_at", "-id")[:limit])


def list_decided_by(person_id: int, limit: int = 20) -> list[Inquiry]:
    """Return the newest questions that this person answered or declined.

    Those that a remembered answer of the person decided are left out: no page asked them.
    """
    rows = list_answerable(person_id).filter(decider_id=person_id)
    decided_rows = rows.exclude(decided_by=MEMORY_DECIDER)
    return list(decided_rows.order_by("-settled_at", "-id")[:limit])
