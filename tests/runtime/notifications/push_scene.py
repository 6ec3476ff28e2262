"""A person with a browser that push messages reach, and rounds that send them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.periodic import send_notifications
from jpweb.store.choices import Role
from jpweb.store.models import Person
from jpweb.store.notifications import deliveries, push_subscriptions
from jpweb.store.people import sessions
from jpweb.store.people.sessions import SessionStore
from tests.runtime.notifications.push_service import PushService
from tests.store import making


def sign_in(person: Person) -> str:
    """Begin a session of a person; return the hash of its key."""
    session = SessionStore()
    session["_auth_user_id"] = str(person.pk)
    session[sessions.BROWSER_KEY] = "Firefox on Linux"
    session.create()
    assert session.session_key
    return sessions.hash_key(session.session_key)


class PushScene:
    """A run with questions, and a person who has turned on a browser."""

    def __init__(self, service: PushService) -> None:
        self.workspace = making.workspace("Garden")
        self.ada = making.person("ada", Role.RESPONDER, self.workspace)
        self.conversation = making.conversation(self.workspace, "A talk", self.ada)
        self.run = making.start_run(self.conversation, self.ada)
        self.key = sign_in(self.ada)
        self.browser = push_subscriptions.save_subscription(
            self.key, **service.make_subscription(), delay=0
        )


async def change_rights(
    change: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, *, is_claimed: bool
) -> None:
    """Make a change now, or in the next round between list and claim."""
    if not is_claimed:
        await run_in_db_thread(change)
        return
    list_due = deliveries.list_due

    def list_and_change(limit: int) -> Any:
        due = list_due(limit)
        change()
        return due

    monkeypatch.setattr(deliveries, "list_due", list_and_change)


async def send(count: int) -> None:
    assert await send_notifications.send_due_notifications() == count
