"""The socket of a page: hears what changed, reads it anew, sends fragments."""

from __future__ import annotations

import json
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.core.exceptions import PermissionDenied
from django.http import Http404

from jpweb.runtime import presence
from jpweb.runtime.crossing import in_store
from jpweb.runtime.signals import announce
from jpweb.store import accounts
from jpweb.store.terms import Role
from jpweb.web import access, changes

#: Close codes that tell the browser not to come back.
SIGNED_OUT, FORBIDDEN, MALFORMED = 4401, 4404, 4400
#: What an access rule raises for those whom it does not let in.
BARRED = (Http404, PermissionDenied)
#: The largest key that a database has.
LARGEST = 2**63 - 1


class PageConsumer(AsyncWebsocketConsumer):
    """One page. It joins its groups first, then sends what the page lacks, then what changes."""

    person: int | None = None
    conversation: int | None = None
    page = changes.Shown()
    shown: changes.Cards | None = None

    async def connect(self) -> None:
        await self.accept()
        user = self.scope["user"]
        if user is None or not user.is_authenticated:
            await self.close(SIGNED_OUT)
            return
        self.person = user.pk
        session = self.scope.get("session")
        if session is not None and session.session_key:
            await self._join(announce.session_group(session.session_key))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Take the page's word for what it shows; sent on every connection."""
        if self.person is None:
            return
        try:
            says = json.loads(text_data or "")
            conversation = says.get("conversation")
            self.conversation = None if conversation is None else _whole(conversation)
            self.page = changes.Shown(
                _whole(says.get("length") or 0),
                _whole(says.get("revision") or 0),
                str(says.get("run") or ""),
                str(says.get("facts") or ""),
            )
            shown = changes.Cards(_keys(says.get("shown")), _keys(says.get("prompts")))
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            await self._leave(MALFORMED)
            return
        if self.conversation is not None:
            await self._join(announce.conversation_group(self.conversation))
        answers_in = await in_store(accounts.workspaces, self.person, Role.RESPONDER)
        for workspace in answers_in:
            await self._join(announce.workspace_group(workspace.pk))
        presence.arrive(self.channel_name, (workspace.pk for workspace in answers_in))
        self.shown = shown if says.get("desk") else None
        if self.conversation is not None:
            await self.conversation_changed({})
        await self.questions_changed({})

    async def disconnect(self, code: int) -> None:
        presence.leave(self.channel_name)

    async def session_ended(self, event: dict[str, Any]) -> None:
        await self._leave(SIGNED_OUT)

    async def conversation_changed(self, event: dict[str, Any]) -> None:
        if self.person is None or self.conversation is None:
            return
        try:
            new = await in_store(changes.conversation, self.person, self.conversation, self.page)
        except BARRED:
            await self._leave(FORBIDDEN)
            return
        self.page = new.page
        if new.html:
            await self.send(new.html)

    async def questions_changed(self, event: dict[str, Any]) -> None:
        if self.person is None:
            return
        html, cards = await in_store(changes.desk, self.person, self.conversation, self.shown)
        if self.shown is not None:
            self.shown = cards
        await self.send(html)

    async def conversation_partial(self, event: dict[str, Any]) -> None:
        if self.person is None or self.conversation is None:
            return
        try:
            # Nothing is read for it, but who may read can change while a text comes in.
            await in_store(access.readable, self.person, self.conversation)
        except BARRED:
            await self._leave(FORBIDDEN)
            return
        await self.send(changes.partial(event["variant"], event["text"]))

    async def _leave(self, code: int) -> None:
        """Close, and send nothing more: signals still come until the groups are left."""
        self.person = self.conversation = None
        await self.close(code)

    async def _join(self, group: str) -> None:
        if group not in self.groups:
            self.groups.append(group)
            await self.channel_layer.group_add(group, self.channel_name)


def _keys(values: Any) -> frozenset[int]:
    """Read a list of keys. Raises ValueError, TypeError, OverflowError."""
    return frozenset(_whole(key) for key in values or [])


def _whole(value: Any) -> int:
    """Read a key or a count. Raises ValueError, TypeError, OverflowError."""
    number = int(value)
    if not 0 <= number <= LARGEST:
        raise ValueError(number)
    return number
