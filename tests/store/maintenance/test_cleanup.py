from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jpweb.store.maintenance import cleanup
from jpweb.store.models import (
    AnswerLink,
    Inquiry,
    NotificationDelivery,
    NotificationDestination,
    Presence,
    SignIn,
    SignInLink,
)
from jpweb.stream.inquiry import Answered
from tests.store import making

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def address() -> NotificationDestination:
    who, home = making.person(), making.workspace()
    return NotificationDestination.objects.create(
        person=who, workspace=home, url="json://x", delay=60
    )


def notice(days: int, inquiry: Inquiry | None = None) -> NotificationDelivery:
    sent = timezone.now() - days * DAY
    return NotificationDelivery.objects.create(destination=address(), inquiry=inquiry, sent_at=sent)


@pytest.fixture
def question() -> Inquiry:
    return making.question(making.running(making.conversation(making.workspace())))


def test_links_go_a_month_after_they_expired(question: Inquiry):
    who = making.person()
    for number, days in enumerate((31, 29, -1)):
        over = {"token_hash": str(number), "expires_at": timezone.now() - days * DAY}
        SignInLink.objects.create(person=who, **over)
        AnswerLink.objects.create(person=who, inquiry=question, **over)
    cleanup.delete_old_rows()
    for kept in (SignInLink, AnswerLink):
        left = kept.objects.values_list("token_hash", flat=True)
        assert sorted(left) == ["1", "2"]


def test_notices_go_after_a_month(question: Inquiry):
    making.settle(question, Answered(True))
    kept = notice(29, question)
    notice(31, question)
    cleanup.delete_old_rows()
    assert list(NotificationDelivery.objects.all()) == [kept]


def test_a_notice_stays_while_its_question_or_prompt_waits(question: Inquiry):
    """Otherwise people would be told of it again."""
    assert question.run is not None
    asks = making.prompt(question.run)
    of_question, of_prompt = notice(99, question), notice(99)
    NotificationDelivery.objects.filter(pk=of_prompt.pk).update(approval=asks)
    cleanup.delete_old_rows()
    assert {each.pk for each in NotificationDelivery.objects.all()} == {
        of_question.pk,
        of_prompt.pk,
    }


def test_a_presence_goes_after_a_day():
    home = making.workspace()
    for name, hours in (("dead", 25), ("alive", 1)):
        Presence.objects.create(
            person=making.person(),
            workspace=home,
            process=name,
            seen_at=timezone.now() - timedelta(hours=hours),
        )
    cleanup.delete_old_rows()
    assert [each.process for each in Presence.objects.all()] == ["alive"]


def test_sessions_go_once_they_expired_or_were_idle():
    for name, left, idle in (("over", -1, 0), ("idle", 1, 1), ("lasts", 1, 0)):
        now = timezone.now()
        SignIn.objects.create(
            key_hash=name, data="", expires_at=now + left * DAY, seen_at=now - idle * DAY
        )
    cleanup.delete_old_rows()
    assert [each.pk for each in SignIn.objects.all()] == ["lasts"]
