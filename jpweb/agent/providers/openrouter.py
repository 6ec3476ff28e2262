"""OpenRouter: chat completions of many vendors. Their reasoning goes back unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import httpx2
from pydantic_ai.messages import ModelResponsePart, ThinkingPart
from pydantic_ai.models import Model
from pydantic_ai.models.openrouter import OpenRouterModel
from pydantic_ai.providers.openrouter import OpenRouterProvider

from jpweb.agent.providers.adapter.base import ProviderAdapter, add_api_path, make_openai_client
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.parameters import ReasoningSettings

#: jpweb's key: JP has none for the details that OpenRouter wants back with reasoning.
_REASONING_KEY = "openrouter_reasoning"
_DETAIL_KEYS = ("type", "format", "index")


class OpenRouterAdapter(ProviderAdapter):
    """Names the app that sends the request, where it has a name."""

    SYSTEM: ClassVar[str] = "openrouter"

    def open_model(self, endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model."""
        headers = {"X-Title": endpoint.app_name} if endpoint.app_name else {}
        client = make_openai_client(
            endpoint, add_api_path(endpoint.base_url, "/api/v1"), http, headers
        )
        provider = OpenRouterProvider(openai_client=client)
        return OpenRouterModel(endpoint.model.name, provider=provider)

    def adapt_settings(
        self, _endpoint: ModelEndpoint, settings: dict[str, Any], reasoning: ReasoningSettings
    ) -> dict[str, Any]:
        """Add prompt caching, where the vendor has it on request, and the reasoning."""
        settings["cache"] = True
        if reasoning.tokens is not None or reasoning.exclude:
            effort = settings.pop("thinking", None)
            settings["openrouter_reasoning"] = {"enabled": True, "exclude": reasoning.exclude} | (
                {"max_tokens": reasoning.tokens}
                if reasoning.tokens is not None
                else ({"effort": effort} if isinstance(effort, str) else {})
            )
        return settings

    def read_metadata(self, part: ModelResponsePart) -> dict[str, Any]:
        """Return a piece of reasoning without its text."""
        if not isinstance(part, ThinkingPart) or not part.provider_details:
            return {}
        details = {name: part.provider_details.get(name) for name in _DETAIL_KEYS}
        metadata = {"id": part.id, "signature": part.signature} | details
        return {
            _REASONING_KEY: {name: value for name, value in metadata.items() if value is not None}
        }

    def make_thinking_part(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Send back a piece of OpenRouter's own reasoning."""
        reasoning_part = metadata.get(_REASONING_KEY)
        if not isinstance(reasoning_part, Mapping):
            return None
        return ThinkingPart(
            text,
            id=reasoning_part.get("id"),
            signature=reasoning_part.get("signature"),
            provider_name=self.SYSTEM,
            provider_details={name: reasoning_part.get(name) for name in _DETAIL_KEYS},
        )


VENDOR = OpenRouterAdapter()
