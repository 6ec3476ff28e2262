"""The vendors of models: title, usual address, and the variable of the key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """A vendor's default address and key variable; others in a configuration need trust."""

    title: str
    base_url: str
    #: The variable of the key; None where it needs no key.
    api_key_env: str | None = None
    app_name: str | None = None
    #: False for a vendor that JP's own configuration names, and for which there is no adapter.
    is_served: bool = True


PROVIDER_INFO: Mapping[str, ProviderInfo] = {
    "anthropic": ProviderInfo("Anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "cerebras": ProviderInfo(
        "Cerebras", "https://api.cerebras.ai", "CEREBRAS_API_KEY", is_served=False
    ),
    "deepseek": ProviderInfo(
        "DeepSeek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", is_served=False
    ),
    "google": ProviderInfo(
        "Google", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY"
    ),
    "llamacpp": ProviderInfo("llama.cpp", "http://127.0.0.1:8080"),
    "ollama": ProviderInfo("Ollama", "http://localhost:11434"),
    "openai": ProviderInfo("OpenAI", "https://api.openai.com", "OPENAI_API_KEY"),
    "openrouter": ProviderInfo(
        "OpenRouter", "https://openrouter.ai", "OPENROUTER_API_KEY", app_name="jpweb"
    ),
}
_UNKNOWN_PROVIDER = ProviderInfo(title="", base_url="")
SERVED_PROVIDERS = tuple(name for name, info in PROVIDER_INFO.items() if info.is_served)
#: The provider without a vendor, whose replies follow a script.
SCRIPTED_PROVIDER = "scripted"
#: The names that a configuration can choose.
SELECTABLE_PROVIDERS = tuple(sorted((*SERVED_PROVIDERS, SCRIPTED_PROVIDER)))


def get_provider_info(name: str) -> ProviderInfo:
    """Return the default address and key variable of a provider; empty for an unknown one."""
    return PROVIDER_INFO.get(name, _UNKNOWN_PROVIDER)
