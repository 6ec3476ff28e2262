"""A secret in each kind of event, its redaction, and where it may be found."""

from __future__ import annotations

from typing import Any

from django.db import connection

from jpweb.store.choices import ApprovalKind, ApprovalState
from jpweb.store.models import Approval, Conversation, JournalEntry, Person
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import RedactionRequest

CANARY = "canary-7f3a9c"


def dump_tables() -> str:
    """Return every row of every table as text."""
    texts = []
    for name in connection.introspection.table_names():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(name)}")  # noqa: S608  the catalog's own name
            texts += [repr(row) for row in cursor.fetchall()]
    return "\n".join(texts)


def redact(conversation: Conversation, person: Person, anchor: str = "", *strings: str) -> Any:
    request = RedactionRequest(anchor, "a leaked key", strings, is_conversation_wide=not anchor)
    return application.redact(conversation, request, person)


def anchor_at(conversation: Conversation, position: int) -> str:
    return JournalEntry.objects.get(conversation=conversation, position=position).anchor


def decide(conversation: Conversation, **decision: Any) -> Approval:
    """Return the decided approval of a call of the conversation."""
    return Approval.objects.create(
        conversation=conversation,
        workspace=conversation.workspace,
        kind=ApprovalKind.RUN,
        tool_call_id="c",
        tool_name="vault",
        subject={"described": "vault"},
        state=ApprovalState.DECIDED,
        decision={"allow": True} | decision,
    )
