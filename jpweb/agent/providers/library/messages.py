"""From a thread's parts to the messages of a request.

An allow-list, as the thread's own: what is none of the four kinds below is not sent. Nor is text
of whitespace alone, with which vendors refuse the request, and so every later one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolReturnPart,
    UserPromptPart,
)

from jpweb.agent.providers.library.vendor import Vendor
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConversationEvent,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.thread import ThreadParts

#: Said after a reply that broke off: vendors refuse a request that ends with their own words.
GO_ON = "Your last message broke off. Go on from where it ended, without repeating any of it."


def messages(parts: ThreadParts, vendor: Vendor) -> list[ModelMessage]:
    """Return the messages: requests and replies in turn, from a request to a request."""
    system = filter(str.strip, parts.system)
    asked: list[ModelRequestPart] = [SystemPromptPart(text) for text in system]
    found: list[ModelMessage] = []
    names: dict[str, str] = {}
    for replied, group in groupby(parts.events, _is_reply):
        events = list(group)
        if not replied:
            asked += _request(events, names)
            continue
        names |= {e.kind.id: e.kind.name for e in events if isinstance(e.kind, ToolCallRequest)}
        if reply := _reply(events, vendor):
            found += [ModelRequest(asked), ModelResponse(reply, provider_name=vendor.SYSTEM)]
            asked = []
    return [*found, ModelRequest(asked or [UserPromptPart(GO_ON)])]


def _is_reply(event: ConversationEvent) -> bool:
    return isinstance(event.kind, ChatResponse | ToolCallRequest)


def _request(
    events: Iterable[ConversationEvent], names: dict[str, str]
) -> Iterator[ModelRequestPart]:
    """Yield what was said to the model. A tool's name is that of the latest call of this id."""
    for event in events:
        match event.kind:
            case ChatRequest(content=content) if content.strip():
                yield UserPromptPart(content)
            case ToolCallResponse(id=id_, content=content, is_error=failed):
                name = names.get(id_, "unknown")
                yield ToolReturnPart(name, content, id_, outcome="failed" if failed else "success")
            case _:
                pass


def _reply(events: Iterable[ConversationEvent], vendor: Vendor) -> Sequence[ModelResponsePart]:
    """Return one reply. Reasoning that nothing followed is left out: vendors refuse it."""
    said = [
        _part(event.kind, event.metadata, vendor)
        for event in events
        if isinstance(event.kind, ChatResponse | ToolCallRequest)
    ]
    parts = [part for part in said if part is not None]
    while parts and isinstance(parts[-1], ThinkingPart):
        parts.pop()
    return vendor.settled(parts)


def _part(
    kind: ChatResponse | ToolCallRequest, metadata: Mapping[str, Any], vendor: Vendor
) -> ModelResponsePart | None:
    match kind:
        case ToolCallRequest():
            return vendor.call(kind, metadata)
        case ChatResponse("reasoning", text):
            return vendor.thinking(text, metadata)
        case ChatResponse("message", text):
            return vendor.text(text if text.strip() else "", metadata)
        case ChatResponse(content=data):
            return TextPart(json.dumps(data, ensure_ascii=False))
