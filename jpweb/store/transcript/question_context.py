"""The context of a question: the messages before it, and the tool call that asks."""

from __future__ import annotations

from typing import NamedTuple

from jpweb.store.models import Inquiry, JournalEntry
from jpweb.store.transcript import windows
from jpweb.stream.events import ToolCallRequest
from jpweb.stream.transcript.items import PlacedElement, ToolCall

#: Messages before a question that its card can show.
MAX_MESSAGES = 3
_MESSAGE_CATEGORIES = ("person", "message")


class QuestionContext(NamedTuple):
    """The last messages before a question, in order, and its tool call where there is one."""

    messages: list[PlacedElement]
    call: ToolCallRequest | None


def load_question_context(inquiry: Inquiry) -> QuestionContext:
    """Return the context of a question; texts that may be secrets are masked, as elsewhere."""
    entries = JournalEntry.objects.filter(
        conversation_id=inquiry.conversation_id, position=inquiry.position
    )
    item_position = entries.values_list("item_position", flat=True).first()
    if item_position is None:
        return QuestionContext([], None)
    message_positions = windows.list_earlier(
        inquiry.conversation_id, item_position, _MESSAGE_CATEGORIES, MAX_MESSAGES
    )
    loaded_items = windows.load_items(inquiry.conversation_id, [*message_positions, item_position])
    items = [turn_item.item for turn_item in loaded_items.items]
    call = next((item.call for item in items if isinstance(item, ToolCall)), None)
    messages = [
        element for item in items if not isinstance(item, ToolCall) for element in item.elements
    ]
    return QuestionContext(
        [message for message in messages if message.position < item_position], call
    )
