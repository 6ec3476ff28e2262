"""One reply of the provider, put on record piece by piece."""

from __future__ import annotations

from jpweb.agent.ports import CallTool, Delta, Display
from jpweb.agent.scribe import Scribe
from jpweb.stream.events import ChatResponse, ToolCallRequest


class Reply:
    """Gathers text of one variant into one event; records tool calls at once."""

    def __init__(self, scribe: Scribe, display: Display) -> None:
        self.calls: list[ToolCallRequest] = []
        self.finished = False
        self._scribe = scribe
        self._display = display
        self._latest = Delta("message", "")

    async def add(self, delta: Delta) -> None:
        """Take a piece of text, commit the text before it if that is of another variant."""
        if delta.variant != self._latest.variant:
            await self.flush()
        self._latest = Delta(delta.variant, self._latest.text + delta.text)
        await self._display.partial(delta.variant, self._latest.text)

    async def call(self, call: CallTool) -> None:
        """Commit the text so far, then the call."""
        await self.flush()
        request = ToolCallRequest(call.id, call.name, call.arguments)
        await self._scribe.record(request)
        self.calls.append(request)

    async def flush(self) -> None:
        """Commit the text so far, if there is any."""
        variant, text = self._latest.variant, self._latest.text
        self._latest = Delta(variant, "")
        if text:
            await self._scribe.record(ChatResponse(variant, text))
