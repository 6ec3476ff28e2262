"""Providers that do one thing, and what it takes to run them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.ports import (
    CompleteToolCall,
    PartialToolCall,
    ProviderEvent,
    ProviderRequest,
    ReplyFinished,
    TextDelta,
)
from jpweb.agent.providers.scripted import ScriptedProvider
from jpweb.runtime import wiring
from jpweb.stream.events import ToolCallResponse


class Says:
    """Says one thing, then what ``then`` does."""

    NAME = "says"

    def __init__(self, then: Callable[[], None] | None = None) -> None:
        self._then = then

    async def stream(self, request: ProviderRequest) -> AsyncIterator[ProviderEvent]:
        yield TextDelta("message", "A word.\n")
        if self._then:
            self._then()
        yield ReplyFinished()


class Asks:
    """Calls a tool, over and over or once."""

    NAME = "asks"

    def __init__(self, tool: str = "demo_vault", *, forever: bool = False) -> None:
        self._tool, self._forever, self._calls = tool, forever, 0

    async def stream(self, request: ProviderRequest) -> AsyncIterator[ProviderEvent]:
        results = [e for e in request.parts.events if isinstance(e.kind, ToolCallResponse)]
        if self._forever or not results:
            self._calls += 1
            yield CompleteToolCall(f"call_{self._calls}", self._tool, {})
        yield ReplyFinished()


class Hangs:
    """Says a word, then nothing more; ``said_event`` is set once the word has been taken."""

    NAME = "hangs"

    def __init__(self) -> None:
        self.said_event = asyncio.Event()

    async def stream(self, request: ProviderRequest) -> AsyncIterator[ProviderEvent]:
        yield TextDelta("message", "Half a ")
        self.said_event.set()
        await asyncio.Event().wait()


class BreaksOff:
    """Begins a tool call, and fails within it."""

    NAME = "breaks"

    async def stream(self, request: ProviderRequest) -> AsyncIterator[ProviderEvent]:
        for arguments in ("", "{"):
            yield PartialToolCall("demo_vault", arguments)
        fail_run()


def fail_run() -> None:
    raise ProviderFailed("The vendor says no.", FailureKind.REFUSAL)


def use_provider(monkeypatch: pytest.MonkeyPatch, provider: object = None) -> None:
    """Let every run be played by this provider, the script without its pauses by default."""
    monkeypatch.setattr(
        wiring, "open_model", lambda _now, _model: provider or ScriptedProvider(pace=0)
    )
