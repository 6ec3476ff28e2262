"""Makes providers from configuration, without importing pydantic-ai: that takes seconds."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from importlib import import_module
from typing import TypeAlias

from jpweb.agent.config import ModelConfig, ProviderConfig
from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.ports import Provider, ProviderEvent, ProviderRequest
from jpweb.agent.provider_info import PROVIDER_INFO

_SETTINGS_TEXT = "the server's settings"
#: A valid header value, without surrounding spaces.
_SENDABLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")

#: Opens a model from its configuration, its provider's, and the key. Raises ProviderFailed.
ProviderFactory: TypeAlias = Callable[[ModelConfig, ProviderConfig, str | None], Provider]

#: Variables of headers, credentials among them, that the vendors' libraries would add to requests.
_HEADER_VARIABLES = frozenset(
    {"ANTHROPIC_CUSTOM_HEADERS", "OPENAI_CUSTOM_HEADERS", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"}
)


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """Everything needed to reach one model. The key is in no repr."""

    title: str
    model: ModelConfig
    base_url: str
    key: str | None = field(default=None, repr=False)
    key_env: str | None = None
    app_name: str | None = None
    beta_headers: tuple[str, ...] = ()


@dataclass(slots=True)
class HostedModel:
    """A model of a vendor. Each stream has a connection of its own, closed with it."""

    NAME: str
    endpoint: ModelEndpoint

    async def stream(self, request: ProviderRequest) -> AsyncIterator[ProviderEvent]:
        """Yield the events of the reply while they arrive. Raises ProviderFailed."""
        request_module = await asyncio.to_thread(import_module, f"{__package__}.model_request")
        vendor_module = await asyncio.to_thread(import_module, f"jpweb.agent.providers.{self.NAME}")
        async with aclosing(
            request_module.converse(vendor_module.VENDOR, self.endpoint, request)
        ) as events:
            async for event in events:
                yield event


def collect_key_variables(configured_providers: Iterable[ProviderConfig] = ()) -> frozenset[str]:
    """Return the names of the environment variables that hold keys or headers of providers."""
    usual_names = (info.api_key_env for info in PROVIDER_INFO.values())
    names = (*usual_names, *(config.api_key_env for config in configured_providers))
    return _HEADER_VARIABLES.union(name for name in names if name)


def make_factory(name: str) -> ProviderFactory:
    """Return the factory of a vendor's models."""

    def make_provider(
        model: ModelConfig, provider: ProviderConfig, api_key: str | None
    ) -> Provider:
        return HostedModel(name, _make_endpoint(name, model, provider, api_key))

    return make_provider


def _make_endpoint(
    name: str, model: ModelConfig, provider: ProviderConfig, api_key: str | None
) -> ModelEndpoint:
    """Return the endpoint, with defaults for absent settings.

    Raises ProviderFailed without a model or a needed key, and for values that cannot be sent.
    """
    info = PROVIDER_INFO[name]
    if not model.name:
        raise ProviderFailed(
            f"No model is selected for {info.title}. Set assistant.model.id or JPWEB_MODEL.",
            FailureKind.BAD_REQUEST,
        )
    key_env = provider.api_key_env or info.api_key_env
    endpoint = ModelEndpoint(
        info.title,
        model,
        (provider.base_url or info.base_url).rstrip("/"),
        (api_key or "").strip() or None,
        key_env,
        provider.app_name or info.app_name,
        provider.beta_headers,
    )
    if key_env and not endpoint.key:
        message = f"No API key for {info.title}. Set {key_env} and restart the server."
        raise ProviderFailed(message, FailureKind.WRONG_KEY)
    _check_sendable(name, endpoint)
    return endpoint


def _check_sendable(name: str, endpoint: ModelEndpoint) -> None:
    """Raise ProviderFailed where a header cannot be sent."""
    if endpoint.key and not _SENDABLE.fullmatch(endpoint.key):
        raise ProviderFailed(
            f"The API key for {endpoint.title} contains characters that can't be sent. Check "
            f"{endpoint.key_env or _SETTINGS_TEXT} and restart the server.",
            FailureKind.WRONG_KEY,
        )
    for field_name, values in (
        ("app_name", (endpoint.app_name,)),
        ("beta_headers", endpoint.beta_headers),
    ):
        if not all(_SENDABLE.fullmatch(value) for value in values if value):
            raise ProviderFailed(
                f"providers.llm.{name}.{field_name} contains characters that can't be sent. Use "
                "printable ASCII without leading or trailing spaces.",
                FailureKind.BAD_REQUEST,
            )
