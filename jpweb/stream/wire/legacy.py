"""Legacy layouts before event streams (docs/jp-format.md, Older layouts): read, never written.

* ``legacy_pair``: an element of ``messages.json``, a message together with its reply
* ``user_message``, ``assistant_message``: the two halves, of one month in 2025

Their message is the person's text, or the results of the calls in the reply before.
"""

from __future__ import annotations

from typing import Any

import msgspec

from jpweb.stream import base64_fields, timestamps
from jpweb.stream.errors import MalformedElement
from jpweb.stream.event_kind import (
    Fields,
    check_storable,
    read_flag,
    read_mapping,
    read_optional_text,
    read_text,
)
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

LEGACY_PAIR = "legacy_pair"
USER_MESSAGE = "user_message"
ASSISTANT_MESSAGE = "assistant_message"
LEGACY_TAGS = (LEGACY_PAIR, USER_MESSAGE, ASSISTANT_MESSAGE)


def recognize_layout(value: Any) -> str | None:
    """Return the legacy tag of an element of no known kind, or None."""
    match value:
        case {"type": str(tag)}:
            return tag if tag in LEGACY_TAGS[1:] else None
        case {"timestamp": _, "message": _, "reply": _}:
            return LEGACY_PAIR
        case _:
            return None


def read_legacy(layout: str, value: Fields) -> LegacyEvents:
    """Return the events that an element represents, in the order in which they happened.

    Configuration comes first, for it applies to what follows; then the message, then of the reply
    its reasoning, its text and its tool calls. Raises MalformedElement.
    """
    stamp = read_text(value, "timestamp")
    if timestamps.parse_timestamp(stamp) is None:
        raise MalformedElement(f"“timestamp” cannot be read: {stamp[:60]!r}")
    delta, message = value.get("config_delta"), value.get("message")
    reply = value if layout == ASSISTANT_MESSAGE else value.get("reply") or {}
    if not isinstance(reply, dict):
        raise MalformedElement("“reply” must be an object")
    events = [
        *([ConversationEvent(stamp, ConfigDelta(delta))] if isinstance(delta, dict) else ()),
        *(ConversationEvent(stamp, kind) for kind in _read_message(message)),
        *_read_reply(stamp, reply),
    ]
    if not events:
        raise MalformedElement("neither a message nor a reply")
    return LegacyEvents(layout, tuple(events))


def read_tool_answers(value: Fields) -> dict[str, Any]:
    """Return the ``tool_answers`` next to the arguments, as written early in 2026, decoded."""
    answers = value.get("tool_answers")
    return (
        {"tool_answers": base64_fields.map_strings(base64_fields.decode_text, answers)}
        if answers
        else {}
    )


def _read_message(message: Any) -> list[EventKind]:
    match message:
        case None:
            return []
        case str():
            return [ChatRequest(message)]
        case list():
            return [_read_result(result) for result in message]
        case _:
            raise MalformedElement("“message” must be a string or a list of results")


def _read_result(result: Any) -> ToolCallResponse:
    if not isinstance(result, dict):
        raise MalformedElement("a result must be an object")
    content = base64_fields.decode_content(read_text(result, "content"))
    return ToolCallResponse(
        read_text(result, "id"), content, read_flag(result, "error", default=False)
    )


def _read_reply(stamp: str, reply: Fields) -> list[ConversationEvent]:
    """Return the events of a reply; the provider's metadata is with the first of them."""
    kinds: list[EventKind] = []
    if reasoning := read_optional_text(reply, "reasoning"):
        kinds.append(ChatResponse("reasoning", reasoning))
    if content := read_optional_text(reply, "content"):
        kinds.append(ChatResponse("message", content))
    calls = reply.get("tool_calls") or []
    if not isinstance(calls, list):
        raise MalformedElement("“tool_calls” must be a list")
    answers = [read_tool_answers(call) if isinstance(call, dict) else {} for call in calls]
    notes: list[dict[str, Any]] = [{} for _ in kinds] + answers
    kinds += [_read_call(call) for call in calls]
    metadata = reply.get("metadata")
    if notes and isinstance(metadata, dict):
        notes[0] = base64_fields.map_strings(base64_fields.decode_text, metadata) | notes[0]
    return [
        ConversationEvent(stamp, *kind_and_note) for kind_and_note in zip(kinds, notes, strict=True)
    ]


def _read_call(call: Any) -> ToolCallRequest:
    if not isinstance(call, dict):
        raise MalformedElement("a tool call must be an object")
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        return ToolCallRequest(
            read_text(call, "id"), read_text(call, "name"), _decode_arguments(arguments)
        )
    decoded_arguments = base64_fields.map_strings(
        base64_fields.decode_text, read_mapping(call, "arguments")
    )
    return ToolCallRequest(read_text(call, "id"), read_text(call, "name"), decoded_arguments)


def _decode_arguments(arguments: str) -> dict[str, Any]:
    """Return arguments that are one base64 text of JSON; under one name where they are not."""
    decoded_text = base64_fields.decode_text(arguments)
    try:
        value = msgspec.json.decode(decoded_text)
        check_storable(value)
    except (ValueError, RecursionError, MalformedElement):
        value = None
    return value if isinstance(value, dict) else {"arguments": decoded_text}
