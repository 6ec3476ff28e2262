"""Conversations taken elsewhere, from the journal."""

from __future__ import annotations

import msgspec

from jpweb.store.models import Conversation, JournalEntry
from jpweb.stream import wire


def jp(conversation: Conversation) -> bytes:
    """Return ``events.json``: of a mirrored conversation the bytes that were read."""
    return wire.join(_texts(conversation), conversation.framing).encode()


def jsonl(conversation: Conversation) -> bytes:
    """Return an element a line."""
    return "".join(f"{_one_line(text)}\n" for text in _texts(conversation)).encode()


def _texts(conversation: Conversation) -> list[str]:
    entries = JournalEntry.objects.filter(conversation=conversation).order_by("position")
    return list(entries.values_list("text", flat=True))


def _one_line(text: str) -> str:
    """Return the JSON without its line ends; a text that is no good JSON keeps its words."""
    try:
        return msgspec.json.format(text, indent=-1)
    except (msgspec.DecodeError, RecursionError):
        return " ".join(text.splitlines())
