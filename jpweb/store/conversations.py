"""Conversations: fetch, begin."""

from __future__ import annotations

import re

from django.db import IntegrityError, transaction

from jpweb.store.database import clock
from jpweb.store.disk import workspace
from jpweb.store.errors import UnknownConversation
from jpweb.store.models import Conversation, Workspace
from jpweb.store.rows.prepared import Prepared
from jpweb.store.terms import Origin

_SPELLING = re.compile(r"(?:jp-c)?(?P<id>\d{1,20})(?:-(?P<workspace>[0-9a-z~]+))?", re.ASCII)


def get(conversation_id: int) -> Conversation:
    """Return a conversation with its workspace. Raises UnknownConversation."""
    found: list[Conversation] = _rows([conversation_id])
    if not found:
        raise UnknownConversation("There is no such conversation.")
    return found[0]


_rows = Prepared(lambda keys: Conversation.objects.select_related("workspace").filter(pk__in=keys))


def by_jp_id(spelling: str) -> Conversation:
    """Return the conversation that JP calls so: ``17…``, ``jp-c17…`` or ``jp-c17…-<workspace>``.

    Raises UnknownConversation for a spelling that is none, and where it names none or several.
    """
    known = _SPELLING.fullmatch(spelling.strip())
    if known is None or int(known["id"]) >= 2**63:
        raise UnknownConversation(
            f"“{spelling}” is no id of a conversation, such as jp-c17728322628."
        )
    found = Conversation.objects.select_related("workspace").filter(jp_id=int(known["id"]))
    if known["workspace"]:
        found = found.filter(workspace__jp_id=known["workspace"])
    rows = list(found[:2])
    if not rows:
        raise UnknownConversation(f"No conversation here has the id {spelling}.")
    if len(rows) > 1:
        names = ", ".join(f"{row.workspace.name} ({row.workspace.jp_id})" for row in found)
        raise UnknownConversation(
            f"Several workspaces have {spelling}: {names}. Add the id of the workspace: "
            f"jp-c{known['id']}-{rows[0].workspace.jp_id}"
        )
    return rows[0]


def begin(home: Workspace, title: str, person_id: int) -> Conversation:
    """Make a native conversation; its id is this instant in JP's deciseconds, or the next free."""
    now = clock.now()
    jp_id = workspace.jp_id_at(now)
    while True:
        try:
            with transaction.atomic():
                return Conversation.objects.create(
                    workspace=home,
                    jp_id=jp_id,
                    origin=Origin.NATIVE,
                    title=title[:500],
                    last_activity=now,
                    started_by_id=person_id,
                )
        except IntegrityError:
            jp_id += 1


def gone(workspace_id: int) -> list[int]:
    """Return the keys of the conversations of a workspace that ``jp`` removed."""
    removed = Conversation.objects.filter(workspace_id=workspace_id, gone_at__isnull=False)
    return list(removed.values_list("pk", flat=True))
