"""How a team settled the same question before. Never of secrets: those are not alike to any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from jpweb.store.models import Inquiry, Prompt
from jpweb.store.rows.prepared import Prepared
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled

#: How many are shown beside a question.
SHOWN = 3

_ORDER = (F("settled_at").desc(), "-id")
_BY_PEOPLE = Q(state=Answered.TAG) | Q(state=Cancelled.TAG, reason=CancellationReason.USER)


def attach(rows: Iterable[Inquiry | Prompt]) -> None:
    """Give each question its ``earlier``: the newest answers and declines of those alike.

    Two queries for all of them, none where no question could have any. Prompts are passed over.
    """
    asked: list[Any] = [row for row in rows if isinstance(row, Inquiry)]
    found = _newest({row.alike for row in asked if row.alike})
    for row in asked:
        others = [each for each in found.get(row.alike, []) if each.pk != row.pk]
        row.earlier = others[:SHOWN]


def _newest(alike: set[str]) -> dict[str, list[Inquiry]]:
    found: dict[str, list[Inquiry]] = defaultdict(list)
    keys = [key for (key,) in _settled(sorted(alike))] if alike else []
    if keys:
        rows = Inquiry.objects.select_related("conversation").filter(pk__in=keys)
        for row in rows.order_by(*_ORDER):
            found[row.alike].append(row)
    return found


def _placed(alike: list[str]) -> QuerySet[Any, Any]:
    """Return the keys of the newest of each that are alike."""
    place = Window(RowNumber(), partition_by="alike", order_by=_ORDER)
    settled = Inquiry.objects.filter(_BY_PEOPLE, alike__in=alike).annotate(place=place)
    # One more than is shown, since a question may be among its own.
    return settled.filter(place__lte=SHOWN + 1).values_list("pk")


_settled = Prepared(_placed)
