from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from jpweb.store.annotations import threads
from jpweb.store.ledger import retention
from jpweb.store.maintenance import cleanup
from jpweb.store.models import (
    AnswerLink,
    Inquiry,
    JournalEntry,
    Mention,
    NotificationDelivery,
    NotificationDestination,
    Presence,
    PushDelivery,
    PushSubscription,
    SignIn,
    SignInLink,
    TaskLease,
)
from jpweb.stream.events import ChatRequest
from jpweb.stream.inquiry import Answered
from tests.store import making

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def address() -> NotificationDestination:
    person, workspace = making.person(), making.workspace()
    return NotificationDestination.objects.create(
        person=person, workspace=workspace, url="json://x", delay=60
    )


def notice(days: int, inquiry: Inquiry | None = None) -> NotificationDelivery:
    sent_at = timezone.now() - days * DAY
    return NotificationDelivery.objects.create(
        destination=address(), inquiry=inquiry, sent_at=sent_at
    )


@pytest.fixture
def question() -> Inquiry:
    return making.question(making.start_run(making.conversation(making.workspace())))


def test_cleanup_deletes_links_a_month_after_expiry(question: Inquiry):
    person = making.person()
    for number, days in enumerate((31, 29, -1)):
        fields = {"token_hash": str(number), "expires_at": timezone.now() - days * DAY}
        SignInLink.objects.create(person=person, **fields)
        AnswerLink.objects.create(person=person, inquiry=question, **fields)
    cleanup.delete_old_rows()
    for model in (SignInLink, AnswerLink):
        hashes = model.objects.values_list("token_hash", flat=True)
        assert sorted(hashes) == ["1", "2"]


def test_cleanup_deletes_notices_after_a_month(question: Inquiry):
    making.settle(question, Answered(True))
    recent_notice = notice(29, question)
    notice(31, question)
    cleanup.delete_old_rows()
    assert list(NotificationDelivery.objects.all()) == [recent_notice]


def test_cleanup_keeps_notices_of_open_questions_and_approvals(question: Inquiry):
    """Otherwise people would be told of it again."""
    assert question.run is not None
    prompt = making.prompt(question.run)
    of_question, of_prompt = notice(99, question), notice(99)
    NotificationDelivery.objects.filter(pk=of_prompt.pk).update(approval=prompt)
    cleanup.delete_old_rows()
    assert {delivery.pk for delivery in NotificationDelivery.objects.all()} == {
        of_question.pk,
        of_prompt.pk,
    }


def test_cleanup_deletes_push_messages_after_a_month_unless_open(question: Inquiry):
    person, moment = making.person(), timezone.now()
    sign_in = SignIn.objects.create(
        key_hash="browser", data="", expires_at=moment + DAY, seen_at=moment, person=person
    )
    browser = PushSubscription.objects.create(person=person, sign_in=sign_in, delay=60)
    assert question.run is not None
    settled = making.settle(making.question(question.run, text="And?"), Answered(True))
    for inquiry in (question, settled):
        PushDelivery.objects.create(
            person=person, subscription=browser, inquiry=inquiry, sent_at=moment - 31 * DAY
        )
    recent = PushDelivery.objects.create(
        person=person, inquiry=settled, sent_at=moment - 29 * DAY, return_number=1
    )
    sign_in.delete()
    cleanup.delete_old_rows()
    messages = list(PushDelivery.objects.order_by("sent_at"))
    assert [message.inquiry for message in messages] == [question, settled]
    assert messages[1] == recent


def test_cleanup_keeps_notices_of_unseen_mentions():
    """Otherwise people would be told of it each month."""
    conversation = making.mirrored_conversation(making.workspace(), ChatRequest("Hello"))
    anchor = JournalEntry.objects.get().anchor
    comment = threads.add_comment(conversation, anchor, making.person("author"), "Look")
    unseen_mention, seen_mention = (
        Mention.objects.create(person=making.person(name), comment=comment) for name in ("a", "b")
    )
    Mention.objects.filter(pk=seen_mention.pk).update(seen_at=timezone.now())
    for mention in (unseen_mention, seen_mention):
        NotificationDelivery.objects.filter(pk=notice(31).pk).update(mention=mention)
    cleanup.delete_old_rows()
    assert [delivery.mention for delivery in NotificationDelivery.objects.all()] == [unseen_mention]


def test_cleanup_deletes_presence_after_a_day():
    workspace = making.workspace()
    for name, hours in (("dead", 25), ("alive", 1)):
        Presence.objects.create(
            person=making.person(),
            workspace=workspace,
            process=name,
            seen_at=timezone.now() - timedelta(hours=hours),
        )
    cleanup.delete_old_rows()
    assert [presence.process for presence in Presence.objects.all()] == ["alive"]


def test_cleanup_deletes_leases_of_killed_processes_after_a_day():
    for name, hours in (("dead", 25), ("restarting", 1)):
        lease_until = timezone.now() - timedelta(hours=hours)
        TaskLease.objects.create(name=name, holder=name, lease_until=lease_until)
    cleanup.delete_old_rows()
    assert [lease.name for lease in TaskLease.objects.all()] == ["restarting"]


def test_cleanup_deletes_expired_and_idle_sessions():
    for name, days_left, idle in (("over", -1, 0), ("idle", 1, 1), ("lasts", 1, 0)):
        moment = timezone.now()
        SignIn.objects.create(
            key_hash=name, data="", expires_at=moment + days_left * DAY, seen_at=moment - idle * DAY
        )
    cleanup.delete_old_rows()
    assert [sign_in.pk for sign_in in SignIn.objects.all()] == ["lasts"]


def test_cleanup_deletes_sessions_although_the_ledger_purge_fails(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_arguments: Any) -> int:
        raise OperationalError("database is locked")

    monkeypatch.setattr(retention, "purge_all", fail)
    settings.LEDGER_READ_DAYS = 30
    moment = timezone.now()
    SignIn.objects.create(key_hash="over", data="", expires_at=moment - DAY, seen_at=moment)
    with pytest.raises(OperationalError):
        cleanup.delete_old_rows()
    assert not SignIn.objects.exists()
