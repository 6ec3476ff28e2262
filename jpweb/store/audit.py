"""Every inquiry, for people who review: filtered, paged by key, counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from jpweb.store.inquiries import STATES
from jpweb.store.models import Inquiry, Membership
from jpweb.store.terms import Role

PAGE = 100


@dataclass(frozen=True, slots=True)
class Filters:
    """What is looked for; an empty value does not filter. ``until`` is exclusive."""

    outcome: str = ""
    reason: str = ""
    source: str = ""
    person: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Choices:
    """The values that occur, for the filter's lists."""

    reasons: list[str]
    sources: list[str]
    people: list[str]


def find(person_id: int, filters: Filters) -> QuerySet[Inquiry]:
    """Return the inquiries a person may review, the newest first."""
    found = _reviewable(person_id)
    plain = {
        "state": filters.outcome,
        "reason": filters.reason,
        "source": filters.source,
        "decider_name": filters.person,
        "asked_at__gte": filters.since,
        "asked_at__lt": filters.until,
    }
    if any("\x00" in value for value in plain.values() if isinstance(value, str)):
        found = found.none()  # no row holds the character, and PostgreSQL refuses it
    found = found.filter(**{key: value for key, value in plain.items() if value})
    return found.select_related("conversation__workspace", "decider").order_by("-asked_at", "-id")


def page(found: QuerySet[Inquiry], before: int) -> tuple[list[Inquiry], int]:
    """Return the rows after the one with key ``before`` (0 for the first), and the next key."""
    last = Inquiry.objects.filter(pk=before).values_list("asked_at", flat=True).first()
    if last is not None:
        found = found.filter(asked_at__lte=last).exclude(asked_at=last, id__gte=before)
    rows = list(found[: PAGE + 1])
    return rows[:PAGE], rows[PAGE - 1].pk if len(rows) > PAGE else 0


def every(found: QuerySet[Inquiry]) -> Iterator[Inquiry]:
    """Yield all rows without holding them."""
    return found.iterator(chunk_size=500)


def by_outcome(found: QuerySet[Inquiry]) -> dict[str, int]:
    """Return how many there are of each state, every state named."""
    rows = found.order_by().values_list("state").annotate(n=Count("id"))
    return dict.fromkeys(STATES, 0) | dict(rows)


def choices(person_id: int) -> Choices:
    """Return the values that a person can filter by."""
    rows = _reviewable(person_id)

    def distinct(column: str) -> list[str]:
        values = rows.exclude(Q(**{column: ""})).values_list(column, flat=True)
        return sorted(values.order_by(column).distinct())

    return Choices(distinct("reason"), distinct("source"), distinct("decider_name"))


def _reviewable(person_id: int) -> QuerySet[Inquiry]:
    allowed = Membership.objects.filter(person_id=person_id, role__gte=Role.AUDITOR)
    return Inquiry.objects.filter(conversation__workspace__in=allowed.values("workspace_id"))
