"""Browsers with Web Push: whose they are, how many, and which address they have."""

from __future__ import annotations

import pytest

from jpweb.store.choices import Role
from jpweb.store.models import PushSubscription
from jpweb.store.notifications import deliveries, push_subscriptions
from tests.runtime.notifications.push_scene import sign_in
from tests.runtime.notifications.push_service import PushService
from tests.store import making


def test_a_late_reply_about_an_earlier_address_forgets_no_later_one(db: None):
    key, service = sign_in(making.person("ada")), PushService()
    earlier = push_subscriptions.save_subscription(key, **service.make_subscription(), delay=0)
    later_subscription = service.make_subscription("/push/new")
    push_subscriptions.save_subscription(key, **later_subscription, delay=0)
    push_subscriptions.forget_subscription(earlier)
    assert PushSubscription.objects.get().endpoint == later_subscription["endpoint"]


def test_a_gone_browser_that_is_turned_on_again_gets_nothing_once_more(db: None):
    workspace = making.workspace("Garden")
    ada = making.person("ada", Role.RESPONDER, workspace)
    run = making.start_run(making.conversation(workspace, "A talk", ada), ada)
    making.question(run)
    key, service = sign_in(ada), PushService()
    gone_subscription = push_subscriptions.save_subscription(
        key, **service.make_subscription(), delay=0
    )
    (due,) = deliveries.list_due(10)
    assert deliveries.claim_delivery(due)
    push_subscriptions.forget_subscription(gone_subscription)
    later_question = making.question(run)
    assert deliveries.list_due(10) == []
    again = push_subscriptions.save_subscription(key, **service.make_subscription("/b"), delay=0)
    assert (again.pk, again.is_gone, again.problem) == (gone_subscription.pk, False, "")
    assert [due.inquiry_id for due in deliveries.list_due(10)] == [later_question.pk]


def test_push_subscription_belongs_to_the_last_person_who_enabled_it(db: None):
    workspace = making.workspace("Garden")
    subscription = PushService().make_subscription()
    people = [making.person(name, Role.RESPONDER, workspace) for name in ("ada", "grace")]
    for person in people:
        push_subscriptions.save_subscription(sign_in(person), **subscription, delay=0)
    assert [row.person for row in PushSubscription.objects.all()] == [people[1]]


def test_a_browser_at_the_limit_can_be_changed(db: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(push_subscriptions, "MAX_SUBSCRIPTIONS", 1)
    key, subscription = sign_in(making.person("ada")), PushService().make_subscription()
    push_subscriptions.save_subscription(key, **subscription, delay=0)
    PushSubscription.objects.update(problem="It failed.")
    push_subscriptions.save_subscription(key, **subscription, delay=60)
    row = PushSubscription.objects.get()
    assert (row.delay, row.problem) == (60, "")


def test_browsers_of_one_person_are_limited(db: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(push_subscriptions, "MAX_SUBSCRIPTIONS", 1)
    ada, service = making.person("ada"), PushService()
    push_subscriptions.save_subscription(sign_in(ada), **service.make_subscription(), delay=0)
    with pytest.raises(push_subscriptions.SubscriptionRefused, match="You have 1 browsers"):
        push_subscriptions.save_subscription(
            sign_in(ada), **service.make_subscription("/other"), delay=0
        )


def test_a_sign_in_that_ended_takes_no_subscription(db: None):
    with pytest.raises(push_subscriptions.SubscriptionRefused, match="Sign in again"):
        push_subscriptions.save_subscription("0" * 64, **PushService().make_subscription(), delay=0)
