"""The providers by name. To add one: a file here, and a line in ``PROVIDERS``."""

from __future__ import annotations

from collections.abc import Mapping

from jpweb.agent.config import ModelConfig, ProviderConfig
from jpweb.agent.ports import Provider
from jpweb.agent.providers.library.opening import DEFAULTS, Maker, hosted, key_variables
from jpweb.agent.providers.scripted import Scripted

__all__ = ["DEFAULTS", "PROVIDERS", "Maker", "key_variables"]


def _scripted(_model: ModelConfig, _provider: ProviderConfig, _key: str | None) -> Provider:
    return Scripted()


PROVIDERS: Mapping[str, Maker] = {
    "anthropic": hosted("anthropic"),
    "google": hosted("google"),
    "llamacpp": hosted("llamacpp"),
    "ollama": hosted("ollama"),
    "openai": hosted("openai"),
    "openrouter": hosted("openrouter"),
    Scripted.NAME: _scripted,
}
