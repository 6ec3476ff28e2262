"""The providers by name. To add one: a file here, and a line in ``PROVIDERS``."""

from __future__ import annotations

from collections.abc import Mapping

from jpweb.agent.config import ModelConfig, ProviderConfig
from jpweb.agent.ports import Provider
from jpweb.agent.providers.adapter.factory import (
    PROVIDER_DEFAULTS,
    ProviderFactory,
    collect_key_variables,
    make_factory,
)
from jpweb.agent.providers.scripted import ScriptedProvider

__all__ = ["PROVIDERS", "PROVIDER_DEFAULTS", "ProviderFactory", "collect_key_variables"]


def _make_scripted(_model: ModelConfig, _provider: ProviderConfig, _key: str | None) -> Provider:
    return ScriptedProvider()


PROVIDERS: Mapping[str, ProviderFactory] = {
    "anthropic": make_factory("anthropic"),
    "google": make_factory("google"),
    "llamacpp": make_factory("llamacpp"),
    "ollama": make_factory("ollama"),
    "openai": make_factory("openai"),
    "openrouter": make_factory("openrouter"),
    ScriptedProvider.NAME: _make_scripted,
}
