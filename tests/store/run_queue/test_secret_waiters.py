from __future__ import annotations

import pytest

from jpweb.store import inquiries
from jpweb.store.models import Inquiry, Run
from jpweb.store.run_queue import secret_waiters
from jpweb.stream.answer_type import Secret
from jpweb.stream.inquiry import Redacted
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return making.start_run(making.conversation(making.workspace()))


@pytest.fixture
def row(run: Run) -> Inquiry:
    return making.question(run, Secret())


def get_waiter(row: Inquiry) -> tuple[str, str]:
    current_row = inquiries.get_inquiry(row.pk)
    return current_row.waiter, current_row.seal_key


def test_register_waiter_records_the_waiter_until_unregistered(run: Run, row: Inquiry):
    assert get_waiter(row) == ("", "")
    leased_run, is_sent = secret_waiters.register_waiter(row.pk, "one", "key 1")
    assert leased_run is not None
    assert not is_sent
    assert (leased_run.pk, leased_run.fence) == (run.pk, run.fence)
    assert get_waiter(row) == ("one", "key 1")
    assert secret_waiters.unregister_waiter(row.pk, "one", "key 1")
    assert get_waiter(row) == ("", "")


@pytest.mark.parametrize("later_waiter", [("two", "key 2"), ("one", "key 2"), ("two", "key 1")])
def test_unregister_waiter_keeps_a_later_waiter(row: Inquiry, later_waiter: tuple[str, str]):
    secret_waiters.register_waiter(row.pk, "one", "key 1")
    secret_waiters.register_waiter(row.pk, *later_waiter)
    assert not secret_waiters.unregister_waiter(row.pk, "one", "key 1")
    assert get_waiter(row) == later_waiter


def test_register_waiter_ignores_a_settled_question(row: Inquiry):
    making.settle(row, Redacted())
    secret_waiters.register_waiter(row.pk, "one", "key 1")
    assert get_waiter(row) == ("", "")


def test_a_place_is_left_also_once_the_question_is_settled(row: Inquiry):
    secret_waiters.register_waiter(row.pk, "one", "key 1")
    making.settle(row, Redacted())
    assert secret_waiters.unregister_waiter(row.pk, "one", "key 1")
    assert get_waiter(row) == ("", "")


def test_register_waiter_ignores_an_unknown_question():
    assert secret_waiters.register_waiter(10**9, "one", "key 1") == (None, False)
    assert not secret_waiters.unregister_waiter(10**9, "one", "key 1")


def test_wait_after_a_secret_was_sent_says_so_once(row: Inquiry):
    assert secret_waiters.mark_secret_sent(inquiries.get_inquiry(row.pk))
    assert secret_waiters.mark_secret_sent(inquiries.get_inquiry(row.pk))
    assert get_waiter(row) == ("", secret_waiters.SENT_MARK)
    assert secret_waiters.register_waiter(row.pk, "one", "key 1")[1]
    assert get_waiter(row) == ("one", "key 1")
    assert not secret_waiters.register_waiter(row.pk, "two", "key 2")[1]


def test_note_sent_of_a_row_that_has_changed_takes_nobodys_place(row: Inquiry):
    before = inquiries.get_inquiry(row.pk)
    secret_waiters.register_waiter(row.pk, "one", "key 1")
    assert not secret_waiters.mark_secret_sent(before)
    assert get_waiter(row) == ("one", "key 1")
