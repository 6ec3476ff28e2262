"""Messages of questions that came back from a snooze: one to each receiver of their person."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jpweb.store.choices import Role
from jpweb.store.inbox import claims, snoozes
from jpweb.store.models import (
    Inquiry,
    Membership,
    NotificationDelivery,
    PushDelivery,
    QuestionSnooze,
    Run,
)
from jpweb.store.notifications import deliveries, delivery_channels, push_subscriptions
from tests.runtime.notifications.push_scene import sign_in
from tests.runtime.notifications.push_service import PushService
from tests.store import making
from tests.store.notifications.receivers import address

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    workspace = making.workspace()
    return making.start_run(making.conversation(workspace, "A talk"))


def claim_all() -> list[tuple[int, str] | None]:
    """Claim what is due, as a round does."""
    return [deliveries.claim_delivery(notification) for notification in deliveries.list_due(10)]


def snooze_and_end(question: Inquiry, person_id: int) -> None:
    """Snooze a question of which its person was notified; that snooze has ended a second ago."""
    now = timezone.now()
    NotificationDelivery.objects.update(sent_at=now - timedelta(minutes=2))
    assert snoozes.snooze_question(question, person_id, now + timedelta(hours=1))
    QuestionSnooze.objects.filter(inquiry=question).update(until=now - timedelta(seconds=1))


def test_a_question_that_came_back_is_due_once_more_to_its_person_alone(run: Run):
    destination, _, question = address(run), address(run), making.question(run)
    assert len(claim_all()) == 2
    assert claim_all() == []
    snooze_and_end(question, destination.person_id)
    recorded = list(NotificationDelivery.objects.order_by("pk").values())
    assert {row["return_number"] for row in recorded} == {0}
    assert snoozes.delete_ended() == {question.workspace_id}
    (due,) = deliveries.list_due(10)
    assert due.destination_id == destination.pk
    (claimed,) = claim_all()
    assert claimed is not None
    assert claimed[1], "its answer link is new"
    assert claim_all() == []
    *earlier, second = NotificationDelivery.objects.order_by("pk").values()
    assert earlier == recorded
    assert second["id"] == claimed[0]
    assert (second["destination_id"], second["inquiry_id"]) == (destination.pk, question.pk)
    assert snoozes.delete_ended() == {question.workspace_id}
    assert not QuestionSnooze.objects.exists()


def test_each_return_of_a_question_has_a_delivery_with_its_own_failure(run: Run):
    destination, question = address(run), making.question(run)
    for number in range(3):
        (claimed,) = claim_all()
        assert claimed is not None
        deliveries.record_failure(delivery_channels.ADDRESS, claimed[0], f"failure {number}")
        snooze_and_end(question, destination.person_id)
    rows = NotificationDelivery.objects.order_by("pk").values_list("return_number", "problem")
    assert list(rows) == [(0, "failure 0"), (1, "failure 1"), (2, "failure 2")]


def test_claim_delivery_of_a_return_succeeds_in_one_process_alone(run: Run):
    destination, question = address(run), making.question(run)
    claim_all()
    snooze_and_end(question, destination.person_id)
    (due,), (same_due,) = deliveries.list_due(10), deliveries.list_due(10)
    assert deliveries.claim_delivery(due) is not None
    assert deliveries.claim_delivery(same_due) is None
    assert NotificationDelivery.objects.count() == 2


def test_a_question_that_came_back_is_due_to_a_new_channel_too(run: Run):
    destination, question = address(run), making.question(run)
    claim_all()
    snooze_and_end(question, destination.person_id)
    other = address(run, person=destination.person)
    assert len(claim_all()) == 2
    assert claim_all() == []
    assert set(NotificationDelivery.objects.values_list("destination_id", flat=True)) == {
        destination.pk,
        other.pk,
    }


def test_a_question_that_was_woken_is_not_due_again(run: Run):
    destination, question = address(run), making.question(run)
    claim_all()
    NotificationDelivery.objects.update(sent_at=timezone.now() - timedelta(minutes=2))
    snoozes.snooze_question(question, destination.person_id, timezone.now() + timedelta(hours=1))
    assert claim_all() == []
    snoozes.wake_question(question, destination.person_id)
    assert claim_all() == []


def test_a_question_that_came_back_is_due_once_nobody_is_on_it(run: Run):
    destination, question = address(run), making.question(run)
    claim_all()
    snooze_and_end(question, destination.person_id)
    claims.claim_question(question, destination.person)
    snoozes.delete_ended()
    assert claim_all() == []
    claims.release_claim(question, destination.person)
    assert len(claim_all()) == 1


def test_questions_that_came_back_are_due_to_each_receiver_in_later_rounds(run: Run):
    """The browser's limit of a round is taken by older questions of another workspace."""
    workspace, count = making.workspace("Older"), delivery_channels.MAX_PER_DESTINATION
    destination = address(run)
    Membership.objects.create(
        person=destination.person,
        workspace=workspace,
        role=Role.RESPONDER,
        direct_role=Role.RESPONDER,
    )
    older_run = making.start_run(making.conversation(workspace))
    questions = [making.question(older_run) for _ in range(count)]
    questions += [making.question(run) for _ in range(3)]
    key, service = sign_in(destination.person), PushService()
    push_subscriptions.save_subscription(key, **service.make_subscription(), delay=0)
    assert [len(claim_all()) for _ in range(3)] == [count + 3, 3, 0]
    for question in questions:
        snooze_and_end(question, destination.person_id)
    assert len(claim_all()) == count + 3
    workspace_ids = {workspace.pk, run.conversation.workspace_id}
    assert snoozes.delete_ended() == workspace_ids
    assert QuestionSnooze.objects.count() == 3, "the browser is due a message of each"
    assert [len(claim_all()) for _ in range(2)] == [3, 0]
    to_browsers = PushDelivery.objects.filter(return_number=1)
    assert {row.inquiry_id for row in to_browsers} == {row.pk for row in questions}
    assert snoozes.delete_ended() == workspace_ids - {workspace.pk}
    assert not QuestionSnooze.objects.exists()


def test_a_receiver_without_the_first_message_gets_the_one_of_a_return(run: Run):
    destination, question = address(run), making.question(run)
    Inquiry.objects.update(asked_at=timezone.now() - timedelta(minutes=1))
    claim_all()
    snooze_and_end(question, destination.person_id)
    claim_all()
    other = address(run, delay=86_400, person=destination.person)
    snooze_and_end(question, destination.person_id)
    assert len(claim_all()) == 1
    Inquiry.objects.update(asked_at=timezone.now() - timedelta(days=2))
    assert len(claim_all()) == 1
    assert claim_all() == []
    QuestionSnooze.objects.all().delete()
    assert claim_all() == []
    rows = NotificationDelivery.objects.order_by("pk").values_list(
        "destination_id", "return_number"
    )
    assert list(rows) == [(destination.pk, number) for number in range(3)] + [(other.pk, 2)]


def test_claim_delivery_of_a_message_before_a_later_return_is_none(run: Run):
    destination, question = address(run), making.question(run)
    (first_due,) = deliveries.list_due(10)
    snooze_and_end(question, destination.person_id)
    (second_due,) = deliveries.list_due(10)
    assert (first_due.return_number, second_due.return_number) == (0, 1)
    assert deliveries.claim_delivery(first_due) is None
    snooze_and_end(question, destination.person_id)
    assert deliveries.claim_delivery(second_due) is None
    assert len(claim_all()) == 1
    QuestionSnooze.objects.all().delete()
    assert deliveries.claim_delivery(first_due) is None


def test_a_question_that_came_back_long_ago_is_not_due_again(run: Run):
    destination, question = address(run), making.question(run)
    claim_all()
    snooze_and_end(question, destination.person_id)
    NotificationDelivery.objects.update(sent_at=timezone.now() - timedelta(days=1))
    QuestionSnooze.objects.update(until=timezone.now() - snoozes.RETURN_TIME - timedelta(seconds=1))
    assert snoozes.delete_ended() == {question.workspace_id}
    assert claim_all() == []


def test_list_waiting_keys_leaves_out_what_its_person_snoozed(run: Run):
    destination, other, question = address(run), address(run), making.question(run)
    until = timezone.now() + timedelta(hours=1)
    snoozes.snooze_question(question, destination.person_id, until)
    assert deliveries.list_waiting_keys(destination.person_id, [question.pk], []) == ([], [])
    assert deliveries.list_waiting_keys(other.person_id, [question.pk], []) == ([question.pk], [])
    snooze_and_end(question, destination.person_id)
    keys = deliveries.list_waiting_keys(destination.person_id, [question.pk], [])
    assert keys == ([question.pk], [])
