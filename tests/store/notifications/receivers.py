"""Channels of people, made for tests of notifications."""

from __future__ import annotations

from typing import Any

from jpweb.store.choices import Role
from jpweb.store.models import NotificationDestination, Person, Run
from tests.store import making


def address(
    run: Run, delay: int = 0, role: Role = Role.RESPONDER, **fields: Any
) -> NotificationDestination:
    workspace = run.conversation.workspace
    recipient: Person = fields.pop("person", None) or making.person("", role, workspace)
    return NotificationDestination.objects.create(
        person=recipient, workspace=workspace, url="ntfy://t", delay=delay
    )
