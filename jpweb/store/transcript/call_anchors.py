"""Finds the tool call of an approval in its conversation."""

from __future__ import annotations

from jpweb.store.models import Approval, JournalEntry
from jpweb.stream import timestamps, wire
from jpweb.stream.events import ConversationEvent, ToolCallRequest

#: Tool calls with the same id that are compared to find the one of an approval.
_MAX_COMPARED_CALLS = 50


def find_call_anchor(approval: Approval) -> str:
    """Return the anchor of the tool call of an approval; empty where it is not found.

    An id may repeat in a conversation: the latest call before the approval is meant.
    """
    calls = JournalEntry.objects.filter(
        conversation_id=approval.conversation_id,
        category="call",
        text__contains=approval.tool_call_id,
    )
    rows = calls.order_by("-item_position", "-position").values_list("anchor", "text")
    for anchor, text in rows[:_MAX_COMPARED_CALLS]:
        event = wire.read_element(text).body
        if not isinstance(event, ConversationEvent) or not isinstance(event.kind, ToolCallRequest):
            continue
        called_at = timestamps.parse_timestamp(event.timestamp)
        is_earlier = called_at is None or called_at <= approval.asked_at
        if event.kind.id == approval.tool_call_id and is_earlier:
            return str(anchor)
    return ""
