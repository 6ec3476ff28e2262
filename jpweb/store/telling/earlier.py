"""How a team settled the same question before. Never of secrets: those are not alike to any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from jpweb.store.models import Inquiry, Prompt
from jpweb.store.rows.prepared import Prepared
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled

#: How many are shown beside a question.
SHOWN = 3

_ORDER = (F("settled_at").desc(), "-id")
_BY_PEOPLE = Q(state=Answered.TAG) | Q(state=Cancelled.TAG, reason=CancellationReason.USER)


class Earlier(NamedTuple):
    """How a question was settled; named as in its row, with the title of its conversation."""

    pk: int
    state: str
    reason: str
    answer: Any
    note: str
    decided_by: str
    decider_name: str
    settled_at: datetime
    title: str


def attach(rows: Iterable[Inquiry | Prompt]) -> None:
    """Give each question its ``earlier``: the newest answers and declines of those alike.

    A query where all are alike, else two; none where no question could have any. Prompts are passed
    over.
    """
    asked: list[Any] = [row for row in rows if isinstance(row, Inquiry)]
    found = _newest({row.alike for row in asked if row.alike})
    for row in asked:
        others = [each for each in found.get(row.alike, []) if each.pk != row.pk]
        row.earlier = others[:SHOWN]


def _newest(alike: set[str]) -> dict[str, list[Earlier]]:
    found: dict[str, list[Earlier]] = defaultdict(list)
    for shared, *about in _rows(sorted(alike)):
        found[shared].append(Earlier(*about))
    return found


def _rows(alike: list[str]) -> list[Any]:
    if len(alike) == 1:
        return _newest_of_one(alike)
    keys = [key for (key,) in _settled(alike)] if alike else []
    return _described(keys) if keys else []


def _placed(alike: list[str]) -> QuerySet[Any, Any]:
    """Return the keys of the newest of each that are alike."""
    place = Window(RowNumber(), partition_by="alike", order_by=_ORDER)
    settled = Inquiry.objects.filter(_BY_PEOPLE, alike__in=alike).annotate(place=place)
    # One more than is shown, since a question may be among its own.
    return settled.filter(place__lte=SHOWN + 1).values_list("pk")


def _columns(rows: QuerySet[Inquiry]) -> QuerySet[Inquiry, Any]:
    ordered = rows.order_by(*_ORDER)
    return ordered.values_list("alike", *Earlier._fields[:-1], "conversation__title")


_settled = Prepared(_placed)
_described = Prepared(lambda keys: _columns(Inquiry.objects.filter(pk__in=keys)))
_newest_of_one = Prepared(
    lambda alike: _columns(Inquiry.objects.filter(_BY_PEOPLE, alike__in=alike))[: SHOWN + 1]
)
