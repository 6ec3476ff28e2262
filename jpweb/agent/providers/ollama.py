"""Ollama, by its endpoint for OpenAI's chat completions. It wants nothing back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.providers.ollama import OllamaProvider

from jpweb.agent.providers.library.opening import Link
from jpweb.agent.providers.library.parameters import Effort, Reasoning
from jpweb.agent.providers.library.vendor import Vendor, openai_client, rooted

_EFFORTS: Mapping[Effort, str] = {
    False: "none",
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


class Ollama(Vendor):
    """Needs no key; one is sent where it is configured, to Ollama's own servers for instance."""

    SYSTEM: ClassVar[str] = "ollama"

    def open(self, link: Link, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model."""
        client = openai_client(link, rooted(link.base_url, "/v1"), http)
        return OllamaModel(link.model.name, provider=OllamaProvider(openai_client=client))

    def settings(
        self, _link: Link, settings: dict[str, Any], _reasoning: Reasoning
    ) -> dict[str, Any]:
        """Name limit and effort as Ollama does: it reads no ``max_completion_tokens``."""
        effort = _EFFORTS.get(settings.pop("thinking", None))
        if effort:
            settings["openai_reasoning_effort"] = effort
        if "max_tokens" in settings:
            limit = {"max_tokens": settings.pop("max_tokens")}
            settings["extra_body"] = limit | dict(settings.get("extra_body") or {})
        return settings


VENDOR = Ollama()
