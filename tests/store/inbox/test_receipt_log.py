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
from jpweb.store.models import DisplayReceipt, NotificationDelivery, NotificationDestination
from tests.store import making

NOW = timezone.now().replace(microsecond=0)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


class Asked:
    """An open question and somebody who may answer it."""

    def __init__(self) -> None:
        self.home = making.workspace()
        self.run = making.running(making.conversation(self.home))
        self.row = making.question(self.run)
        self.ada = making.person("ada", Role.RESPONDER, self.home)
        self.pair: ReceiptKey = (self.row.pk, self.ada.pk)

    def kept(self) -> list[tuple[Any, ...]]:
        columns = ("delivered_at", "visible_at", "focused_at", "draft_at")
        return list(DisplayReceipt.objects.order_by("person_id").values_list(*columns))


@pytest.fixture
def asked(db: None) -> Asked:
    return Asked()


def test_what_is_seen_is_added_and_the_first_time_stays(asked: Asked):
    assert receipt_log.save_receipts({asked.pair: ReceiptTimes(delivered=at(1))}) == [asked.pair]
    receipt_log.save_receipts(
        {asked.pair: ReceiptTimes(delivered=at(5), visible=at(2), draft=at(4))}
    )
    receipt_log.save_receipts({asked.pair: ReceiptTimes(visible=at(9), focused=at(3), draft=at(9))})
    assert asked.kept() == [(at(1), at(2), at(3), at(4))]


def test_who_saw_a_card_had_it_delivered(asked: Asked):
    receipt_log.save_receipts({asked.pair: ReceiptTimes(visible=at(2), focused=at(3))})
    assert asked.kept() == [(at(2), at(2), at(3), None)]


@pytest.mark.parametrize("role", [Role.READER, None])
def test_who_may_not_answer_leaves_no_trace(asked: Asked, role: Role | None):
    eve = making.person("eve", role, asked.home)
    seen = {
        (asked.row.pk, eve.pk): ReceiptTimes(visible=at(1)),
        asked.pair: ReceiptTimes(visible=at(2)),
    }
    assert receipt_log.save_receipts(seen) == [asked.pair]
    assert len(asked.kept()) == 1


def test_a_question_that_is_none_leaves_no_trace(asked: Asked):
    assert receipt_log.save_receipts({(10**9, asked.ada.pk): ReceiptTimes(visible=at(1))}) == []
    assert receipt_log.save_receipts({}) == []
    assert asked.kept() == []


@pytest.mark.parametrize("many", [1, 300])
def test_many_cost_what_one_costs(asked: Asked, many: int):
    people = [making.person(f"p{n}", Role.RESPONDER, asked.home) for n in range(many)]
    seen = {(asked.row.pk, each.pk): ReceiptTimes(delivered=at(1)) for each in people}
    with CaptureQueriesContext(connection) as captured:
        receipt_log.save_receipts(seen)
    sent = [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]
    assert len(sent) == 3
    assert len(asked.kept()) == many


def test_a_question_that_goes_before_it_is_written_costs_the_others_nothing(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
):
    asked = Asked()
    gone: ReceiptKey = (10**9, asked.ada.pk)
    seen = {asked.pair: ReceiptTimes(visible=at(1)), gone: ReceiptTimes(visible=at(1))}
    looked = [{asked.pair, gone}, {asked.pair}]
    monkeypatch.setattr(receipt_log, "_filter_allowed", lambda _seen: looked.pop(0))
    assert receipt_log.save_receipts(seen) == [asked.pair]
    assert len(asked.kept()) == 1
    looked.extend([{gone}, {gone}])
    assert receipt_log.save_receipts(seen) == []


def test_the_proof_names_who_was_first_at_each(asked: Asked):
    bea = making.person("bea", Role.OWNER, asked.home)
    receipt_log.save_receipts(
        {
            asked.pair: ReceiptTimes(delivered=at(1), visible=at(9)),
            (asked.row.pk, bea.pk): ReceiptTimes(delivered=at(2), visible=at(3), draft=at(5)),
        }
    )
    address = NotificationDestination.objects.create(
        person=bea, workspace=asked.home, url="mailto://x", delay=1
    )
    NotificationDelivery.objects.create(
        destination=address, inquiry=asked.row, sent_at=at(7), problem="full"
    )
    proof = receipt_log.get_receipt_log(asked.row.pk)
    assert (proof.delivered_count, [row.person for row in proof.display_receipts]) == (
        2,
        [asked.ada, bea],
    )
    assert (proof.notification_count, [row.problem for row in proof.notifications]) == (1, ["full"])
    who = {
        column: seen and seen.person
        for column in ("delivered_at", "visible_at", "focused_at", "draft_at")
        for seen in [receipt_log.find_earliest(proof.display_receipts, column)]
    }
    assert who == {
        "delivered_at": asked.ada, "visible_at": bea, "focused_at": None, "draft_at": bea
    }  # fmt: skip
    assert receipt_log.get_receipt_log(making.question(asked.run).pk) == receipt_log.ReceiptLog(
        0, [], 0, []
    )
