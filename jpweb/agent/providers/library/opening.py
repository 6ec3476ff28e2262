"""From configuration to a provider, without the library for vendors: its import takes seconds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from importlib import import_module
from typing import TypeAlias

from jpweb.agent.config import ModelConfig, ProviderConfig
from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.ports import Provider, ProviderEvent, ProviderRequest

#: Opens a model: which, how its vendor is reached, and the key. Raises ProviderFailed.
Maker: TypeAlias = Callable[[ModelConfig, ProviderConfig, str | None], Provider]

#: Where each vendor is, and the variable that its key is looked for in; none needs no key.
DEFAULTS: Mapping[str, ProviderConfig] = {
    "anthropic": ProviderConfig("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "google": ProviderConfig("https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    "llamacpp": ProviderConfig("http://127.0.0.1:8080"),
    "ollama": ProviderConfig("http://localhost:11434"),
    "openai": ProviderConfig("https://api.openai.com", "OPENAI_API_KEY"),
    "openrouter": ProviderConfig("https://openrouter.ai", "OPENROUTER_API_KEY", app_name="jpweb"),
}
TITLES: Mapping[str, str] = {
    "anthropic": "Anthropic",
    "google": "Google",
    "llamacpp": "llama.cpp",
    "ollama": "Ollama",
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
}


@dataclass(frozen=True, slots=True)
class Link:
    """Everything needed to reach one model. The key is in no repr."""

    title: str
    model: ModelConfig
    base_url: str
    key: str | None = field(default=None, repr=False)
    key_env: str | None = None
    app_name: str | None = None
    beta_headers: tuple[str, ...] = ()


@dataclass(slots=True)
class Hosted:
    """A model of a vendor. Each stream has a connection of its own, closed with it."""

    NAME: str
    link: Link

    async def stream(self, request: ProviderRequest) -> AsyncIterator[ProviderEvent]:
        """Yield the reply as it comes. Raises ProviderFailed."""
        asking = await asyncio.to_thread(import_module, f"{__package__}.asking")
        vendor = await asyncio.to_thread(import_module, f"jpweb.agent.providers.{self.NAME}")
        async with aclosing(asking.converse(vendor.VENDOR, self.link, request)) as events:
            async for event in events:
                yield event


def hosted(name: str) -> Maker:
    """Return the maker of a vendor's models."""

    def make(model: ModelConfig, provider: ProviderConfig, api_key: str | None) -> Provider:
        return Hosted(name, _link(name, model, provider, api_key))

    return make


def _link(name: str, model: ModelConfig, provider: ProviderConfig, api_key: str | None) -> Link:
    """Fill in what is not configured. Raises ProviderFailed without a model or a needed key."""
    known, title = DEFAULTS[name], TITLES[name]
    if not model.name:
        raise ProviderFailed(f"No model of {title} is chosen: name one.", FailureKind.BAD_REQUEST)
    key_env = provider.api_key_env or known.api_key_env
    if key_env and not api_key:
        problem = f"There is no key for {title}: set {key_env} and start the server again."
        raise ProviderFailed(problem, FailureKind.WRONG_KEY)
    return Link(
        title,
        model,
        (provider.base_url or known.base_url or "").rstrip("/"),
        api_key,
        key_env,
        provider.app_name or known.app_name,
        provider.beta_headers,
    )
