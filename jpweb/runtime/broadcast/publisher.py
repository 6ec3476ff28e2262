"""Publishes change signals to every process. A signal carries keys; receivers query the database.

Exceptions: partial text is not in the journal yet and is sent as it is, and some signals are
for one process. Any signal may be lost: that costs a delay, never a question.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jpweb.agent.ports import PartialVariant
from jpweb.runtime import process_identity
from jpweb.runtime.broadcast import channel_layer, local_bus


def make_conversation_topic(conversation_id: int) -> str:
    """Return the topic of a conversation's readers."""
    return local_bus.make_topic("conversation", conversation_id)


def make_workspace_topic(workspace_id: int) -> str:
    """Return the topic of the members who may answer in a workspace."""
    return local_bus.make_topic("workspace", workspace_id)


def make_session_topic(key_hash: str) -> str:
    """Return the topic of the pages of one sign-in, by the hash of its key."""
    return local_bus.make_topic("session", key_hash)


async def publish_signed_out(key_hashes: Iterable[str]) -> None:
    """Publish that sign-ins have ended, by the hashes of their keys."""
    for key_hash in key_hashes:
        await _publish_signal("session", to=make_session_topic(key_hash))


async def publish_conversation_changed(conversation_id: int) -> None:
    """Publish that a conversation has changed."""
    await _publish_signal("conversation", to=make_conversation_topic(conversation_id))


async def publish_questions_changed(workspace_id: int) -> None:
    """Publish that the open questions of a workspace have changed."""
    await _publish_signal("questions", to=make_workspace_topic(workspace_id))


async def publish_settings_changed(workspace_id: int) -> None:
    """Publish that settings of a workspace have changed on which its conversations depend."""
    await _publish_signal("settings", to=make_workspace_topic(workspace_id))


async def publish_partial_text(
    conversation_id: int, variant: PartialVariant, text: str, entry_count: int | None = None
) -> None:
    """Publish the partial text of a reply; an empty one clears it.

    ``entry_count`` is the length of the journal that the text follows. A clearing signal has none,
    so that processes of an older version, which refuse the field, clear the text too.
    """
    topic = make_conversation_topic(conversation_id)
    position = {} if entry_count is None or not text else {"entry_count": entry_count}
    await _publish_signal("partial", to=topic, variant=variant, text=text, **position)


async def publish_run_changed(run_id: int) -> None:
    """Publish that a run is queued or interrupted."""
    await _publish_signal("run", run=run_id)


async def publish_question_settled(inquiry_key: int) -> None:
    """Publish that a question is settled, to the waiting call in any process."""
    await _publish_signal("settled", inquiry=inquiry_key)


async def publish_approval_decided(approval_key: int) -> None:
    """Publish that an approval is decided or withdrawn, to the waiting call in any process."""
    await _publish_signal("decided", approval=approval_key)


async def send_to_process(process_name: str, kind: str, **data: Any) -> None:
    """Send a signal to one process by name; it is dropped where there is none."""
    signal = {"kind": kind, **data}
    if process_name == process_identity.get_process_name():
        local_bus.dispatch_signal(signal)
    else:
        await channel_layer.send_signal(channel_layer.make_process_group(process_name), signal)


async def _publish_signal(kind: str, **data: Any) -> None:
    signal = {"kind": kind, **data}
    local_bus.dispatch_signal(signal)
    await channel_layer.send_signal(channel_layer.make_group(kind), signal)
