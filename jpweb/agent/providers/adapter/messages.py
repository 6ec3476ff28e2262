"""Makes the messages of a request from a thread's parts.

An allow-list, as the thread's own: only the four kinds below are sent. Text of whitespace alone
is not sent: vendors refuse a request with it, and so every later one of the conversation. A called
tool's name is sent as vendors accept it, for the same reason; the record keeps the model's.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    ThinkingPart,
    ToolReturnPart,
    UserPromptPart,
)

from jpweb.agent.providers.adapter.base import ProviderAdapter
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConversationEvent,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.thread import ThreadParts

#: Sent after a reply that broke off: vendors refuse a request that ends with a reply.
CONTINUE_TEXT = (
    "Your last message broke off. Go on from where it ended, without repeating any of it."
)
#: Sent as the name of a call without one, and of a result without its call.
UNKNOWN_TOOL = "unknown"
#: Every vendor accepts names of these characters, up to this length.
_REFUSED_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME_CHARACTERS = 64


def make_messages(
    parts: ThreadParts,
    adapter: ProviderAdapter,
    closing_text: str = "",
    *,
    offered_names: Collection[str] = (),
    can_take_reasoning: bool = True,
) -> list[ModelMessage]:
    """Return the messages: requests and replies in turn, from a request to a request.

    ``closing_text`` follows a reply at the end, by default the request to go on from it.
    Calls of the tools in ``offered_names`` keep their names as they are.
    ``can_take_reasoning`` tells whether the model takes earlier reasoning.
    """
    system = filter(str.strip, parts.system)
    request_parts: list[ModelRequestPart] = [SystemPromptPart(text) for text in system]
    history: list[ModelMessage] = []
    waiting_names: defaultdict[str, deque[str]] = defaultdict(deque)
    events_with_names = [_adapt_name(event, offered_names) for event in parts.events]
    sent_events = _select_sent(events_with_names, adapter, can_take_reasoning=can_take_reasoning)
    for is_reply, group in groupby(sent_events, _is_reply):
        events = list(group)
        if not is_reply:
            request_parts += _iterate_request_parts(events, waiting_names)
            if adapter.ARE_USER_TEXTS_JOINED:
                request_parts = _join_user_texts(request_parts)
            continue
        for event in events:
            if isinstance(event.kind, ToolCallRequest):
                waiting_names[event.kind.id].append(event.kind.name)
        if reply := _make_reply_parts(events, adapter):
            history += [
                ModelRequest(request_parts),
                ModelResponse(reply, provider_name=adapter.SYSTEM),
            ]
            request_parts = []
    return [
        *history,
        ModelRequest(request_parts or [UserPromptPart(closing_text or CONTINUE_TEXT)]),
    ]


def _adapt_name(event: ConversationEvent, offered_names: Collection[str]) -> ConversationEvent:
    """Return the event; the call of a tool that is not offered has a name that vendors accept."""
    call = event.kind
    if not isinstance(call, ToolCallRequest) or call.name in offered_names:
        return event
    name = _REFUSED_CHARACTER.sub("_", call.name)[:_MAX_NAME_CHARACTERS] or UNKNOWN_TOOL
    return replace(event, kind=replace(call, name=name))


def _select_sent(
    events: Sequence[ConversationEvent], adapter: ProviderAdapter, *, can_take_reasoning: bool
) -> list[ConversationEvent]:
    """Return the events without the reasoning that is not sent: all, or that of earlier turns."""
    if can_take_reasoning and not adapter.IS_LOOP_REASONING_SENT:
        return list(events)
    requests = [index for index, event in enumerate(events) if isinstance(event.kind, ChatRequest)]
    begin = requests[-1] if requests else 0
    begin = begin if can_take_reasoning else len(events)
    return [
        event
        for index, event in enumerate(events)
        if index > begin
        or not (isinstance(event.kind, ChatResponse) and event.kind.variant == "reasoning")
    ]


def _is_reply(event: ConversationEvent) -> bool:
    return isinstance(event.kind, ChatResponse | ToolCallRequest)


def _iterate_request_parts(
    events: Iterable[ConversationEvent], waiting_names: defaultdict[str, deque[str]]
) -> Iterator[ModelRequestPart]:
    """Yield the parts of a request. The nth result of an id has the name of its nth call.

    ``match_events`` pairs them by count, too. ``waiting_names`` loses the names of these calls.
    """
    for event in events:
        match event.kind:
            case ChatRequest(content=content) if content.strip():
                yield UserPromptPart(content)
            case ToolCallResponse(id=id_, content=content, is_error=is_error):
                names = waiting_names[id_]
                name = names.popleft() if names else UNKNOWN_TOOL
                yield ToolReturnPart(
                    name, content, id_, outcome="failed" if is_error else "success"
                )
            case _:
                pass


def _join_user_texts(parts: Iterable[ModelRequestPart]) -> list[ModelRequestPart]:
    """Return the parts, with the texts of people that follow each other as one."""
    joined_parts: list[ModelRequestPart] = []
    for part in parts:
        previous_part = joined_parts[-1] if joined_parts else None
        if isinstance(part, UserPromptPart) and isinstance(previous_part, UserPromptPart):
            joined_parts[-1] = UserPromptPart(f"{previous_part.content}\n\n{part.content}")
        else:
            joined_parts.append(part)
    return joined_parts


def _make_reply_parts(
    events: Iterable[ConversationEvent], adapter: ProviderAdapter
) -> Sequence[ModelResponsePart]:
    """Return the parts of one reply. Trailing reasoning is left out: vendors refuse it."""
    all_parts = [
        _make_part(event.kind, event.metadata, adapter)
        for event in events
        if isinstance(event.kind, ChatResponse | ToolCallRequest)
    ]
    parts = [part for part in all_parts if part is not None]
    while parts and isinstance(parts[-1], ThinkingPart):
        parts.pop()
    return adapter.adapt_reply(parts)


def _make_part(
    kind: ChatResponse | ToolCallRequest, metadata: Mapping[str, Any], adapter: ProviderAdapter
) -> ModelResponsePart | None:
    match kind:
        case ToolCallRequest():
            return adapter.make_call_part(kind, metadata)
        case ChatResponse("reasoning", text):
            return adapter.make_thinking_part(text, metadata)
        case ChatResponse("message", text):
            return adapter.make_text_part(text if text.strip() else "", metadata)
        case ChatResponse(content=data):
            return adapter.make_text_part(json.dumps(data, ensure_ascii=False), metadata)
