"""Mentions by Web Push: sent once, without the comment's words, to who may read and wants them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import accounts
from jpweb.store.annotations import mentions, threads
from jpweb.store.choices import Role
from jpweb.store.models import Inquiry, Membership, Mention, Person, PushSubscription
from jpweb.store.notifications import push_subscriptions
from tests.runtime.notifications.push_scene import PushScene, change_rights, send, sign_in
from tests.runtime.notifications.push_service import PushService
from tests.store import making

CANARY = "canary-5e1b"


async def mention(stage: PushScene) -> Mention:
    """Mention the person in a comment of another member; that was a minute ago."""

    def add() -> Mention:
        author = making.person("grace", Role.READER, stage.workspace)
        anchor = making.question(stage.run).anchor
        making.settle(Inquiry.objects.get(), making.ANSWER)
        threads.add_comment(stage.conversation, anchor, author, f"@ada @grace {CANARY}")
        Mention.objects.update(made_at=timezone.now() - timedelta(minutes=1))
        PushSubscription.objects.update(added_at=timezone.now() - timedelta(minutes=2))
        return Mention.objects.get()

    row: Mention = await run_in_db_thread(add)
    return row


async def test_a_mention_is_sent_once_without_the_words(stage: PushScene, service: PushService):
    row = await mention(stage)
    await send(1)
    await send(0)
    (message,) = service.read_messages
    thread = await run_in_db_thread(lambda: row.comment.thread)
    assert message == {
        "title": "Grace mentioned you in Garden",
        "body": "In a comment on “A talk”.",
        "tag": f"mention-{row.pk}",
        "url": f"/conversations/{stage.conversation.pk}/comments/{thread.anchor}",
    }


async def test_a_mention_is_not_sent_to_a_browser_that_was_added_later(
    stage: PushScene, service: PushService
):
    await mention(stage)

    def add_browser() -> None:
        key = sign_in(stage.ada)
        push_subscriptions.save_subscription(key, **service.make_subscription("/new"), delay=0)

    await run_in_db_thread(add_browser)
    await send(1)
    assert [message.path for message in service.messages] == ["/push/a-browser"]


@pytest.mark.parametrize(
    ("change", "count"),
    [("reader", 1), ("outsider", 0), ("inactive", 0), ("turned off", 0), ("seen", 0)],
)
@pytest.mark.parametrize("is_claimed", [False, True], ids=["before", "between list and claim"])
async def test_push_mention_goes_to_readers_who_enabled_mentions(
    stage: PushScene, monkeypatch: pytest.MonkeyPatch, change: str, count: int, is_claimed: bool
):
    await mention(stage)
    changes: dict[str, Callable[[], Any]] = {
        "reader": lambda: Membership.objects.update(role=Role.READER),
        "outsider": lambda: Membership.objects.filter(person=stage.ada).delete(),
        "inactive": lambda: Person.objects.update(is_active=False),
        "turned off": lambda: accounts.set_notified_of_mentions(stage.ada.pk, is_on=False),
        "seen": lambda: mentions.mark_seen(stage.ada.pk, Mention.objects.get().pk),
    }
    await change_rights(changes[change], monkeypatch, is_claimed=is_claimed)
    await send(count)
