"""Messages to browsers in backups, which hold no subscriptions."""

from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.store import accounts
from jpweb.store.backups import restoration, snapshot
from jpweb.store.inbox import receipt_log
from jpweb.store.models import PushDelivery
from jpweb.store.notifications import push_subscriptions
from tests.runtime.notifications.push_scene import sign_in
from tests.runtime.notifications.push_service import PushService
from tests.store import making


@pytest.mark.django_db(transaction=True)
def test_restored_messages_to_browsers_keep_their_person(tmp_path: Path):
    owner, file = accounts.get_or_create_owner(), tmp_path / "jpweb.backup"
    question = making.question(making.start_run(making.conversation(making.workspace())))
    key, service = sign_in(owner), PushService()
    browser = push_subscriptions.save_subscription(key, **service.make_subscription(), delay=0)
    PushDelivery.objects.create(person=owner, subscription=browser, inquiry=question)
    snapshot.write_backup(file, lambda _done, _total: None)
    restoration.restore_backup(file, lambda _done, _total: None, replace=True)
    (notification,) = receipt_log.get_receipt_log(question.pk).notifications
    assert (notification.person, notification.is_in_browser) == (owner, True)
    assert PushDelivery.objects.get().subscription is None
