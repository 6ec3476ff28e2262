"""Conversations: fetches rows, and creates native conversations."""

from __future__ import annotations

import re

from django.db import IntegrityError, transaction

from jpweb.store.choices import Origin
from jpweb.store.database import clock
from jpweb.store.errors import UnknownConversation
from jpweb.store.jp_files import workspace
from jpweb.store.models import Conversation, Workspace
from jpweb.store.sql.compiled_query import CompiledQuery

_SPELLING = re.compile(r"(?:jp-c)?(?P<id>\d{1,20})(?:-(?P<workspace>[0-9a-z~]+))?", re.ASCII)


def get_conversation(conversation_id: int) -> Conversation:
    """Return a conversation with its workspace. Raises UnknownConversation."""
    rows: list[Conversation] = _conversation_query([conversation_id])
    if not rows:
        raise UnknownConversation("There is no such conversation.")
    return rows[0]


#: The ORM takes 0.5 ms longer, for each request about a conversation.
_conversation_query = CompiledQuery(
    lambda keys: Conversation.objects.select_related("workspace").filter(pk__in=keys)
)


def find_by_jp_id(spelling: str) -> Conversation:
    """Return the conversation of a JP id: ``17…``, ``jp-c17…`` or ``jp-c17…-<workspace>``.

    Raises UnknownConversation for an invalid id, and where it matches none or several.
    """
    match = _SPELLING.fullmatch(spelling.strip())
    if match is None or int(match["id"]) >= 2**63:
        raise UnknownConversation(f"“{spelling}” is not a conversation id such as jp-c17728322628.")
    candidates = Conversation.objects.select_related("workspace").filter(jp_id=int(match["id"]))
    if match["workspace"]:
        candidates = candidates.filter(workspace__jp_id=match["workspace"])
    rows = list(candidates[:2])
    if not rows:
        raise UnknownConversation(f"No conversation here has the id {spelling}.")
    if len(rows) > 1:
        names = ", ".join(f"{row.workspace.name} ({row.workspace.jp_id})" for row in candidates)
        raise UnknownConversation(
            f"Several workspaces have {spelling}: {names}. Add the id of the workspace: "
            f"jp-c{match['id']}-{rows[0].workspace.jp_id}"
        )
    return rows[0]


def create_conversation(workspace_row: Workspace, title: str, person_id: int) -> Conversation:
    """Create a native conversation; its id is the time in JP's deciseconds, or the next free."""
    created_at = clock.now()
    jp_id = workspace.make_jp_id(created_at)
    while True:
        try:
            with transaction.atomic():
                return Conversation.objects.create(
                    workspace=workspace_row,
                    jp_id=jp_id,
                    origin=Origin.NATIVE,
                    title=title[:500],
                    last_activity=created_at,
                    started_by_id=person_id,
                )
        except IntegrityError:
            jp_id += 1


def list_removed_ids(workspace_id: int) -> list[int]:
    """Return the keys of the conversations of a workspace that ``jp`` removed."""
    removed_rows = Conversation.objects.filter(workspace_id=workspace_id, removed_at__isnull=False)
    return list(removed_rows.values_list("pk", flat=True))
