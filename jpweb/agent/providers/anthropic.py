"""Anthropic: the Messages API. Its reasoning comes signed and goes back signed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import anthropic
import httpx2
from pydantic_ai.messages import ModelResponsePart, ThinkingPart
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from jpweb.agent.providers.adapter.base import ProviderAdapter
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.parameters import ReasoningSettings

_SIGNATURE_KEY = "anthropic_thinking_signature"
_REDACTED_KEY = "anthropic_redacted_thinking"
#: pydantic-ai's id of redacted reasoning: no text, only data encrypted for Anthropic.
_REDACTED_ID = "redacted_thinking"


class AnthropicAdapter(ProviderAdapter):
    """Enables prompt caching: the requests of a turn share a prefix."""

    SYSTEM: ClassVar[str] = "anthropic"

    def open_model(self, endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
        """Return the model."""
        client = anthropic.AsyncAnthropic(
            api_key=endpoint.key,
            base_url=endpoint.base_url.removesuffix("/v1"),
            http_client=http,
            max_retries=0,
        )
        return AnthropicModel(
            endpoint.model.name, provider=AnthropicProvider(anthropic_client=client)
        )

    def adapt_settings(
        self, endpoint: ModelEndpoint, settings: dict[str, Any], reasoning: ReasoningSettings
    ) -> dict[str, Any]:
        """Add the cache, the beta headers and a thinking budget."""
        settings["cache"] = True
        if endpoint.beta_headers:
            settings["anthropic_betas"] = list(endpoint.beta_headers)
        if reasoning.tokens is not None:
            budget = {"type": "enabled", "budget_tokens": reasoning.tokens}
            settings["anthropic_thinking"] = budget
            del settings["thinking"]
        return settings

    def read_metadata(self, part: ModelResponsePart) -> dict[str, Any]:
        """Return the signature of reasoning, or the redacted reasoning."""
        if not isinstance(part, ThinkingPart) or not part.signature:
            return {}
        return {_REDACTED_KEY if part.id == _REDACTED_ID else _SIGNATURE_KEY: part.signature}

    def make_thinking_part(self, text: str, metadata: Mapping[str, Any]) -> ThinkingPart | None:
        """Send back signed reasoning; anything else would be refused."""
        if redacted := metadata.get(_REDACTED_KEY):
            return ThinkingPart("", id=_REDACTED_ID, signature=redacted, provider_name=self.SYSTEM)
        if signature := metadata.get(_SIGNATURE_KEY):
            return ThinkingPart(text, signature=signature, provider_name=self.SYSTEM)
        return None


VENDOR = AnthropicAdapter()
