"""Records one reply of the provider piece by piece, its tool calls once it has ended."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.event_writer import EventWriter
from jpweb.agent.ports import (
    CompleteToolCall,
    Display,
    FormatCall,
    PartialToolCall,
    ReplyEvent,
    ReplyMetadata,
    StructuredReply,
    TextDelta,
    TokenUsage,
)
from jpweb.stream.events import ChatResponse, EventKind, ToolCallRequest

#: Calls of one reply; each may be a process, or a question to people.
MAX_REPLY_CALLS = 100


class ReplyRecorder:
    """Joins text of one variant into one event, and holds tool calls back until the reply ends.

    The calls of a reply, and the text after the first of them, are committed in one transaction
    with the end of the reply. A journal that holds one call of a reply therefore holds all of them,
    and a reply that was cut off is requested again. ``has_begun`` tells whether a part of it that
    is recorded has arrived, ``has_data`` whether that is a structured reply.
    """

    def __init__(
        self,
        event_writer: EventWriter,
        display: Display,
        format_call: FormatCall | None = None,
    ) -> None:
        self.calls: list[ToolCallRequest] = []
        self._format_call = format_call
        self.is_finished = False
        self.has_begun = self.has_data = False
        self._event_writer = event_writer
        self._display = display
        self._latest = TextDelta("message", "")
        self._uncommitted: list[tuple[EventKind, Mapping[str, Any]]] = []
        self._usage: TokenUsage | None = None

    async def take_event(self, event: ReplyEvent) -> None:
        """Process the next event of the reply."""
        self.has_begun = self.has_begun or _is_recorded(event)
        match event:
            case TextDelta():
                await self._add_delta(event)
            case ReplyMetadata(variant, metadata):
                await self._add_metadata(TextDelta(variant, ""), metadata)
            case PartialToolCall(name, arguments):
                await self._display.show_partial("tool_call", f"{name} {arguments}")
            case CompleteToolCall():
                await self._hold_call(event)
            case StructuredReply(value):
                self.has_data = True
                await self.flush_text()
                await self._commit_event(ChatResponse("data", value))
            case TokenUsage():
                self._usage = event

    async def flush_text(self, metadata: Mapping[str, Any] | None = None) -> None:
        """Commit the text so far, if there is any, with the provider's metadata."""
        text = self._take_text()
        if text.content.strip() or metadata:
            await self._commit_event(text, metadata)

    async def close(self, *, calls_stand: bool = False, is_last: bool = False) -> None:
        """Commit the rest of the reply; the calls of an unfinished one only with ``calls_stand``.

        Text of whitespace alone is not recorded: vendors refuse a conversation that holds one. With
        ``is_last`` it is recorded that the turn is complete.
        """
        kinds, self._uncommitted = self._uncommitted, []
        text = self._take_text()
        if text.content.strip():
            kinds.append((text, {}))
        if not self.is_finished and not calls_stand:
            kinds = [event for event in kinds if not isinstance(event[0], ToolCallRequest)]
            self.calls.clear()
        usage, self._usage = self._usage, None
        if kinds or is_last or usage is not None:
            await self._event_writer.write_each(kinds, is_last=is_last, usage=usage)

    def _take_text(self) -> ChatResponse:
        variant, text = self._latest.variant, self._latest.text
        self._latest = TextDelta(variant, "")
        return ChatResponse(variant, text)

    async def _commit_event(
        self, kind: EventKind, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Commit an event, or hold it back where the reply has called a tool before."""
        if self._uncommitted:
            self._uncommitted.append((kind, metadata or {}))
        else:
            await self._event_writer.write_events(kind, metadata=metadata)

    async def _add_delta(self, delta: TextDelta) -> None:
        """Add a piece of text; commit the text before it if that is of another variant."""
        if delta.variant != self._latest.variant:
            await self.flush_text()
        self._latest = TextDelta(delta.variant, self._latest.text + delta.text)
        await self._display.show_partial(delta.variant, self._latest.text)

    async def _add_metadata(self, delta: TextDelta, metadata: Mapping[str, Any]) -> None:
        if delta.variant != self._latest.variant:
            await self.flush_text()
            self._latest = delta
        await self.flush_text(metadata)

    async def _hold_call(self, call: CompleteToolCall) -> None:
        """Commit the text so far, and hold the call with its formatted arguments.

        Raises ProviderFailed above ``MAX_REPLY_CALLS``: no call of the reply is recorded or run.
        """
        if len(self.calls) == MAX_REPLY_CALLS:
            raise ProviderFailed(
                f"The reply called tools more than {MAX_REPLY_CALLS} times, so none of "
                "these calls was run. Ask for fewer at once.",
                FailureKind.BAD_REQUEST,
            )
        await self.flush_text()
        request = ToolCallRequest(call.id, call.name, call.arguments)
        arguments_text = None if self._format_call is None else await self._format_call(request)
        # JP encodes it in base64 a second time, within its base64-encoded metadata.
        metadata = (
            {} if arguments_text is None else {"rendered_arguments": _encode_base64(arguments_text)}
        )
        self._uncommitted.append((request, {**call.metadata, **metadata}))
        self.calls.append(request)


def _is_recorded(event: ReplyEvent) -> bool:
    match event:
        case PartialToolCall() | TokenUsage():
            return False
        case TextDelta(text=text):
            return bool(text.strip())
        case _:
            return True


def _encode_base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "replace")).decode()
