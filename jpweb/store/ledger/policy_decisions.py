"""Entries of policies that decided about a tool call or its result in place of a person.

The note beside the call's response names them (``jpweb/agent/tool_calls/permissions.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jpweb.evidence import ledger_verifier
from jpweb.store.choices import Act
from jpweb.store.ledger.entries import Actor, Place, record_act

if TYPE_CHECKING:
    from jpweb.store.models import JournalEntry
    from jpweb.stream.events import ConversationEvent

_ACTS_BY_NAME = {
    "permission": Act.CALL_DECIDED_BY_POLICY,
    "delivery": Act.RESULT_DECIDED_BY_POLICY,
}


def record_policies(entry: JournalEntry, event: ConversationEvent) -> None:
    """Record each policy that the note of a call's response names, with the response's hash."""
    for name, act in _ACTS_BY_NAME.items():
        note = event.note.get(name)
        if isinstance(note, Mapping):
            is_unattended = note.get("policy") == "unattended"
            _record(Act.CALL_RAN_UNATTENDED if is_unattended else act, entry, note)


def _record(act: Act, entry: JournalEntry, note: Mapping[str, Any]) -> None:
    by = note["by"]
    conversation = entry.conversation
    record_act(
        act,
        Actor(by["kind"], by.get("name", ""), by.get("id")),
        Place(conversation.workspace_id, conversation.pk, f"event:{entry.anchor}"),
        **{key: value for key, value in note.items() if key != "by"},
        event=entry.anchor,
        event_hash=ledger_verifier.hash_text(entry.text),
    )
