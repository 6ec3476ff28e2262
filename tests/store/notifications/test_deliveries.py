from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jpweb.store.choices import UNFINISHED_STATES, Act, ApprovalKind, Role, RunState
from jpweb.store.inbox import claims, snoozes
from jpweb.store.models import (
    AnswerLink,
    Approval,
    Inquiry,
    LedgerEntry,
    NotificationDelivery,
    NotificationDestination,
    Run,
)
from jpweb.store.notifications import deliveries, delivery_channels
from jpweb.stream.answer_type import Secret
from tests.store import making
from tests.store.notifications.receivers import address

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    workspace = making.workspace()
    return making.start_run(making.conversation(workspace, "A talk"))


def test_list_due_without_destinations_takes_one_query_per_channel(run: Run):
    making.question(run)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert deliveries.list_due(10) == []
    assert len(queries) == len(delivery_channels.CHANNELS)


def test_list_due_cost_does_not_grow_with_open_questions(run: Run):
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert deliveries.list_due(50)
        return len(queries)

    address(run)
    making.question(run)
    first = cost()
    for _ in range(6):
        address(run)
        making.question(run)
    assert cost() == first <= 6


@pytest.mark.parametrize("state", RunState)
def test_list_due_has_open_questions_of_unfinished_runs(run: Run, state: RunState):
    address(run)
    making.question(run)
    prompt = making.prompt(run)
    Approval.objects.filter(pk=prompt.pk).update(asked_at=timezone.now() - timedelta(hours=1))
    Run.objects.update(state=state)
    assert len(deliveries.list_due(10)) == (2 if state in UNFINISHED_STATES else 0)


@pytest.mark.parametrize(("seconds_late", "due_count"), [(-30, 0), (1, 1)])
@pytest.mark.parametrize("delay", [0, 60, 86_400])
def test_list_due_waits_the_delay_of_each_destination(
    run: Run, delay: int, seconds_late: int, due_count: int
):
    address(run, delay)
    making.question(run)
    Inquiry.objects.update(asked_at=timezone.now() - timedelta(seconds=delay + seconds_late))
    assert len(deliveries.list_due(10)) == due_count


def test_the_text_of_a_secret_question_is_not_even_read(run: Run):
    address(run)
    making.question(run, Secret(), "canary?")
    (notification,) = deliveries.list_due(10)
    assert (notification.is_secret, notification.text) == (True, "")
    assert "canary" not in repr(notification)


def test_a_question_of_an_unknown_kind_is_due_without_its_text(run: Run):
    address(run)
    making.question(run)
    Inquiry.objects.update(answer_type="riddle")
    (notification,) = deliveries.list_due(10)
    assert (notification.is_secret, notification.text) == (False, "")


def test_due_notification_names_the_asker_or_the_waiting_tool(run: Run):
    address(run)
    making.question(run)
    Inquiry.objects.update(label="Deployment")
    prompt = making.prompt(run, ApprovalKind.DELIVER)
    Approval.objects.filter(pk=prompt.pk).update(asked_at=timezone.now() - timedelta(hours=1))
    first, second = deliveries.list_due(10)
    assert (first.asker, first.approval_kind) == ("Deployment", None)
    assert (second.asker, second.approval_kind) == ("vault", ApprovalKind.DELIVER)


def test_delivery_repr_hides_the_address(run: Run):
    address(run)
    making.question(run)
    assert "ntfy" not in repr(deliveries.list_due(10))


def test_list_due_leaves_room_beside_a_destination_with_many_due(run: Run):
    first, second = address(run), address(run)
    for _ in range(3 * delivery_channels.MAX_PER_DESTINATION):
        making.question(run)
    destination_ids = [
        notification.destination_id
        for notification in deliveries.list_due(2 * delivery_channels.MAX_PER_DESTINATION)
    ]
    assert (
        sorted(destination_ids)
        == [first.pk] * delivery_channels.MAX_PER_DESTINATION
        + [second.pk] * delivery_channels.MAX_PER_DESTINATION
    )
    assert len(deliveries.list_due(3)) == 3


def test_list_due_leaves_room_beside_a_destination_with_older_due(run: Run):
    address(run)
    for _ in range(3 * delivery_channels.MAX_PER_DESTINATION):
        making.question(run)
    workspace = making.workspace()
    other_run = making.start_run(making.conversation(workspace))
    latest = address(other_run)
    making.question(other_run)
    Inquiry.objects.filter(run=other_run).update(asked_at=timezone.now() - timedelta(minutes=1))
    assert (
        deliveries.list_due(2 * delivery_channels.MAX_PER_DESTINATION)[-1].destination_id
        == latest.pk
    )


def test_a_claim_is_made_once_and_makes_one_link(run: Run):
    address(run)
    making.question(run)
    (notification,) = deliveries.list_due(10)
    claimed = deliveries.claim_delivery(notification)
    assert claimed is not None
    assert claimed[1]
    assert deliveries.claim_delivery(notification) is None
    assert deliveries.list_due(10) == []
    assert (NotificationDelivery.objects.count(), AnswerLink.objects.count()) == (1, 1)


def test_claim_records_the_link_for_its_person_without_its_token(run: Run):
    destination, question = address(run), making.question(run)
    url = "https://hooks.slack.example/services/T0/B0/canary"
    NotificationDestination.objects.update(url=url)
    (notification,) = deliveries.list_due(10)
    with CaptureQueriesContext(connection) as queries:
        claimed = deliveries.claim_delivery(notification)
    assert claimed is not None
    (entry,) = LedgerEntry.objects.filter(act=Act.ANSWER_LINK_ISSUED)
    assert (entry.person_id, entry.subject) == (None, f"inquiry:{question.pk}")
    place = run.conversation.workspace_id, run.conversation_id
    assert (entry.workspace_id, entry.conversation_id) == place
    assert json.loads(entry.text)["details"] == {
        "person": destination.person.display_name,
        "person_id": destination.person_id,
        "destination": destination.pk,
        "service": "hooks.slack.example",
    }
    assert claimed[1] not in entry.text
    inserts = [query for query in queries if query["sql"].startswith("INSERT")]
    assert len(inserts) == 3, "the delivery, the entry and the link"


def test_claim_of_an_approval_records_no_link(run: Run):
    address(run)
    prompt = making.prompt(run)
    Approval.objects.filter(pk=prompt.pk).update(asked_at=timezone.now() - timedelta(hours=1))
    assert deliveries.claim_delivery(deliveries.list_due(10)[0]) is not None
    assert not LedgerEntry.objects.filter(act=Act.ANSWER_LINK_ISSUED).exists()


def test_record_failure_stores_the_problem_on_the_delivery(run: Run):
    address(run)
    making.question(run)
    claimed = deliveries.claim_delivery(deliveries.list_due(10)[0])
    assert claimed is not None
    deliveries.record_failure(delivery_channels.ADDRESS, claimed[0], "It failed.\0")
    assert NotificationDelivery.objects.get().problem == "It failed.\N{REPLACEMENT CHARACTER}"


def test_list_due_leaves_out_a_question_that_a_person_is_on(run: Run):
    destination, question = address(run), making.question(run)
    claims.claim_question(question, destination.person)
    assert deliveries.list_due(10) == []
    claims.release_claim(question, destination.person)
    assert [due.inquiry_id for due in deliveries.list_due(10)] == [question.pk]


def test_list_due_leaves_out_an_approval_that_a_person_is_on(run: Run):
    destination, approval = address(run), making.prompt(run)
    claims.claim_approval(approval, destination.person)
    assert deliveries.list_due(10) == []
    claims.release_claim(approval, destination.person)
    assert [due.approval_id for due in deliveries.list_due(10)] == [approval.pk]


def test_list_due_leaves_out_a_question_that_its_person_snoozed(run: Run):
    destination, other, question = address(run), address(run), making.question(run)
    until = timezone.now() + timedelta(hours=1)
    snoozes.snooze_question(question, destination.person_id, until)
    assert [due.destination_id for due in deliveries.list_due(10)] == [other.pk]


@pytest.mark.parametrize("subject", ["question", "approval"])
def test_claim_delivery_of_a_question_since_claimed_returns_none(run: Run, subject: str):
    address(run)
    row: Any = making.question(run) if subject == "question" else making.prompt(run)
    claim: Any = claims.claim_question if subject == "question" else claims.claim_approval
    (due,) = deliveries.list_due(10)
    other = making.person("", Role.RESPONDER, run.conversation.workspace)
    assert claim(row, other)
    assert deliveries.claim_delivery(due) is None
    claims.release_claim(row, other)
    assert deliveries.list_due(10) == [due], "it is due once nobody is on it"
    assert deliveries.claim_delivery(due) is not None


def test_claim_delivery_of_a_question_that_its_person_snoozed_is_none(run: Run):
    destination, other, question = address(run), address(run), making.question(run)
    due_by_destination = {due.destination_id: due for due in deliveries.list_due(10)}
    until = timezone.now() + timedelta(hours=1)
    snoozes.snooze_question(question, destination.person_id, until)
    assert deliveries.claim_delivery(due_by_destination[destination.pk]) is None
    assert deliveries.claim_delivery(due_by_destination[other.pk]) is not None
