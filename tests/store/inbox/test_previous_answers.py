from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jpweb.store.inbox import previous_answers
from jpweb.store.models import Inquiry
from jpweb.stream.answer_type import AnswerType, Boolean, Option, Secret, Select
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, InquiryOutcome, Redacted
from tests.store import making

USER, LOST = Cancelled(CancellationReason.USER), Cancelled(CancellationReason.LOST)


@pytest.fixture
def run(db: None) -> Any:
    return making.start_run(making.conversation(making.workspace()))


def make_settled_question(
    run: Any, outcome: InquiryOutcome, minutes_ago: int = 0, **fields: Any
) -> Inquiry:
    row = making.settle(making.question(run, **fields), outcome)
    at = timezone.now() - timedelta(minutes=minutes_ago)
    Inquiry.objects.filter(pk=row.pk).update(settled_at=at)
    return row


def before(row: Any) -> list[int]:
    """Return the keys of what is found for a question, which is the same alone and among others."""
    answer_lists: list[Any] = []
    for other_rows in ([], [Inquiry(same_question_key="unlike any")]):
        previous_answers.attach_previous([row, *other_rows])
        answer_lists.append(row.previous_answers)
    assert answer_lists[0] == answer_lists[1]
    return [answer.pk for answer in answer_lists[0]]


def test_the_newest_answers_and_declines_come_first_and_are_three(run: Any):
    rows = [make_settled_question(run, Answered(n % 2 == 0), 10 - n) for n in range(4)]
    declined = make_settled_question(run, USER, 1)
    assert before(making.question(run)) == [declined.pk, rows[3].pk, rows[2].pk]


def test_undecided_questions_are_no_previous_answers(run: Any):
    make_settled_question(run, LOST)
    making.question(run)
    assert before(making.question(run)) == []


@pytest.mark.parametrize(
    "changes",
    [{"text": "Go back?"}, {"kind": Select((Option("a"), Option("b")))}],
)
def test_previous_answers_exclude_a_different_question(run: Any, changes: dict[str, Any]):
    make_settled_question(run, Answered("a"), **changes)
    assert before(making.question(run)) == []


def test_previous_answers_come_from_the_workspace_alone(run: Any):
    earlier_row = make_settled_question(
        making.start_run(making.conversation(run.conversation.workspace)), Answered(True)
    )
    make_settled_question(
        making.start_run(making.conversation(making.workspace("Rival"))), Answered(False)
    )
    assert before(making.question(run)) == [earlier_row.pk]


def test_a_secret_has_none_and_is_none(run: Any):
    make_settled_question(run, Redacted(), kind=Secret())
    make_settled_question(run, USER, kind=Secret())
    row = making.question(run, Secret())
    assert row.same_question_key == ""
    assert before(row) == []


def test_a_settled_question_is_not_its_own_precedent(run: Any):
    older = [make_settled_question(run, Answered(True), minutes).pk for minutes in (5, 6, 7)]
    assert before(Inquiry.objects.get(pk=make_settled_question(run, Answered(False)).pk)) == older


def test_previous_answer_has_outcome_note_and_decider(run: Any):
    row = make_settled_question(run, USER)
    Inquiry.objects.filter(pk=row.pk).update(
        note="why not", decided_by="person", decider_name="Ada"
    )
    row.refresh_from_db()
    question: Any = making.question(run)
    assert before(question) == [row.pk]
    (previous_answer,) = question.previous_answers
    values = [getattr(row, name) for name in previous_answer._fields[:-1]]
    assert (*values, row.conversation.title) == previous_answer


@pytest.mark.parametrize(("many", "queries"), [(1, 1), (2, 1), (3, 2), (40, 2)])
def test_attach_previous_takes_at_most_two_queries(run: Any, many: int, queries: int):
    kinds: list[AnswerType] = [Boolean(), Secret()]
    for n in range(many):
        make_settled_question(run, Answered(True), text=f"Question {n}?")
    rows: list[Any] = [
        *(making.question(run, kinds[n % 2], f"Question {n}?") for n in range(many)),
        making.prompt(run),
    ]
    with CaptureQueriesContext(connection) as captured:
        previous_answers.attach_previous(rows)
        for row in rows[:-1]:
            assert all(answer.title for answer in row.previous_answers)
    assert len(captured) == queries
