"""The layouts before event streams (jp-storage-format, section 12): read, never written.

* ``legacy_pair``: an element of ``messages.json``, a message together with its reply
* ``user_message``, ``assistant_message``: the two halves, of one month in 2025

Their message is what the person says or the results of the calls in the reply before.
"""

from __future__ import annotations

from typing import Any

import msgspec

from jpweb.stream import armour, timestamps
from jpweb.stream.errors import BrokenElement
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConfigDelta,
    ConversationEvent,
    EventKind,
    LegacyEvents,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.kinds import Fields, check_storable, flag, mapping, optional_text, text

PAIR = "legacy_pair"
USER_MESSAGE = "user_message"
ASSISTANT_MESSAGE = "assistant_message"
#: Every tag of this module, for who names them all.
LAYOUTS = (PAIR, USER_MESSAGE, ASSISTANT_MESSAGE)


def recognise(value: Any) -> str | None:
    """Return the tag of the layout that an element of no known kind has, or None."""
    match value:
        case {"type": str(tag)}:
            return tag if tag in LAYOUTS[1:] else None
        case {"timestamp": _, "message": _, "reply": _}:
            return PAIR
        case _:
            return None


def read(layout: str, value: Fields) -> LegacyEvents:
    """Return the events that an element stands for, in the order in which they happened.

    Configuration comes first, for it applies to what follows; then the message, then of the reply
    its reasoning, its text and its tool calls. Raises BrokenElement.
    """
    stamp = text(value, "timestamp")
    if timestamps.parse(stamp) is None:
        raise BrokenElement(f"“timestamp” cannot be read: {stamp[:60]!r}")
    delta, message = value.get("config_delta"), value.get("message")
    reply = value if layout == ASSISTANT_MESSAGE else value.get("reply") or {}
    if not isinstance(reply, dict):
        raise BrokenElement("“reply” must be an object")
    events = [
        *([ConversationEvent(stamp, ConfigDelta(delta))] if isinstance(delta, dict) else ()),
        *(ConversationEvent(stamp, kind) for kind in _message(message)),
        *_reply(stamp, reply),
    ]
    if not events:
        raise BrokenElement("neither a message nor a reply")
    return LegacyEvents(layout, tuple(events))


def answers_beside(value: Fields) -> dict[str, Any]:
    """Return the ``tool_answers`` that stood beside arguments early in 2026, decoded."""
    answers = value.get("tool_answers")
    return {"tool_answers": armour.deep(armour.unwrap, answers)} if answers else {}


def _message(message: Any) -> list[EventKind]:
    match message:
        case None:
            return []
        case str():
            return [ChatRequest(message)]
        case list():
            return [_result(result) for result in message]
        case _:
            raise BrokenElement("“message” must be a string or a list of results")


def _result(result: Any) -> ToolCallResponse:
    if not isinstance(result, dict):
        raise BrokenElement("a result must be an object")
    content = armour.unwrap_content(text(result, "content"))
    return ToolCallResponse(text(result, "id"), content, flag(result, "error", default=False))


def _reply(stamp: str, reply: Fields) -> list[ConversationEvent]:
    """Return the events of a reply; what the provider noted is with the first of them."""
    kinds: list[EventKind] = []
    if reasoning := optional_text(reply, "reasoning"):
        kinds.append(ChatResponse("reasoning", reasoning))
    if content := optional_text(reply, "content"):
        kinds.append(ChatResponse("message", content))
    calls = reply.get("tool_calls") or []
    if not isinstance(calls, list):
        raise BrokenElement("“tool_calls” must be a list")
    answers = [answers_beside(call) if isinstance(call, dict) else {} for call in calls]
    notes: list[dict[str, Any]] = [{} for _ in kinds] + answers
    kinds += [_call(call) for call in calls]
    metadata = reply.get("metadata")
    if notes and isinstance(metadata, dict):
        notes[0] = armour.deep(armour.unwrap, metadata) | notes[0]
    return [ConversationEvent(stamp, *both) for both in zip(kinds, notes, strict=True)]


def _call(call: Any) -> ToolCallRequest:
    if not isinstance(call, dict):
        raise BrokenElement("a tool call must be an object")
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        return ToolCallRequest(text(call, "id"), text(call, "name"), _packed(arguments))
    decoded = armour.deep(armour.unwrap, mapping(call, "arguments"))
    return ToolCallRequest(text(call, "id"), text(call, "name"), decoded)


def _packed(arguments: str) -> dict[str, Any]:
    """Return arguments that are one base64 text of JSON; under one name where they are not."""
    plain = armour.unwrap(arguments)
    try:
        value = msgspec.json.decode(plain)
        check_storable(value)
    except (ValueError, RecursionError, BrokenElement):
        value = None
    return value if isinstance(value, dict) else {"arguments": plain}
