"""Ollama, by its endpoint for OpenAI's chat completions. No metadata is sent back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.providers.ollama import OllamaProvider

from jpweb.agent.providers.adapter.base import ProviderAdapter, add_api_path, make_openai_client
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.parameters import ReasoningMode, ReasoningSettings
from jpweb.agent.providers.adapter.reasoning import convert_to_level

_EFFORT_LEVELS: Mapping[str, str] = {
    "none": "low",
    "xlow": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


class OllamaAdapter(ProviderAdapter):
    """Needs no key; one is sent where it is configured, to Ollama's own servers for instance."""

    SYSTEM: ClassVar[str] = "ollama"

    def open_model(self, endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model."""
        client = make_openai_client(endpoint, add_api_path(endpoint.base_url, "/v1"), http)
        return OllamaModel(endpoint.model.name, provider=OllamaProvider(openai_client=client))

    def adapt_settings(
        self, _endpoint: ModelEndpoint, settings: dict[str, Any], reasoning: ReasoningSettings
    ) -> dict[str, Any]:
        """Rename limit and effort for Ollama: it reads no ``max_completion_tokens``."""
        if reasoning.mode in (ReasoningMode.UNSET, ReasoningMode.OFF):
            settings["openai_reasoning_effort"] = "none"
        elif reasoning.mode is ReasoningMode.SET:
            level = convert_to_level(reasoning.effort, settings.get("max_tokens"))
            settings["openai_reasoning_effort"] = _EFFORT_LEVELS.get(level, "medium")
        if "max_tokens" in settings:
            limit = {"max_tokens": settings.pop("max_tokens")}
            settings["extra_body"] = limit | dict(settings.get("extra_body") or {})
        return settings


VENDOR = OllamaAdapter()
