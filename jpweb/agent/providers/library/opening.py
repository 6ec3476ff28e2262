"""From configuration to a provider, without the library for vendors: its import takes seconds."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from importlib import import_module
from typing import TypeAlias

from jpweb.agent.config import ModelConfig, ProviderConfig
from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.ports import Provider, ProviderEvent, ProviderRequest

_SETTINGS = "the server's settings"
#: What a header may hold, outer spaces left out.
_SENDABLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")

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


def key_variables(configured: Iterable[ProviderConfig] = ()) -> frozenset[str]:
    """Return the names of the variables that keys of providers are in."""
    names = (config.api_key_env for config in (*DEFAULTS.values(), *configured))
    return frozenset(name for name in names if name)


def hosted(name: str) -> Maker:
    """Return the maker of a vendor's models."""

    def make(model: ModelConfig, provider: ProviderConfig, api_key: str | None) -> Provider:
        return Hosted(name, _link(name, model, provider, api_key))

    return make


def _link(name: str, model: ModelConfig, provider: ProviderConfig, api_key: str | None) -> Link:
    """Fill in what is not configured.

    Raises ProviderFailed without a model or a needed key, and for what cannot be sent.
    """
    known, title = DEFAULTS[name], TITLES[name]
    if not model.name:
        raise ProviderFailed(
            f"No model is selected for {title}. Set assistant.model.id or JPWEB_MODEL.",
            FailureKind.BAD_REQUEST,
        )
    key_env = provider.api_key_env or known.api_key_env
    link = Link(
        title,
        model,
        (provider.base_url or known.base_url or "").rstrip("/"),
        (api_key or "").strip() or None,
        key_env,
        provider.app_name or known.app_name,
        provider.beta_headers,
    )
    if key_env and not link.key:
        problem = f"No API key for {title}. Set {key_env} and restart the server."
        raise ProviderFailed(problem, FailureKind.WRONG_KEY)
    _check(name, link)
    return link


def _check(name: str, link: Link) -> None:
    """Raise ProviderFailed where a header would be none, or the address is none."""
    if link.key and not _SENDABLE.fullmatch(link.key):
        raise ProviderFailed(
            f"The API key for {link.title} contains characters that can't be sent. Check "
            f"{link.key_env or _SETTINGS} and restart the server.",
            FailureKind.WRONG_KEY,
        )
    for field_, values in (
        ("app_name", (link.app_name,)),
        ("beta_headers", link.beta_headers),
    ):
        if not all(_SENDABLE.fullmatch(value) for value in values if value):
            raise ProviderFailed(
                f"providers.llm.{name}.{field_} contains characters that can't be sent. Use "
                "printable ASCII without leading or trailing spaces.",
                FailureKind.BAD_REQUEST,
            )
