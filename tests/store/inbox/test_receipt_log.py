from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jpweb.store.choices import Role
from jpweb.store.inbox import receipt_log
from jpweb.store.inbox.receipt_log import ReceiptKey, ReceiptTimes
from jpweb.store.models import (
    DisplayReceipt,
    NotificationDelivery,
    NotificationDestination,
    Person,
)
from tests.store import making

NOW = timezone.now().replace(microsecond=0)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


class OpenQuestion:
    """An open question and somebody who may answer it."""

    def __init__(self) -> None:
        self.workspace = making.workspace()
        self.run = making.start_run(making.conversation(self.workspace))
        self.row = making.question(self.run)
        self.ada = making.person("ada", Role.RESPONDER, self.workspace)
        self.pair: ReceiptKey = (self.row.pk, self.ada.pk)

    def list_receipts(self) -> list[tuple[Any, ...]]:
        columns = ("delivered_at", "visible_at", "focused_at", "draft_at")
        return list(DisplayReceipt.objects.order_by("person_id").values_list(*columns))


@pytest.fixture
def open_question(db: None) -> OpenQuestion:
    return OpenQuestion()


def test_save_receipts_keeps_the_first_time_of_each_stage(open_question: OpenQuestion):
    assert receipt_log.save_receipts({open_question.pair: ReceiptTimes(delivered=at(1))}) == [
        open_question.pair
    ]
    receipt_log.save_receipts(
        {open_question.pair: ReceiptTimes(delivered=at(5), visible=at(2), draft=at(4))}
    )
    receipt_log.save_receipts(
        {open_question.pair: ReceiptTimes(visible=at(9), focused=at(3), draft=at(9))}
    )
    assert open_question.list_receipts() == [(at(1), at(2), at(3), at(4))]


def test_save_receipts_of_a_visible_card_implies_delivery(open_question: OpenQuestion):
    receipt_log.save_receipts({open_question.pair: ReceiptTimes(visible=at(2), focused=at(3))})
    assert open_question.list_receipts() == [(at(2), at(2), at(3), None)]


@pytest.mark.parametrize("role", [Role.READER, None])
def test_save_receipts_ignores_people_who_may_not_answer(
    open_question: OpenQuestion, role: Role | None
):
    eve = making.person("eve", role, open_question.workspace)
    receipts = {
        (open_question.row.pk, eve.pk): ReceiptTimes(visible=at(1)),
        open_question.pair: ReceiptTimes(visible=at(2)),
    }
    assert receipt_log.save_receipts(receipts) == [open_question.pair]
    assert len(open_question.list_receipts()) == 1


def test_a_deactivated_person_leaves_no_trace(open_question: OpenQuestion):
    Person.objects.update(is_active=False)
    assert receipt_log.save_receipts({open_question.pair: ReceiptTimes(visible=at(1))}) == []


def test_a_question_that_is_none_leaves_no_trace(open_question: OpenQuestion):
    assert (
        receipt_log.save_receipts({(10**9, open_question.ada.pk): ReceiptTimes(visible=at(1))})
        == []
    )
    assert receipt_log.save_receipts({}) == []
    assert open_question.list_receipts() == []


@pytest.mark.parametrize("many", [1, 300])
def test_save_receipts_takes_three_statements_for_any_number(
    open_question: OpenQuestion, many: int
):
    people = [making.person(f"p{n}", Role.RESPONDER, open_question.workspace) for n in range(many)]
    receipts = {
        (open_question.row.pk, person.pk): ReceiptTimes(delivered=at(1)) for person in people
    }
    with CaptureQueriesContext(connection) as captured:
        receipt_log.save_receipts(receipts)
    statements = [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]
    assert len(statements) == 3
    assert len(open_question.list_receipts()) == many


def test_save_receipts_skips_only_deleted_questions(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
):
    open_question = OpenQuestion()
    lost_key: ReceiptKey = (10**9, open_question.ada.pk)
    receipts = {
        open_question.pair: ReceiptTimes(visible=at(1)),
        lost_key: ReceiptTimes(visible=at(1)),
    }
    allowed_keys = [{open_question.pair, lost_key}, {open_question.pair}]
    monkeypatch.setattr(receipt_log, "_filter_allowed", lambda _seen: allowed_keys.pop(0))
    assert receipt_log.save_receipts(receipts) == [open_question.pair]
    assert len(open_question.list_receipts()) == 1
    allowed_keys.extend([{lost_key}, {lost_key}])
    assert receipt_log.save_receipts(receipts) == []


def test_receipt_proof_names_the_first_person_of_each_stage(open_question: OpenQuestion):
    bea = making.person("bea", Role.OWNER, open_question.workspace)
    receipt_log.save_receipts(
        {
            open_question.pair: ReceiptTimes(delivered=at(1), visible=at(9)),
            (open_question.row.pk, bea.pk): ReceiptTimes(
                delivered=at(2), visible=at(3), draft=at(5)
            ),
        }
    )
    address = NotificationDestination.objects.create(
        person=bea, workspace=open_question.workspace, url="mailto://x", delay=1
    )
    NotificationDelivery.objects.create(
        destination=address, inquiry=open_question.row, sent_at=at(7), problem="full"
    )
    proof = receipt_log.get_receipt_log(open_question.row.pk)
    assert (proof.delivered_count, [row.person for row in proof.display_receipts]) == (
        2,
        [open_question.ada, bea],
    )
    assert (proof.notification_count, [row.problem for row in proof.notifications]) == (1, ["full"])
    earliest_people = {
        column: earliest and earliest.person
        for column in ("delivered_at", "visible_at", "focused_at", "draft_at")
        for earliest in [receipt_log.find_earliest(proof.display_receipts, column)]
    }
    assert earliest_people == {
        "delivered_at": open_question.ada, "visible_at": bea, "focused_at": None, "draft_at": bea
    }  # fmt: skip
    assert receipt_log.get_receipt_log(
        making.question(open_question.run).pk
    ) == receipt_log.ReceiptLog(0, [], 0, [])
