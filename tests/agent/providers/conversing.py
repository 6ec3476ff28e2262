"""A model of a stand-in, and what a test says to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from jpweb.agent.config import ModelConfig, ProviderConfig, ToolConfig
from jpweb.agent.errors import ProviderFailed
from jpweb.agent.ports import (
    CompleteToolCall,
    PartialToolCall,
    Provider,
    ProviderEvent,
    ProviderRequest,
    ReplyMetadata,
    TextDelta,
    TokenUsage,
)
from jpweb.agent.providers import PROVIDERS
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConversationEvent,
    EventKind,
    ToolCallRequest,
)
from jpweb.stream.thread import ThreadParts
from tests.machine.sizes import mark_proof
from tests.machine.vendors import Standin

MODELS = {
    "anthropic": "claude-sonnet-4-6",
    "google": "gemini-3-pro-preview",
    "llamacpp": "some.gguf",
    "ollama": "qwen3",
    "openai": "gpt-5.4",
    "openrouter": "anthropic/claude-sonnet-4.6",
}
#: Vendors for make test. Chat completions, which the two others speak, are left to PROTOCOLS.
VENDORS = ["anthropic", "google", "ollama", "openai", *mark_proof("llamacpp", "openrouter")]
#: A vendor of each protocol, for what depends on how a reply is read.
PROTOCOLS = ["anthropic", "google", "llamacpp", "ollama", "openai", *mark_proof("openrouter")]
KEY = "sk-canary-7f3a"
TOOL = ToolConfig(
    "fs_read",
    "Reads a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "boolean"}},
    "required": ["answer"],
    "additionalProperties": False,
}


def make_event(kind: EventKind, **metadata: Any) -> ConversationEvent:
    return ConversationEvent("2026-01-01T00:00:00Z", kind, metadata)


def make_request(*events: ConversationEvent, **fields: Any) -> ProviderRequest:
    options = {"tools": (TOOL,)} | fields
    return ProviderRequest(
        ThreadParts(("Be brief.",), events or (make_event(ChatRequest("Hello")),)), **options
    )


def make_provider(
    standin: Standin,
    parameters: Mapping[str, Any] | None = None,
    model: str = "",
    key: str | None = KEY,
    **provider: Any,
) -> Provider:
    config = ModelConfig(standin.name, model or MODELS[standin.name], parameters or {})
    base = {"base_url": standin.base_url} | provider
    return PROVIDERS[standin.name](config, ProviderConfig(**base), key)


def load_vendor(name: str) -> None:
    """Import what a vendor's first reply needs: seconds that no bound of a test is for."""
    import_module("jpweb.agent.providers.adapter.model_request")
    import_module(f"jpweb.agent.providers.{name}")


async def receive_events(
    provider: Provider, provider_request: ProviderRequest | None = None
) -> list[ProviderEvent]:
    """Return the events of a reply, without its usage."""
    stream: Any = provider.stream(provider_request or make_request())
    async with aclosing(stream):
        return [event async for event in stream if not isinstance(event, TokenUsage)]


async def receive_usage(provider: Provider) -> list[TokenUsage]:
    """Return what a reply says of its tokens, whether it ends or fails."""
    reports: list[TokenUsage] = []
    stream: Any = provider.stream(make_request())
    async with aclosing(stream):
        with suppress(ProviderFailed):
            async for event in stream:
                reports += [event] if isinstance(event, TokenUsage) else []
    return reports


async def get_failure(
    provider: Provider, provider_request: ProviderRequest | None = None
) -> tuple[ProviderFailed, list[ProviderEvent]]:
    """Return how the reply failed, and what came before."""
    before: list[ProviderEvent] = []
    stream: Any = provider.stream(provider_request or make_request())
    async with aclosing(stream):
        while True:
            try:
                event = await anext(stream)
                if not isinstance(event, TokenUsage):
                    before.append(event)
            except ProviderFailed as error:
                return error, before


@dataclass
class Recorded:
    """The events that a reply leaves behind, as the turn records them."""

    events: list[ConversationEvent] = field(default_factory=list)
    _text: str = ""
    _variant: Any = "message"

    def take(self, events: Iterable[ProviderEvent]) -> list[ConversationEvent]:
        for provider_event in events:
            match provider_event:
                case TextDelta(variant, text):
                    self._turn_to(variant)
                    self._text += text
                case ReplyMetadata(variant, metadata):
                    self._turn_to(variant)
                    self.events.append(make_event(ChatResponse(variant, self._text), **metadata))
                    self._text = ""
                case CompleteToolCall(id_, name, arguments, metadata):
                    self._turn_to("message")
                    self._turn_to("reasoning")
                    self.events.append(
                        make_event(ToolCallRequest(id_, name, arguments), **metadata)
                    )
                case _:
                    pass
        return self.events

    def _turn_to(self, variant: Any) -> None:
        if self._text and variant != self._variant:
            self.events.append(make_event(ChatResponse(self._variant, self._text)))
            self._text = ""
        self._variant = variant


def without_callings(events: Iterable[ProviderEvent]) -> list[ProviderEvent]:
    return [event for event in events if not isinstance(event, PartialToolCall)]


def join_text(events: Iterable[ProviderEvent], variant: str) -> str:
    return "".join(e.text for e in events if isinstance(e, TextDelta) and e.variant == variant)
