"""One reply of the provider, put on record piece by piece, its tool calls once it has ended."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from jpweb.agent.ports import Calling, CallTool, Data, Delta, Display, Format, Noted
from jpweb.agent.scribe import Scribe
from jpweb.stream.events import ChatResponse, EventKind, ToolCallRequest


class Reply:
    """Gathers text of one variant into one event, and holds tool calls back until the reply ends.

    The calls of a reply, and the text after the first of them, are committed in one transaction
    with the end of the reply. A journal that holds one call of a reply therefore holds all of them,
    and a reply that was cut off is asked for again. ``begun`` says whether any part of it has come
    that belongs on record.
    """

    def __init__(
        self, scribe: Scribe, display: Display, formatters: Mapping[str, Format] | None = None
    ) -> None:
        self.calls: list[ToolCallRequest] = []
        self._formatters = formatters or {}
        self.finished = False
        self.begun = False
        self._scribe = scribe
        self._display = display
        self._latest = Delta("message", "")
        self._uncommitted: list[tuple[EventKind, Mapping[str, Any]]] = []

    async def take(self, event: Delta | Noted | Calling | CallTool | Data) -> None:
        """Take the next piece."""
        self.begun = self.begun or _is_kept(event)
        match event:
            case Delta():
                await self._add(event)
            case Noted(variant, metadata):
                await self._note(Delta(variant, ""), metadata)
            case Calling(name, arguments):
                await self._display.partial("tool_call", f"{name} {arguments}")
            case CallTool():
                await self._call(event)
            case Data(value):
                await self.flush()
                await self._commit(ChatResponse("data", value))

    async def flush(self, metadata: Mapping[str, Any] | None = None) -> None:
        """End the text so far, if there is any, with what the provider wants back with it."""
        text = self._take_text()
        if text.content.strip() or metadata:
            await self._commit(text, metadata)

    async def close(self, *, calls_stand: bool = False, last: bool = False) -> None:
        """Commit the rest of the reply; the calls of an unfinished one only where they ``stand``.

        Text of whitespace alone is no reply: vendors refuse a conversation that holds one. With
        the ``last`` of a turn it is on record that the turn is complete.
        """
        kinds, self._uncommitted = self._uncommitted, []
        text = self._take_text()
        if text.content.strip():
            kinds.append((text, {}))
        if not self.finished and not calls_stand:
            kinds = [each for each in kinds if not isinstance(each[0], ToolCallRequest)]
            self.calls.clear()
        if kinds or last:
            await self._scribe.record_each(kinds, last=last)

    def _take_text(self) -> ChatResponse:
        variant, text = self._latest.variant, self._latest.text
        self._latest = Delta(variant, "")
        return ChatResponse(variant, text)

    async def _commit(self, kind: EventKind, metadata: Mapping[str, Any] | None = None) -> None:
        """Commit an event, or hold it back where the reply has called a tool before."""
        if self._uncommitted:
            self._uncommitted.append((kind, metadata or {}))
        else:
            await self._scribe.record(kind, metadata=metadata)

    async def _add(self, delta: Delta) -> None:
        """Take a piece of text, commit the text before it if that is of another variant."""
        if delta.variant != self._latest.variant:
            await self.flush()
        self._latest = Delta(delta.variant, self._latest.text + delta.text)
        await self._display.partial(delta.variant, self._latest.text)

    async def _note(self, ended: Delta, metadata: Mapping[str, Any]) -> None:
        if ended.variant != self._latest.variant:
            await self.flush()
            self._latest = ended
        await self.flush(metadata)

    async def _call(self, call: CallTool) -> None:
        """End the text so far, and hold the call with what its formatter makes of it."""
        await self.flush()
        request = ToolCallRequest(call.id, call.name, call.arguments)
        form = self._formatters.get(call.name)
        shown = None if form is None else await form(call.arguments)
        # JP keeps it as base64, inside the base64 of all metadata.
        rendered = {} if shown is None else {"rendered_arguments": _base64(shown)}
        self._uncommitted.append((request, {**call.metadata, **rendered}))
        self.calls.append(request)


def _is_kept(event: Delta | Noted | Calling | CallTool | Data) -> bool:
    match event:
        case Calling():
            return False
        case Delta(text=text):
            return bool(text.strip())
        case _:
            return True


def _base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "replace")).decode()
