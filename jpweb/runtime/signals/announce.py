"""Tell every process what changed. A signal carries keys; who hears it re-reads the journal.

The one exception is text that is not on record yet: it is sent as it is and may be lost.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

from channels.layers import get_channel_layer


def conversation_group(conversation_id: int) -> str:
    """Return the group of those who look at a conversation."""
    return f"conversation-{conversation_id}"


def workspace_group(workspace_id: int) -> str:
    """Return the group of those who may answer in a workspace."""
    return f"workspace-{workspace_id}"


def session_group(session_key: str) -> str:
    """Return the group of the pages of one sign-in; its key is not given away."""
    return f"session-{sha256(session_key.encode()).hexdigest()[:32]}"


async def signed_out(session_key: str) -> None:
    """Say that a sign-in has ended."""
    await _send(session_group(session_key), {"type": "session.ended"})


async def conversation(conversation_id: int) -> None:
    """Say that a conversation has changed."""
    await _send(conversation_group(conversation_id), {"type": "conversation.changed"})


async def questions(workspace_id: int) -> None:
    """Say that the open questions of a workspace have changed."""
    await _send(workspace_group(workspace_id), {"type": "questions.changed"})


async def partial(
    conversation_id: int, variant: Literal["message", "reasoning", "tool_call"], text: str
) -> None:
    """Show text that is being received; an empty one clears it."""
    event = {"type": "conversation.partial", "variant": variant, "text": text}
    await _send(conversation_group(conversation_id), event)


async def _send(group: str, event: dict[str, str]) -> None:
    layer = get_channel_layer()
    if layer is None:  # pragma: no cover  the settings always name one
        raise RuntimeError("CHANNEL_LAYERS names no layer")
    await layer.group_send(group, event)
