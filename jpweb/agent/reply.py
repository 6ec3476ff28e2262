"""One reply of the provider, put on record piece by piece."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from jpweb.agent.ports import Calling, CallTool, Data, Delta, Display, Format, Noted
from jpweb.agent.scribe import Scribe
from jpweb.stream.events import ChatResponse, ToolCallRequest


class Reply:
    """Gathers text of one variant into one event; records tool calls at once.

    ``begun`` says whether anything of it has come that is or will be on record.
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
                await self._scribe.record(ChatResponse("data", value))

    async def flush(self, metadata: Mapping[str, Any] | None = None, *, last: bool = False) -> None:
        """Commit the text so far, if there is any, with what the provider wants back with it.

        Text of whitespace alone is no reply: vendors refuse a conversation that holds one. With
        the ``last`` of a turn it is on record that the turn is complete.
        """
        variant, text = self._latest.variant, self._latest.text
        self._latest = Delta(variant, "")
        kinds = (ChatResponse(variant, text),) if text.strip() or metadata else ()
        if kinds or last:
            await self._scribe.record(*kinds, metadata=metadata, last=last)

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
        """Commit the text so far, then the call, with what its formatter makes of it."""
        await self.flush()
        request = ToolCallRequest(call.id, call.name, call.arguments)
        form = self._formatters.get(call.name)
        shown = None if form is None else await form(call.arguments)
        # JP keeps it as base64, inside the base64 of all metadata.
        rendered = {} if shown is None else {"rendered_arguments": _base64(shown)}
        await self._scribe.record(request, metadata={**call.metadata, **rendered})
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
