"""Previous answers of a team to the same question; never to secrets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from jpweb.store.models import Approval, Inquiry
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled

#: Previous answers that are shown beside a question.
MAX_SHOWN = 3

_NEWEST_FIRST = (F("settled_at").desc(), "-id")
_SETTLED_BY_PEOPLE = Q(state=Answered.TAG) | Q(state=Cancelled.TAG, reason=CancellationReason.USER)


class PreviousAnswer(NamedTuple):
    """The outcome of a question; named as in its row, with the title of its conversation."""

    pk: int
    state: str
    reason: str
    answer: Any
    note: str
    decided_by: str
    decider_name: str
    channel: str
    settled_at: datetime
    title: str


def attach_previous(rows: Iterable[Inquiry | Approval]) -> None:
    """Set ``earlier`` of each question: the newest answers and declines of the same question.

    One query where all have the same key, else two; none where no question has a key.
    Approvals are skipped.
    """
    questions: list[Any] = [row for row in rows if isinstance(row, Inquiry)]
    answers_by_key = _find_newest_by_key(
        {row.same_question_key for row in questions if row.same_question_key}
    )
    for row in questions:
        previous_answers = [
            answer
            for answer in answers_by_key.get(row.same_question_key, [])
            if answer.pk != row.pk
        ]
        row.previous_answers = previous_answers[:MAX_SHOWN]


def _find_newest_by_key(question_keys: set[str]) -> dict[str, list[PreviousAnswer]]:
    answers: dict[str, list[PreviousAnswer]] = defaultdict(list)
    for question_key, *columns in _load_rows(sorted(question_keys)):
        answers[question_key].append(PreviousAnswer(*columns))
    return answers


def _load_rows(question_keys: list[str]) -> list[Any]:
    if len(question_keys) == 1:
        return _single_key_query(question_keys)
    keys = [key for (key,) in _newest_ids_query(question_keys)] if question_keys else []
    return _answers_query(keys) if keys else []


def _find_newest_ids(question_keys: list[str]) -> QuerySet[Any, Any]:
    """Return the ids of the newest settled questions of each key."""
    rank = Window(RowNumber(), partition_by="same_question_key", order_by=_NEWEST_FIRST)
    settled_rows = Inquiry.objects.filter(
        _SETTLED_BY_PEOPLE, same_question_key__in=question_keys
    ).annotate(place=rank)
    # One more than is shown, since the question itself may be among them.
    return settled_rows.filter(place__lte=MAX_SHOWN + 1).values_list("pk")


def _select_columns(rows: QuerySet[Inquiry]) -> QuerySet[Inquiry, Any]:
    ordered_rows = rows.order_by(*_NEWEST_FIRST)
    return ordered_rows.values_list(
        "same_question_key", *PreviousAnswer._fields[:-1], "conversation__title"
    )


#: The ORM takes 0.4 to 0.8 ms longer for each of these, for each batch of cards.
_newest_ids_query = CompiledQuery(_find_newest_ids)
_answers_query = CompiledQuery(lambda keys: _select_columns(Inquiry.objects.filter(pk__in=keys)))
_single_key_query = CompiledQuery(
    lambda question_keys: _select_columns(
        Inquiry.objects.filter(_SETTLED_BY_PEOPLE, same_question_key__in=question_keys)
    )[: MAX_SHOWN + 1]
)
