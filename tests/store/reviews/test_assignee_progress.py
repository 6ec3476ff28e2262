from __future__ import annotations

import pytest

from jpweb.store.choices import Verdict
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import Inquiry, Person, Review, Run
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import RedactionRequest
from jpweb.store.reviews import assignments, queues
from jpweb.store.reviews.assignee_progress import AssigneeProgress, measure_progress
from jpweb.stream.answer_type import Text
from tests.store import making
from tests.store.reviews.desk import DECLINED, ReviewDesk, load, send

pytestmark = pytest.mark.django_db
SECRET = "canary-7f3a9c"


@pytest.fixture
def desk() -> ReviewDesk:
    return ReviewDesk()


@pytest.fixture
def question(desk: ReviewDesk) -> Inquiry:
    """Return a declined question with a text that an auditor redacts later."""
    row = making.question(desk.run, Text(), f"Token {SECRET}?")
    return making.settle(row, DECLINED, making.decider(desk.rita))


def redact(desk: ReviewDesk) -> None:
    Run.objects.update(state="done")
    request = RedactionRequest("", "leak", (SECRET,), is_conversation_wide=True)
    application.redact(desk.conversation, request, desk.ben)


def load_progress(person: Person) -> tuple[int, list[AssigneeProgress]]:
    """Return the number of finished items of the queue *cancelled*, and who did how many."""
    queue = queues.load_queues(person.pk).queues["cancelled"]
    return queue.finished_count, measure_progress(queue.items)


def test_review_before_a_change_of_the_question_does_not_count(desk: ReviewDesk, question: Inquiry):
    send(load(question), desk.ada)
    assert load_progress(desk.cleo) == (1, [AssigneeProgress("Ada", 1, 1)])
    redact(desk)
    assert load_progress(desk.cleo) == (0, [])
    assignments.assign(load(question), desk.ada.pk, Actor.from_person(desk.ben))
    assert load_progress(desk.cleo) == (0, [AssigneeProgress("Ada", 0, 1)])
    send(load(question), desk.cleo)
    assert load_progress(desk.ben) == (
        1,
        [AssigneeProgress("Ada", 0, 1), AssigneeProgress("Cleo", 1, 1)],
    )


def test_both_reviews_of_one_version_count(desk: ReviewDesk, question: Inquiry):
    desk.require_two()
    send(load(question), desk.ada)
    assert load_progress(desk.cleo) == (0, [AssigneeProgress("Ada", 1, 1)])
    send(load(question), desk.ben, Verdict.FINE)
    both = [AssigneeProgress("Ada", 1, 1), AssigneeProgress("Ben", 1, 1)]
    assert load_progress(desk.cleo) == (1, both)
    Review.objects.filter(reviewer=desk.ada).update(reviewer=None)
    assert load_progress(desk.cleo) == (1, both[1:])
