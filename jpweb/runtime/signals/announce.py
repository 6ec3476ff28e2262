"""Tell every process what changed. A signal carries keys; who hears it re-reads the journal.

The exceptions are text that is not on record yet, which is sent as it is, and what is meant for
one process alone. Any signal may be lost: that costs a delay, never a question.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from jpweb.runtime import process
from jpweb.runtime.signals import fanout, relay


def conversation_group(conversation_id: int) -> str:
    """Return the topic of those who look at a conversation."""
    return fanout.topic("conversation", conversation_id)


def workspace_group(workspace_id: int) -> str:
    """Return the topic of those who may answer in a workspace."""
    return fanout.topic("workspace", workspace_id)


def session_group(key_hash: str) -> str:
    """Return the topic of the pages of one sign-in, by the hash of its key."""
    return fanout.topic("session", key_hash)


async def signed_out(key_hashes: Iterable[str]) -> None:
    """Say that sign-ins have ended, by the hashes of their keys."""
    for key_hash in key_hashes:
        await _tell("session", to=session_group(key_hash))


async def conversation(conversation_id: int) -> None:
    """Say that a conversation has changed."""
    await _tell("conversation", to=conversation_group(conversation_id))


async def questions(workspace_id: int) -> None:
    """Say that the open questions of a workspace have changed."""
    await _tell("questions", to=workspace_group(workspace_id))


async def partial(
    conversation_id: int, variant: Literal["message", "reasoning", "tool_call"], text: str
) -> None:
    """Show text that is being received; an empty one clears it."""
    await _tell("partial", to=conversation_group(conversation_id), variant=variant, text=text)


async def run(run_id: int) -> None:
    """Say that a run is to be looked at by whoever executes it."""
    await _tell("run", run=run_id)


async def settled(inquiry_key: int) -> None:
    """Say that a question is settled, to a call that waits for it in any process."""
    await _tell("settled", inquiry=inquiry_key)


async def decided(prompt_key: int) -> None:
    """Say that a prompt is decided or withdrawn, to a call that waits for it in any process."""
    await _tell("decided", prompt=prompt_key)


async def to_process(name: str, kind: str, **data: Any) -> None:
    """Say something to one process alone, by its name; nothing happens where there is none."""
    signal = {"kind": kind, **data}
    if name == process.name():
        fanout.take(signal)
    else:
        await relay.send(relay.process_group(name), signal)


async def _tell(kind: str, **data: Any) -> None:
    signal = {"kind": kind, **data}
    fanout.take(signal)
    await relay.send(relay.group(kind), signal)
