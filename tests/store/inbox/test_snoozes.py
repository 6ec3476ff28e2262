from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jpweb.store import approvals
from jpweb.store.choices import Role
from jpweb.store.database import clock
from jpweb.store.inbox import snoozes
from jpweb.store.models import Inquiry, Person, QuestionSnooze
from jpweb.stream.inquiry import Answered
from tests.store import making

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture
def question() -> Inquiry:
    return making.question(making.start_run(making.conversation(making.workspace())))


@pytest.fixture
def ada(question: Inquiry) -> Person:
    return making.person("ada", Role.RESPONDER, question.conversation.workspace)


def test_snooze_question_hides_it_from_its_person_alone(question: Inquiry, ada: Person):
    ben = making.person("ben", Role.RESPONDER, question.conversation.workspace)
    until = clock.now() + HOUR
    assert snoozes.snooze_question(question, ada.pk, until) == until
    assert (approvals.list_waiting(ada.pk), approvals.count_waiting(ada.pk)) == ([], 0)
    assert approvals.count_waiting_by_workspace(ada.pk) == {}
    assert approvals.list_waiting(ben.pk) == [question]
    assert approvals.count_waiting(ben.pk) == 1
    assert snoozes.list_snoozed(ada.pk) == [snoozes.SnoozedRow(question, until)]
    assert snoozes.list_snoozed(ben.pk) == []


def test_wake_question_brings_it_back(question: Inquiry, ada: Person):
    snoozes.snooze_question(question, ada.pk, clock.now() + HOUR)
    snoozes.wake_question(question, ada.pk)
    assert approvals.list_waiting(ada.pk) == [question]


def test_snooze_that_ended_hides_nothing(question: Inquiry, ada: Person):
    snoozes.snooze_question(question, ada.pk, clock.now() + HOUR)
    assert snoozes.delete_ended() == set()
    # A second earlier: the server's clock may be behind this one by half a round trip.
    QuestionSnooze.objects.update(until=clock.now() - timedelta(seconds=1))
    assert approvals.list_waiting(ada.pk) == [question]
    assert snoozes.list_snoozed(ada.pk) == []
    assert snoozes.delete_ended() == {question.workspace_id}
    assert not QuestionSnooze.objects.exists()


def test_snooze_of_a_settled_question_is_listed_no_longer(question: Inquiry, ada: Person):
    snoozes.snooze_question(question, ada.pk, clock.now() + HOUR)
    making.settle(question, Answered(True))
    assert (snoozes.list_snoozed(ada.pk), snoozes.list_keys([ada.pk])) == ([], {})
    assert snoozes.snooze_question(question, ada.pk, clock.now() + HOUR) is None


@pytest.mark.parametrize(("minutes", "snoozed_minutes"), [(30, 25), (120, 60), (4, None)])
def test_snooze_question_ends_five_minutes_before_expiry(
    question: Inquiry, ada: Person, minutes: int, snoozed_minutes: int | None
):
    now = clock.now()
    question.expires_at = now + timedelta(minutes=minutes)
    question.save(update_fields=["expires_at"])
    until = snoozes.snooze_question(question, ada.pk, now + HOUR)
    assert until == (now + timedelta(minutes=snoozed_minutes) if snoozed_minutes else None)
    rows = snoozes.list_snoozed(ada.pk)
    assert [row.is_shortened for row in rows] == ([minutes == 30] if until else [])


@pytest.mark.parametrize(
    ("choice", "zone", "expected"),
    [
        ("10min", "", datetime(2026, 5, 31, 22, 40, tzinfo=UTC)),
        ("1h", "", datetime(2026, 5, 31, 23, 30, tzinfo=UTC)),
        ("tomorrow", "", datetime(2026, 6, 1, 8, tzinfo=UTC)),
        ("tomorrow", "../etc/passwd", datetime(2026, 6, 1, 8, tzinfo=UTC)),
        # There it is the first of June already.
        ("tomorrow", "Asia/Tokyo", datetime(2026, 6, 1, 23, tzinfo=UTC)),
        ("tomorrow", "America/New_York", datetime(2026, 6, 1, 12, tzinfo=UTC)),
        ("never", "", None),
    ],
)
def test_find_end_is_the_time_in_the_zone_of_the_person(
    monkeypatch: pytest.MonkeyPatch, choice: str, zone: str, expected: datetime | None
):
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 5, 31, 22, 30, tzinfo=UTC))
    assert snoozes.find_end(choice, zone) == expected
