"""Who was shown a question, and when: delivered, on their screen, gone into, an answer begun.

The first times are kept. Browsers say them, so they are believed of no question that the person
may not answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from django.db import IntegrityError, connection, transaction

from jpweb.store.models import Inquiry, Membership, Notice, Showing
from jpweb.store.rows import many
from jpweb.store.terms import Role

#: The keys of a question and of a person.
Pair = tuple[int, int]
#: Rows that a page shows of each list.
SHOWN = 50

_KEPT = """
INSERT INTO store_showing (inquiry_id, person_id, delivered_at, visible_at, focused_at, draft_at)
VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (inquiry_id, person_id) DO UPDATE SET
  visible_at = COALESCE(store_showing.visible_at, excluded.visible_at),
  focused_at = COALESCE(store_showing.focused_at, excluded.focused_at),
  draft_at = COALESCE(store_showing.draft_at, excluded.draft_at)
"""


@dataclass(slots=True)
class Seen:
    """When each first happened, as far as it did."""

    delivered: datetime | None = None
    visible: datetime | None = None
    focused: datetime | None = None
    draft: datetime | None = None

    def times(self) -> tuple[datetime | None, ...]:
        """Return the four columns; whoever saw a card had it delivered by then."""
        told = (self.delivered, self.visible, self.focused, self.draft)
        return (min((at for at in told if at), default=None), *told[1:])

    def said(self) -> list[tuple[str, datetime]]:
        """Return what happened, and when."""
        each = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [(kind, at) for kind, at in each if at is not None]


@dataclass(frozen=True, slots=True)
class Proof:
    """What is on record of the showing of one question, in order; the lists may be cut."""

    delivered: int
    showings: Sequence[Showing]
    told: int
    notices: Sequence[Notice]


def keep(seen: Mapping[Pair, Seen]) -> list[Pair]:
    """Write down what is new of each pair; returns the pairs. A time that is on record stays.

    Three statements, however many pairs. Those who may not answer a question are left out.
    """
    for _ in range(2):
        adapt = many.moments()
        allowed = sorted(_allowed(seen))
        rows = [(*pair, *map(adapt, seen[pair].times())) for pair in allowed]
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                if rows:
                    cursor.executemany(_KEPT, rows)
        except IntegrityError:
            continue  # a question went with its conversation, between the look and the record
        return allowed
    return []


def proof(inquiry_id: int) -> Proof:
    """Return who was shown a question, and where else it was told, the first ones first."""
    showings = Showing.objects.filter(inquiry_id=inquiry_id).select_related("person")
    notices = Notice.objects.filter(inquiry_id=inquiry_id).select_related("address__person")
    return Proof(
        showings.count(),
        list(showings.order_by("delivered_at", "id")[:SHOWN]),
        notices.count(),
        list(notices.order_by("sent_at", "id")[:SHOWN]),
    )


def first(showings: Iterable[Showing], column: str) -> Showing | None:
    """Return whose time in a column is the earliest."""
    having = [row for row in showings if getattr(row, column) is not None]
    return min(having, key=lambda row: getattr(row, column), default=None)


def _allowed(seen: Mapping[Pair, Seen]) -> set[Pair]:
    """Return the pairs of questions and people who may answer them."""
    asked = Inquiry.objects.filter(pk__in={inquiry for inquiry, _ in seen})
    homes = dict(asked.values_list("pk", "conversation__workspace_id"))
    members = Membership.objects.filter(
        person_id__in={person for _, person in seen},
        workspace_id__in=set(homes.values()),
        role__gte=Role.RESPONDER,
    )
    may = set(members.values_list("workspace_id", "person_id"))
    return {pair for pair in seen if (homes.get(pair[0]), pair[1]) in may}
